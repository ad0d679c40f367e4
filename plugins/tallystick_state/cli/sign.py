"""``tallystick sign``: statements about rule sets, adoptions, events and more, in envelopes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH, as_json, follow_links_option, output_option, rules_option
from tallystick.cli.shown import echo, print_json
from tallystick_state.cli.options import (
    PoolOptions,
    at_epoch_option,
    expiry_option,
    groups_option,
    line_option,
    major_option,
    pools_options,
    signer_needed,
    signer_options,
    state_option,
    trust_option,
)

if TYPE_CHECKING:
    from tallystick_state.trust.envelope import Envelope
    from tallystick_state.trust.keys import Signer


def _writing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of every command here: the envelope to write."""
    return output_option("The envelope to write.")(follow_links_option(as_json(command)))


def _signing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of every command that signs: the signer and the envelope."""
    return signer_options(_writing(command))


@click.group(cls=CommandGroup)
def sign() -> None:
    """Sign rule sets, adoptions, carried values, pools, events, receipts, trust files.

    Every command writes a DSSE envelope around an in-toto statement, and prints the statement.
    """


@sign.command(
    "rule-set",
    epilog=examples(
        "tallystick sign rule-set mine.toml --key alice.pem -o mine.json",
    ),
)
@click.argument("reference", metavar="RULES")
@_signing
def rule_set_command(reference: str, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign RULES: its name and version, the digest of its meaning, and that of its file."""
    by = signer_needed(signer)
    from tallystick.canonical import digest_of_bytes  # loads what signs
    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import load
    from tallystick_state.trust.statement import rule_set  # loads what signs

    rules = load(reference, installed_plugins())
    statement = rule_set(
        reference=rules.rule_set.reference,
        digest=rules.digest,
        text=digest_of_bytes(rules.text.encode("utf-8")),
    )
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "adoption",
    epilog=examples(
        "tallystick sign adoption skills@1.2.0 --at-epoch 20 --state subnet.db \\",
        "    --key alice.pem -o adoption.json",
    ),
)
@click.argument("reference", metavar="RULES")
@at_epoch_option
@major_option
@expiry_option
@state_option
@_signing
def adoption_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    reference: str,
    epoch: int,
    major: bool,
    expires_at_block: int | None,
    where: str,
    signer: Signer | None,
    **options: Any,  # noqa: ANN401  # of `_write`
) -> None:
    """Sign the adoption of RULES by the state; its trust file sets how many signatures it needs.

    The state is any validator's of the network: the statement is the same for all that began alike
    and adopted alike.
    """
    by = signer_needed(signer)
    from tallystick.rules.loading import load
    from tallystick_state.adoption import adoption_statement
    from tallystick_state.ledger import Ledger
    from tallystick_state.rules import StateRules

    with Ledger.open(where) as ledger:
        in_force = ledger.in_force
        statement = adoption_statement(
            in_force,
            StateRules.of(load(reference, in_force.plugins)),
            epoch,
            ledger.open_epoch(),
            major=major,
            expires_at_block=expires_at_block,
        )
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "pools",
    epilog=examples(
        "tallystick sign pools --pool skills=0.6 --pool workflow=0.4 --at-epoch 20 \\",
        "    --state subnet.db --key alice.pem -o pools.json",
    ),
)
@pools_options
@at_epoch_option
@expiry_option
@state_option
@_signing
def pools_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    shares: tuple[str, ...],
    idle: str | None,
    epoch: int,
    expires_at_block: int | None,
    where: str,
    signer: Signer | None,
    **options: Any,  # noqa: ANN401  # of `_write`
) -> None:
    """Sign that the lines of the state share its weight by these pools from an epoch on."""
    by = signer_needed(signer)
    from tallystick_state.adoption import pools_statement
    from tallystick_state.ledger import Ledger
    from tallystick_state.pools import pools_of

    pool = PoolOptions.read(shares, idle)
    with Ledger.open(where) as ledger:
        in_force = ledger.in_force
        statement = pools_statement(
            in_force,
            pools_of(
                pool.shares,
                in_force.lines,
                pool.idle,
                pool.burn,
            ),
            epoch,
            ledger.open_epoch(),
            expires_at_block=expires_at_block,
        )
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "carry",
    epilog=examples(
        "tallystick sign carry carry.json --rules skills@1.2.0 --trust trust.toml \\",
        "    --key alice.pem -o carry.signed.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@rules_option("Once for each line.", required=True, multiple=True)
@trust_option("The trust file that the state begins with.")
@_signing
def carry_command(
    path: Path,
    references: tuple[str, ...],
    trust: Path | None,
    signer: Signer | None,
    **options: Any,  # noqa: ANN401  # of `_write`
) -> None:
    """Sign that a state of these rules and this trust file begins with the values in FILE.

    The groups that adopt rules sign it; `state init --carry FILE` takes it by --signed.
    """
    by = signer_needed(signer)
    if trust is None:
        message = "found no --trust, expected the trust file that the state begins with"
        raise click.UsageError(message)
    from tallystick_state.carry_file import CarryFile
    from tallystick_state.rules_in_force import begin_under
    from tallystick_state.trust.statement import carry

    in_force = begin_under(references, None, trust)
    carried, _ = CarryFile.of(path, in_force.at(0)).carried(in_force.at(0))
    root = in_force.root
    assert root is not None  # noqa: S101  # a trust file was read
    statement = carry(network=root.network, trust=root.digest, digest=carried.digest)
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "withdrawal",
    epilog=examples(
        "tallystick sign withdrawal --state subnet.db --key alice.pem \\",
        "    -o withdrawal.json",
    ),
)
@line_option("The line; needed where the state has several.")
@expiry_option
@state_option
@_signing
def withdrawal_command(
    line: str | None,
    expires_at_block: int | None,
    where: str,
    signer: Signer | None,
    **options: Any,  # noqa: ANN401  # of `_write`
) -> None:
    """Sign that the state takes back the last adoption of a line, which has not begun."""
    by = signer_needed(signer)
    from tallystick_state.adoption import withdrawal_statement
    from tallystick_state.ledger import Ledger

    with Ledger.open(where) as ledger:
        statement = withdrawal_statement(
            ledger.in_force, line, ledger.open_epoch(), expires_at_block=expires_at_block
        )
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "events",
    epilog=examples(
        "tallystick sign events round.jsonl --validator 5Mine --state subnet.db \\",
        "    --wallet hotkey -o round.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--validator", required=True, metavar="HOTKEY", help="The validator of the records.")
@groups_option
@state_option
@_signing
def events_command(
    path: Path,
    validator: str,
    groups: Path | None,
    where: str,
    signer: Signer | None,
    **options: Any,  # noqa: ANN401  # of `_write`
) -> None:
    """Sign the records and late events in FILE, all of one validator, so that others take them.

    The envelope has the digest of each; who imports them needs FILE as well. With --groups records
    are signed with the consensus of their groups, which who imports them then needs too.
    """
    by = signer_needed(signer)
    from tallystick_state.ingest import batch_statement
    from tallystick_state.ledger import Ledger

    with Ledger.open(where) as ledger:
        statement = batch_statement(ledger, path, validator, groups)
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "checkpoint",
    epilog=examples(
        "tallystick sign checkpoint checkpoint.txt --wallet hotkey -o checkpoint.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@_signing
def checkpoint_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign the checkpoint in FILE, as a statement; `state checkpoint` signs it as a note."""
    by = signer_needed(signer)
    from tallystick_state.trust.checkpoint import (
        MAX_NOTE_BYTES,
        read_checkpoint,  # loads what signs
    )
    from tallystick_state.trust.encoding import read_file
    from tallystick_state.trust.statement import checkpoint

    content = read_checkpoint(read_file(path, MAX_NOTE_BYTES, "a checkpoint"))
    statement = checkpoint(origin=content.origin, root=content.root.hex(), note=content.text)
    _write(statement.envelope().signed(by), **options)


@sign.command(
    "receipt",
    epilog=examples(
        "tallystick sign receipt results.parquet.receipt.json --key alice.pem \\",
        "    -o signed.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@_signing
def receipt_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign the receipt in FILE, whole; its subjects are the files that it is of."""
    by = signer_needed(signer)
    from tallystick_state.trust.statement import statement_of_receipt  # loads what signs

    _write(statement_of_receipt(path).envelope().signed(by), **options)


@sign.command(
    "trust",
    epilog=examples(
        "tallystick sign trust trust.toml --key alice.pem -o rotation.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@_signing
def trust_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign the trust file in FILE, so that it can follow another."""
    by = signer_needed(signer)
    from tallystick_state.trust.trust_file import read  # loads what signs

    _write(read(path).statement().envelope().signed(by), **options)


@sign.command(
    "add",
    epilog=examples(
        "tallystick sign add adoption.json --key bob.pem -o adoption.json",
        "tallystick sign add rotation.json --wallet hotkey -o rotation.json",
    ),
)
@click.argument("path", metavar="ENVELOPE", type=PATH)
@_signing
def add_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Add a signature to ENVELOPE, whose statement must be sound; read the statement first."""
    by = signer_needed(signer)
    _write(_read(path).signed(by), **options)


@sign.command(
    "join",
    epilog=examples(
        "tallystick sign join alice.json bob.json carol.json -o adoption.json",
    ),
)
@click.argument("paths", metavar="ENVELOPE...", type=PATH, nargs=-1, required=True)
@_writing
def join_command(paths: tuple[Path, ...], **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Join envelopes of one statement that several have signed, each for themselves.

    Every ENVELOPE must be of the same statement; nothing is verified and nothing signed.
    """
    first, *others = map(_read, paths)
    for envelope in others:
        first = first.joined(envelope)
    _write(first, **options)


def _read(path: Path) -> Envelope:
    """Return the envelope in a file, whose statement is sound."""
    from tallystick_state.trust.encoding import read_file  # loads what signs
    from tallystick_state.trust.envelope import MAX_ENVELOPE_BYTES, Envelope
    from tallystick_state.trust.statement import statement_of

    envelope = Envelope.of_json(read_file(path, MAX_ENVELOPE_BYTES, "an envelope"), str(path))
    statement_of(envelope, str(path))
    return envelope


def _write(envelope: Envelope, output: Path, follow_links: bool, as_json: bool) -> None:
    """Write an envelope, and show what it says and who has signed."""
    from tallystick.io.atomic import atomic_files, output_path  # loads what writes
    from tallystick_state.trust.statement import statement_of  # loads what signs
    from tallystick_state.trust.verification import told

    with atomic_files(output_path(output, follow_links=follow_links)) as (file,):
        file.write(envelope.to_json())
    statement = statement_of(envelope, str(output))
    keyids = [item.keyid for item in envelope.signatures]
    if as_json:
        view = {
            "file": str(output),
            "statement": envelope.statement_digest,
            "predicate_type": statement.predicate_type,
            "predicate": statement.predicate,
            "keyids": keyids,
        }
        print_json(view)
        return
    echo(*told(envelope, statement), *(f"signed by keyid {item}" for item in keyids), str(output))
