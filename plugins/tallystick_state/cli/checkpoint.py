"""``tallystick state checkpoint`` and ``proof``: what others can check of a state."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import command, examples
from tallystick.cli.options import follow_links_option, output_option
from tallystick.cli.progress import working
from tallystick.cli.shown import echo, print_json, show, wants_json
from tallystick.json_values import json_value
from tallystick_state import views
from tallystick_state.cli.options import (
    checkpoint_option,
    ledger_option,
    number_type,
    row_key,
    signer_options,
)

if TYPE_CHECKING:
    from tallystick_state.ledger import Ledger
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import Signer

_STEPS = ("inputs", "facts", "results", "deltas", "reputations", "thresholds", "weights")


@command(
    "checkpoint",
    epilog=examples(
        "tallystick state checkpoint --key hotkey.pem -o checkpoint.txt \\",
        "    --state subnet.db",
        "tallystick state checkpoint --state subnet.db",
    ),
)
@output_option("The checkpoint to write.", required=False, metavar="FILE")
@click.option(
    "--origin", metavar="NAME", help="The name of the log, without spaces and plus signs."
)
@ledger_option
@signer_options
@follow_links_option
def checkpoint_command(
    output: Path | None,
    origin: str | None,
    ledger: Ledger,
    follow_links: bool,
    signer: Signer | None,
) -> None:
    """Print the checkpoint of the closed epochs: size and root of their log, signed if asked.

    Whoever keeps it finds a history that is rewritten or cut back later. Beside what is written by
    -o, and in the JSON, stands the digest of the rules in force and scheduled, which is not signed.
    """
    from tallystick.io.atomic import write_file  # loads what writes
    from tallystick_state.checkpoints import checkpoint

    with working("hashing the closed epochs"):
        current = checkpoint(ledger, origin)
        with ledger.queries() as queries:
            ahead = queries.rules_digest()
    signed = current if signer is None else current.signed(signer)
    if output is not None:
        write_file(output, signed.to_text().encode(), follow_links=follow_links)
    # without a file the output is the checkpoint itself, which has three lines and signatures
    beside = [] if output is None else [f"rules {ahead}"]
    show(views.checkpoint(signed, signer, ahead), [*signed.to_text().splitlines(), *beside])


@command(
    "proof",
    epilog=examples(
        "tallystick state proof --epoch 41 --step reputations \\",
        '    --row-key \'["5Miner","mcp_server"]\' -o proof.json --state subnet.db',
    ),
)
@click.option("--epoch", required=True, type=number_type, help="A closed epoch.")
@click.option("--step", required=True, type=click.Choice(_STEPS), help="The step of the row.")
@click.option(
    "--row-key",
    "key",
    type=row_key,
    required=True,
    metavar="JSON",
    help="The key of the row, as an array.",
)
@checkpoint_option
@output_option("The proof to write.", metavar="FILE")
@ledger_option
@follow_links_option
def proof_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    epoch: int,
    step: Any,  # noqa: ANN401  # one of the steps
    key: tuple[Any, ...],
    checkpoint: Checkpoint | None,
    output: Path,
    ledger: Ledger,
    follow_links: bool,
) -> None:
    """Prove that a row is in a step of an epoch, and the epoch in the log of a checkpoint.

    Without --checkpoint the proof leads to the log as it is now, for which nobody vouches yet.
    """
    from tallystick.io.atomic import write_file  # loads what writes
    from tallystick_state.checkpoints import row_proof
    from tallystick_state.trust.proof import proof_bytes  # loads what signs

    with working("proving"):
        proof = row_proof(ledger, epoch, step, key, checkpoint)
    write_file(output, proof_bytes(proof), follow_links=follow_links)
    if wants_json():
        print_json(json_value(proof), is_closed=True)
    else:
        echo(*proof.told())
