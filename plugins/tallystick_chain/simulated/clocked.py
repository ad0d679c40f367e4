"""A simulated chain in the process of its one validator, whose blocks follow the clock.

It goes on at the block where its last process ended, which is kept beside its file: hashes follow
from the seed and the number alone. Rows that were set before are gone then, as from a chain that
nobody asks.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Self

from tallystick.errors import InputError
from tallystick_chain.chain import Head
from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.hotkeys import address_of
from tallystick_chain.simulated.simulation import HotkeyView, SimulatedChain
from tallystick_state.trust.keys import Signer

_SUFFIX = ".block"
_MOST_DIGITS = 15


class ClockedChain(HotkeyView):
    """The chain as one validator sees it; a look at the head makes the blocks that are due."""

    def __init__(
        self, chain: SimulatedChain, key: str | Signer, kept: Path, block_s: float
    ) -> None:
        """Take a chain at the block where it goes on.

        Args:
            chain: the chain.
            key: the hotkey of the validator, or what signs with it.
            kept: the file with the newest block.
            block_s: time between two blocks, in seconds.
        """
        if isinstance(key, str):
            super().__init__(chain, key)
        else:
            super().__init__(chain, address_of(key), key)
        self._kept, self._block_s = kept, block_s
        self._first, self._began = chain.best, time.monotonic()

    @classmethod
    def begin(cls, path: Path, key: str | Signer) -> Self:
        """Return the chain of a file, at the block where it ended.

        Args:
            path: the file of a simulated chain.
            key: the hotkey of the validator, or what signs with it.

        Raises:
            InputError: a file cannot be read, or is none.
        """
        content, kept = SimulationFile.load(path), path.with_name(f"{path.name}{_SUFFIX}")
        chain = content.begin()
        # what it begins with is finalized at once
        chain.advance(chain.finality_lag)
        try:
            text = kept.read_text(encoding="ascii") if kept.exists() else f"{chain.best}"
        except (OSError, ValueError) as error:
            raise InputError(f"{kept}: cannot be read ({error}), expected a block") from error
        if not text.isdigit() or len(text) > _MOST_DIGITS:
            raise InputError(f"{kept}: found {text!r:.40}, expected the number of a block")
        chain.advance(max(0, int(text) - chain.best))
        return cls(chain, key, kept, content.block_time)

    def head(self) -> Head:
        """Return the newest blocks."""
        due = self._first + int((time.monotonic() - self._began) / self._block_s)
        if due > self._chain.best:
            self._chain.advance(due - self._chain.best)
            beside = self._kept.with_name(f".{self._kept.name}")
            beside.write_text(f"{due}", encoding="ascii")
            beside.replace(self._kept)
        return super().head()
