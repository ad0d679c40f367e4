"""``tallystick sign``: statements about rule sets, receipts and trust files, in envelopes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.shown import as_json, echo, follow_links_option, print_json
from tallystick.cli.signer_options import signer_needed, signer_options

if TYPE_CHECKING:
    from tallystick.trust.envelope import Envelope
    from tallystick.trust.keys import Signer

_FILE = click.Path(path_type=Path)


def _signing(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that signs: who, and where the envelope goes."""
    output = click.option(
        "-o", "--output", required=True, type=_FILE, help="The envelope to write."
    )
    return signer_options(output(follow_links_option(as_json(command))))


@click.group(cls=CommandGroup)
def sign() -> None:
    """Sign what others should take from you: rule-set, receipt, trust, add.

    Every command writes a DSSE envelope around an in-toto statement, and shows what it says.
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
    """Sign RULES: its name and version, the digest of what it means, and that of its file."""
    by = signer_needed(signer)
    from tallystick.canonical import digest_of_bytes  # noqa: PLC0415  # loads what signs
    from tallystick.plugins.registry import installed_plugins  # noqa: PLC0415  # heavy
    from tallystick.rules.loading import load  # noqa: PLC0415  # heavy
    from tallystick.trust.statement import rule_set  # noqa: PLC0415  # loads what signs

    found = load(reference, installed_plugins())
    said = rule_set(
        reference=found.rule_set.reference,
        digest=found.digest,
        text=digest_of_bytes(found.text.encode("utf-8")),
    )
    _write(said.envelope().signed(by), **options)


@sign.command(
    "receipt",
    epilog=examples(
        "tallystick sign receipt results.parquet.receipt.json --key alice.pem -o signed.json",
    ),
)
@click.argument("path", metavar="FILE", type=_FILE)
@_signing
def receipt_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign the receipt in FILE, whole; its subjects are the files that it is of."""
    by = signer_needed(signer)
    from tallystick.trust.receipt import statement_of_receipt  # noqa: PLC0415  # loads what signs

    _write(statement_of_receipt(path).envelope().signed(by), **options)


@sign.command(
    "trust",
    epilog=examples(
        "tallystick sign trust trust.toml --key alice.pem -o rotation.json",
    ),
)
@click.argument("path", metavar="FILE", type=_FILE)
@_signing
def trust_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Sign the trust file in FILE, so that it can follow another."""
    by = signer_needed(signer)
    from tallystick.trust.trust_file import read  # noqa: PLC0415  # loads what signs

    _write(read(path).statement().envelope().signed(by), **options)


@sign.command(
    "add",
    epilog=examples(
        "tallystick sign add adoption.json --key bob.pem -o adoption.json",
        "tallystick sign add rotation.json --wallet hotkey -o rotation.json",
    ),
)
@click.argument("path", metavar="ENVELOPE", type=_FILE)
@_signing
def add_command(path: Path, signer: Signer | None, **options: Any) -> None:  # noqa: ANN401  # of `_write`
    """Add a signature to ENVELOPE, whose statement must be sound; read what it says."""
    by = signer_needed(signer)
    from tallystick.trust.encoding import read_file  # noqa: PLC0415  # loads what signs
    from tallystick.trust.envelope import MOST_BYTES, Envelope  # noqa: PLC0415  # as above
    from tallystick.trust.statement import statement_of  # noqa: PLC0415  # as above

    envelope = Envelope.of_json(read_file(path, MOST_BYTES, "an envelope"), str(path))
    statement_of(envelope, str(path))
    _write(envelope.signed(by), **options)


def _write(envelope: Envelope, output: Path, follow_links: bool, as_json: bool) -> None:
    """Write an envelope, and show what it says and who has signed."""
    from tallystick.io.atomic import atomic_files, output_path  # noqa: PLC0415  # loads what writes
    from tallystick.trust.statement import statement_of  # noqa: PLC0415  # loads what signs
    from tallystick.trust.verification import told  # noqa: PLC0415  # as above

    with atomic_files(output_path(output, follow_links=follow_links)) as (file,):
        file.write(envelope.to_json())
    statement = statement_of(envelope, str(output))
    keyids = [each.keyid for each in envelope.signatures]
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
    echo(*told(envelope, statement), *(f"signed by keyid {each}" for each in keyids), str(output))
