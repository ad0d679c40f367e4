"""Files of checkpoints: one for each closed epoch, and the newest once more under one name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tallystick.io.atomic import atomic_files, output_errors
from tallystick_state.checkpoints import checkpoint

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger
    from tallystick_state.trust.keys import Signer

NEWEST = "latest.txt"
"""Name of the newest checkpoint; peers and the service give it to whoever asks."""


def checkpoint_of(folder: Path, epoch: int) -> Path:
    """Return the file of the checkpoint with which an epoch ended."""
    return folder / f"{epoch:08d}.txt"


def publish(ledger: Ledger, folder: Path, epoch: int, signer: Signer | None = None) -> None:
    """Write the checkpoint of the closed epochs; the same again writes it again.

    Args:
        ledger: the state.
        folder: where the files are, which is made.
        epoch: the newest closed one, whose number is the name of the file.
        signer: signs it; by default nobody does.

    Raises:
        OutputError: the files cannot be written.
        TrustError: the signer cannot sign.
    """
    current = checkpoint(ledger)
    text = (current if signer is None else current.signed(signer)).to_text().encode()
    with output_errors(folder):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    with atomic_files(checkpoint_of(folder, epoch), folder / NEWEST) as files:
        for file in files:
            file.write(text)
