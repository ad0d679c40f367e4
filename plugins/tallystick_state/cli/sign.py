"""``tallystick sign``: statements about rule sets, adoptions, events and more, in envelopes.

Each action makes a statement and says in words what it changes. The words are shown before anything
is signed, so that who signs sees more than digests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce, wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.options import PATH, follow_links_option, output_option, rules_option
from tallystick.cli.shown import echo, show, wants_json
from tallystick.io.text import visible
from tallystick.json_values import json_value
from tallystick.numbers.text import numbered
from tallystick_state.cli.adopt import pools_text
from tallystick_state.cli.options import (
    at_epoch_option,
    expiry_option,
    groups_option,
    ledger_option,
    line_option,
    major_option,
    needed_signer_options,
    pools_options,
    trust_option,
)
from tallystick_state.cli.trust import lines_of

if TYPE_CHECKING:
    from tallystick_state.cli.options import PoolOptions
    from tallystick_state.ledger import Ledger
    from tallystick_state.rules import StateRules
    from tallystick_state.trust.envelope import Envelope
    from tallystick_state.trust.keys import Signer
    from tallystick_state.trust.statement import Statement

MOST_CHANGES = 100
"""Maximum number of changed values of rules that are shown; the rest are counted."""
_Signable = tuple["Statement", Iterable[str]]


@click.group(cls=CommandGroup)
def sign() -> None:
    """Sign rule sets, adoptions, carried values, pools, events, receipts, trust files.

    Every action shows what it changes in words, then signs, and writes a DSSE envelope around an
    in-toto statement. Several sign apart, each the same action, and `sign join` joins what they
    have signed.
    """


def _writing(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of every command here: the envelope to write."""
    return output_option("The envelope to write.")(follow_links_option(command))


def _action(name: str, epilog: str) -> Callable[[Callable[..., _Signable]], click.Command]:
    """Make a command of a function that returns a statement, and what it changes in words."""

    def command_of(function: Callable[..., _Signable]) -> click.Command:
        @wraps(function)
        def command(
            *,
            read_signer: Callable[[], Signer],
            output: Path,
            follow_links: bool,
            **options: Any,  # noqa: ANN401  # of the action
        ) -> None:
            statement, words = function(**options)
            change = list(words)
            if not wants_json():
                echo(*change, "")
            envelope = statement.envelope().signed(read_signer())
            _write(statement, envelope, output, follow_links=follow_links, change=change)

        return sign.command(name, epilog=epilog)(needed_signer_options(_writing(command)))

    return command_of


@_action(
    "rule-set",
    examples(
        "tallystick sign rule-set mine.toml --key alice.pem -o mine.json",
    ),
)
@click.argument("reference", metavar="RULES")
def rule_set_command(reference: str) -> _Signable:
    """Sign RULES: its name and version, the digest of its meaning, and that of its file."""
    from tallystick.canonical import digest_of_bytes  # loads what signs
    from tallystick.plugins.registry import installed_plugins
    from tallystick.rules.loading import load
    from tallystick_state.trust.statement import RULE_SET, Statement, Subject

    rules = load(reference, installed_plugins())
    name = rules.rule_set.reference
    statement = Statement.of(
        RULE_SET,
        Subject.of(name, rules.digest),
        reference=name,
        digest=rules.digest,
        text=digest_of_bytes(rules.text.encode("utf-8")),
    )
    return statement, [f"{name} holds, for {', '.join(map(visible, rules.rule_set.skill_types))}"]


@_action(
    "adoption",
    examples(
        "tallystick sign adoption skills@1.2.0 --at-epoch 20 --state subnet.db \\",
        "    --key alice.pem -o adoption.json",
    ),
)
@click.argument("reference", metavar="RULES")
@at_epoch_option
@major_option
@expiry_option
@ledger_option
def adoption_command(
    reference: str, epoch: int, major: bool, expires_at_block: int | None, ledger: Ledger
) -> _Signable:
    """Sign the adoption of RULES by the state; its trust file sets how many signatures it needs.

    The state is any validator's of the network: the statement is the same for all that began alike
    and adopted alike. Every value that differs from the rules before is shown.
    """
    from tallystick.rules.loading import load
    from tallystick_state.entries import Adopt
    from tallystick_state.rules import StateRules

    in_force, open_epoch = ledger.in_force, ledger.open_epoch()
    rules = StateRules(load(reference, in_force.plugins))
    adoption = Adopt.of(rules, epoch, major=major)
    statement = adoption.to_sign(in_force, open_epoch, expires_at_block)
    before = in_force.lines[rules.line].at(epoch - 1)
    return statement, _adoption_words(before, rules, epoch, open_epoch, ledger.store.shown)


def _adoption_words(
    before: StateRules, after: StateRules, epoch: int, open_epoch: int, where: str
) -> Iterator[str]:
    from tallystick.rules.compatibility import changed_values  # of few commands

    old, new = before.rule_set.reference, after.rule_set.reference
    yield f"from epoch {epoch} on {new} holds in place of {old}; epoch {open_epoch} is open"
    changes = [
        visible(f"{path}: {'none' if was is None else was} → {'none' if now is None else now}")
        for path, was, now in changed_values(_document(before), _document(after))
    ]
    yield f"{numbered(len(changes), 'value')} differ" if changes else "no value differs"
    yield from (f"  {change}" for change in changes[:MOST_CHANGES])
    if len(changes) > MOST_CHANGES:
        yield f"  and {len(changes) - MOST_CHANGES} more"
    yield f"what it does to scores: tallystick rules diff {old} {new} --state {visible(where)}"


def _document(rules: StateRules) -> Mapping[str, Any]:
    """Return the values that the digest of a rule set covers."""
    from tallystick.rules.digest import canonical_form  # of few commands

    form = canonical_form(rules.rule_set, rules.registry)
    document: Mapping[str, Any] = form.pop("document")
    return {**document, **form}


@_action(
    "pools",
    examples(
        "tallystick sign pools --pool skills=0.6 --pool workflow=0.4 --at-epoch 20 \\",
        "    --state subnet.db --key alice.pem -o pools.json",
    ),
)
@pools_options
@at_epoch_option
@expiry_option
@ledger_option
def pools_command(
    pools: PoolOptions, epoch: int, expires_at_block: int | None, ledger: Ledger
) -> _Signable:
    """Sign that the lines of the state share its weight by these pools from an epoch on."""
    from tallystick_state.entries import Share
    from tallystick_state.pools import pools_of

    in_force = ledger.in_force
    later = pools_of(pools.shares, in_force.lines, pools.idle, pools.burn)
    statement = Share.of(later, epoch).to_sign(in_force, ledger.open_epoch(), expires_at_block)
    before = in_force.pools.at(epoch - 1)
    words = [f"from epoch {epoch} on: pools {pools_text(json_value(later))}"]
    if before is not None:
        words.append(f"before: pools {pools_text(json_value(before))}")
    return statement, words


@_action(
    "carry",
    examples(
        "tallystick sign carry carry.json --rules skills@1.2.0 --trust trust.toml \\",
        "    --key alice.pem -o carry.signed.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@rules_option("Once for each line.", required=True, multiple=True)
@trust_option("The trust file that the state begins with.")
def carry_command(path: Path, references: tuple[str, ...], trust: Path | None) -> _Signable:
    """Sign that a state of these rules and this trust file begins with the values in FILE.

    The groups that adopt rules sign it; `state init --carry FILE` takes it by --signed.
    """
    if trust is None:
        message = "found no --trust, expected the trust file that the state begins with"
        raise click.UsageError(message)
    from tallystick_state.carry_file import CarryFile
    from tallystick_state.rules_in_force import begin_under

    in_force = begin_under(references, None, trust)
    carried, _ = CarryFile.read(path, in_force.at(0)).carried()
    root = in_force.root
    assert root is not None  # noqa: S101  # a trust file was read
    miners = numbered(len(carried.state.miners), "miner")
    records = numbered(carried.records, "record")
    names = ", ".join(rules.rule_set.reference for rules in in_force.at(0).lines)
    words = f"a state of {root.network} under {names} begins with {miners} and {records}"
    return root.carry_statement(carried.digest), [words]


@_action(
    "withdrawal",
    examples(
        "tallystick sign withdrawal --state subnet.db --key alice.pem \\",
        "    -o withdrawal.json",
    ),
)
@line_option("The line; needed where the state has several.")
@expiry_option
@ledger_option
def withdrawal_command(line: str | None, expires_at_block: int | None, ledger: Ledger) -> _Signable:
    """Sign that the state takes back the last adoption of a line, which has not begun."""
    from tallystick_state.entries import Withdraw

    in_force, open_epoch = ledger.in_force, ledger.open_epoch()
    withdrawal = Withdraw.of(line).checked(in_force, open_epoch)
    statement = withdrawal.to_sign(in_force, open_epoch, expires_at_block)
    epoch, rules = withdrawal.epoch, in_force.lines[withdrawal.line]
    gone, before = (rules.at(number).rule_set.reference for number in (epoch, epoch - 1))
    return statement, [f"{gone} does not hold from epoch {epoch} on; {before} stays"]


@_action(
    "events",
    examples(
        "tallystick sign events round.jsonl --validator 5Mine --state subnet.db \\",
        "    --wallet hotkey -o round.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
@click.option("--validator", required=True, metavar="HOTKEY", help="The validator of the records.")
@groups_option
@ledger_option
def events_command(path: Path, validator: str, groups: Path | None, ledger: Ledger) -> _Signable:
    """Sign the records and late events in FILE, all of one validator, so that others take them.

    The envelope has the digest of each; who imports them needs FILE as well. With --groups records
    are signed with the consensus of their groups, which who imports them then needs too.
    """
    from tallystick_state.ingest import batch_statement

    statement = batch_statement(ledger, path, validator, groups)
    lines = numbered(len(statement.predicate["events"]), "line")
    return statement, [f"{lines} of {visible(str(path))} are of the validator {visible(validator)}"]


@_action(
    "receipt",
    examples(
        "tallystick sign receipt results.parquet.receipt.json --key alice.pem \\",
        "    -o signed.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
def receipt_command(path: Path) -> _Signable:
    """Sign the receipt in FILE, whole; its subjects are the files that it is of."""
    from tallystick_state.trust.statement import statement_of_receipt  # loads what signs

    statement = statement_of_receipt(path)
    names = ", ".join(visible(subject.name) for subject in statement.subject)
    return statement, [f"a receipt of {names}"]


@_action(
    "trust",
    examples(
        "tallystick sign trust trust.toml --key alice.pem -o rotation.json",
    ),
)
@click.argument("path", metavar="FILE", type=PATH)
def trust_command(path: Path) -> _Signable:
    """Sign the trust file in FILE, so that it can follow another."""
    from tallystick_state.trust.trust_file import read  # loads what signs

    root = read(path)
    return root.rotation_statement(), lines_of(path, root)


@sign.command(
    "join",
    epilog=examples(
        "tallystick sign join alice.json bob.json carol.json -o adoption.json",
    ),
)
@click.argument("paths", metavar="ENVELOPE...", type=PATH, nargs=-1, required=True)
@_writing
def join_command(paths: tuple[Path, ...], output: Path, follow_links: bool) -> None:
    """Join envelopes of one statement that several have signed, each for themselves.

    Every ENVELOPE must be of the same statement; nothing is verified and nothing signed.
    """
    from tallystick_state.trust.envelope import Envelope  # loads what signs
    from tallystick_state.trust.statement import statement_of

    envelopes = [Envelope.read(path) for path in paths]
    statement = statement_of(envelopes[0], str(paths[0]))
    _write(statement, reduce(Envelope.joined, envelopes), output, follow_links=follow_links)


def _write(
    statement: Statement,
    envelope: Envelope,
    output: Path,
    *,
    follow_links: bool,
    change: Iterable[str] = (),
) -> None:
    """Write an envelope, and show its statement and who has signed."""
    from tallystick.io.atomic import write_file  # loads what writes
    from tallystick_state.trust.verification import told  # loads what signs

    write_file(output, envelope.to_json(), follow_links=follow_links)
    keyids = [item.keyid for item in envelope.signatures]
    view = {
        "file": str(output),
        "statement": envelope.statement_digest,
        "predicate_type": statement.predicate_type,
        "predicate": statement.predicate,
        "keyids": keyids,
        "change": [*change],
    }
    signed = (f"signed by keyid {item}" for item in keyids)
    show(view, chain(told(envelope, statement), signed, [str(output)]))
