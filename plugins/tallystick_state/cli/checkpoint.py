"""``tallystick state checkpoint``, ``proof`` and ``evidence``: what others can check of a state."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.progress import working
from tallystick.cli.shown import as_json, echo, follow_links_option, print_json
from tallystick_state import views
from tallystick_state.cli.signer_options import keys_option, signer_options
from tallystick_state.cli.state_options import number_type, state_option

if TYPE_CHECKING:
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import PublicKey, Signer
    from tallystick_state.trust.proof import Growth, Proof

F = TypeVar("F", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path)
_STEPS = ("inputs", "facts", "results", "deltas", "reputations", "thresholds", "weights")

checkpoint_option = click.option(
    "--checkpoint", type=_FILE, metavar="FILE", help="A checkpoint of this state."
)
"""The option that names a checkpoint."""


def signed_checkpoint_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that name a checkpoint and who may have signed it, which go together."""

    @checkpoint_option
    @click.option("--trust", type=_FILE, metavar="FILE", help="Who may have signed it.")
    @keys_option("A key that may have signed it; repeatable.")
    @wraps(command)
    def wrapper(
        *arguments: Any,  # noqa: ANN401  # of the command
        checkpoint: Path | None,
        trust: Path | None,
        keys: tuple[PublicKey, ...],
        **options: Any,  # noqa: ANN401  # of the command
    ) -> Any:  # noqa: ANN401  # as the command has it
        if checkpoint is None and (trust is not None or keys):
            raise click.UsageError("--trust and --key go with --checkpoint")
        return command(*arguments, checkpoint=checkpoint, trust=trust, keys=keys, **options)

    return wrapper


def output_option(what: str) -> Callable[[F], F]:
    """The option that says which file is written."""
    return click.option(
        "-o", "--output", required=True, type=_FILE, metavar="FILE", help=f"{what} to write."
    )


def read_checkpoint_file(path: Path) -> Checkpoint:
    """The checkpoint in a file.

    Raises:
        InputError: the file cannot be read.
        TrustError: it holds none.
    """
    from tallystick_state.trust.checkpoint import read_checkpoint  # loads what signs
    from tallystick_state.trust.encoding import read_file
    from tallystick_state.trust.note import MOST_BYTES

    return read_checkpoint(read_file(path, MOST_BYTES, "a checkpoint"))


@click.command(
    "checkpoint",
    epilog=examples(
        "tallystick state checkpoint --key hotkey.pem -o checkpoint.txt \\",
        "    --state subnet.db",
        "tallystick state checkpoint --state subnet.db",
    ),
)
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="The checkpoint to write.")
@click.option(
    "--origin", metavar="NAME", help="The name of the log, without spaces and plus signs."
)
@state_option
@signer_options
@follow_links_option
@as_json
def checkpoint_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    output: Path | None,
    origin: str | None,
    where: str,
    follow_links: bool,
    as_json: bool,
    signer: Signer | None,
) -> None:
    """Say what the log of closed epochs is: its size and its root, signed if a key is named.

    Whoever keeps it finds a history that is rewritten or cut back later. Beside what is written by
    -o, and in the JSON, stands the digest of the rules in force and scheduled, which is not signed.
    """
    from tallystick_state.checkpoints import checkpoint
    from tallystick_state.ledger import Ledger

    with Ledger.open(where) as ledger, working("hashing the closed epochs"):
        found = checkpoint(ledger, origin)
        with ledger.queries() as queries:
            ahead = queries.rules_digest()
    signed = found if signer is None else found.signed(signer)
    if output is not None:
        _write(output, signed.to_text().encode(), follow_links=follow_links)
    if as_json:
        view = {"origin": found.origin, "size": found.size, "root": found.root.hex()}
        by = None if signer is None else str(signer.public)
        told = {**view, "signed_by": by, "checkpoint": signed.to_text()}
        print_json(told | views.rules_digest(ahead))
    else:
        # without a file the output is the checkpoint itself, which has three lines and signatures
        beside = [] if output is None else [f"rules {ahead}"]
        echo(*signed.to_text().splitlines(), *beside)


@click.group("proof", cls=CommandGroup)
def proof_group() -> None:
    """Prove what is in a state, to who has a checkpoint of it: row, consistency."""


@proof_group.command(
    "row",
    epilog=examples(
        "tallystick state proof row --epoch 41 --step reputations \\",
        '    --row-key \'["5Miner","mcp_server"]\' -o proof.json --state subnet.db',
    ),
)
@click.option("--epoch", required=True, type=number_type, help="A closed epoch.")
@click.option("--step", required=True, type=click.Choice(_STEPS), help="The step of the row.")
@click.option(
    "--row-key", "key", required=True, metavar="JSON", help="The key of the row, as an array."
)
@checkpoint_option
@output_option("The proof")
@state_option
@follow_links_option
@as_json
def row_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    epoch: int,
    step: Any,  # noqa: ANN401  # one of the steps
    key: str,
    checkpoint: Path | None,
    output: Path,
    where: str,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Prove that a row is in a step of an epoch, and the epoch in the log of a checkpoint.

    Without --checkpoint the proof leads to the log as it is now, for which nobody vouches yet.
    """
    from tallystick_state.checkpoints import row_proof
    from tallystick_state.ledger import Ledger

    signed = None if checkpoint is None else read_checkpoint_file(checkpoint)
    with Ledger.open(where) as ledger, working("proving"):
        found = row_proof(ledger, epoch, step, _key(key), signed)
    _give(found, output, follow_links=follow_links, as_json=as_json)


@proof_group.command(
    "consistency",
    epilog=examples(
        "tallystick state proof consistency old.txt new.txt -o proof.json \\",
        "    --state subnet.db",
    ),
)
@click.argument("old", metavar="OLD", type=_FILE)
@click.argument("new", metavar="NEW", type=_FILE)
@output_option("The proof")
@state_option
@follow_links_option
@as_json
def consistency_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    old: Path, new: Path, output: Path, where: str, follow_links: bool, as_json: bool
) -> None:
    """Prove that between the checkpoints OLD and NEW the log only grew."""
    from tallystick_state.checkpoints import growth
    from tallystick_state.ledger import Ledger

    with Ledger.open(where) as ledger, working("proving"):
        found = growth(ledger, read_checkpoint_file(old), read_checkpoint_file(new))
    _give(found, output, follow_links=follow_links, as_json=as_json)


@click.command(
    "evidence",
    epilog=examples(
        "tallystick state evidence -o evidence.jsonl --state subnet.db",
        "tallystick state evidence --epoch 41 --checkpoint checkpoint.txt \\",
        "    -o evidence.jsonl --state subnet.db",
    ),
)
@click.option(
    "--epoch",
    "epochs",
    multiple=True,
    type=number_type,
    help="A closed epoch whose rows it has; repeatable. By default all.",
)
@checkpoint_option
@output_option("The evidence")
@state_option
@follow_links_option
@as_json
def evidence_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    epochs: tuple[int, ...],
    checkpoint: Path | None,
    output: Path,
    where: str,
    follow_links: bool,
    as_json: bool,
) -> None:
    """Write the rows of every step of the closed epochs, for others to compare with theirs."""
    from tallystick_state.audit.evidence import write_evidence
    from tallystick_state.ledger import Ledger

    signed = None if checkpoint is None else read_checkpoint_file(checkpoint)
    with Ledger.open(where) as ledger, working("writing the evidence"):
        rows = write_evidence(
            ledger, output, epochs=epochs, checkpoint=signed, follow_links=follow_links
        )
    if as_json:
        print_json({"rows": rows})
    else:
        echo(f"{rows} rows are evidence")


def _key(text: str) -> list[Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        raise click.BadParameter(f'found {text[:60]!r}, expected an array such as ["5Miner", …]')
    return found


def _give(found: Proof | Growth, output: Path, *, follow_links: bool, as_json: bool) -> None:
    """Write a proof, and show what it says."""
    from tallystick_state.trust.proof import proof_bytes  # loads what signs

    _write(output, proof_bytes(found), follow_links=follow_links)
    if as_json:
        print_json(found.to_value(), is_closed=True)
    else:
        echo(*found.told())


def _write(output: Path, data: bytes, *, follow_links: bool) -> None:
    from tallystick.io.atomic import atomic_files, output_path  # loads what writes

    with atomic_files(output_path(output, follow_links=follow_links)) as (file,):
        file.write(data)
