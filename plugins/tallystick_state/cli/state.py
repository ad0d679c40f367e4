"""``tallystick state``: begin, see, move and check a state."""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tallystick.cli.command import CommandGroup, examples
from tallystick.cli.locked import Held, locked_options
from tallystick.cli.log import complain
from tallystick.cli.options import PATH, follow_links_option, rules_option
from tallystick.cli.plugin_options import ExtensibleCommand, PluginOptions
from tallystick.cli.progress import working
from tallystick.cli.shown import print_json, show, table_lines, wants_json
from tallystick.errors import DamagedError, RuleSetError, TrustError
from tallystick.io.text import visible
from tallystick.json_values import JsonObject, error_value, json_value
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_state import views
from tallystick_state.cli.adopt import (
    adopt_command,
    pools_text,
    rules_command,
    withdraw_command,
)
from tallystick_state.cli.checkpoint import checkpoint_command, proof_command
from tallystick_state.cli.options import (
    PoolOptions,
    as_option,
    at_option,
    authority_options,
    checkpoint_option,
    keys_option,
    ledger_option,
    locked_ledger_options,
    number_type,
    pools_options,
    state_option,
    trust_option,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from tallystick_state.answers import Profile, Recent
    from tallystick_state.authority import Authority
    from tallystick_state.ledger import Ledger
    from tallystick_state.replay import Verified
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import PublicKey
    from tallystick_state.trust.verification import Against


@click.group(cls=CommandGroup)
def state() -> None:
    """Begin, show, move and verify a state: reputations and thresholds, kept in a store."""


@state.command(
    "init",
    cls=ExtensibleCommand,
    epilog=examples(
        "tallystick state init --rules skills@1.2.0 --state subnet.db",
        "tallystick state init --rules mine.toml --state postgresql://me@host/subnet",
        "tallystick state init --rules skills@1.2.0 --rules workflow@1.2.0 \\",
        "    --state subnet.db",
        "tallystick state init --rules skills@1.2.0 --rules workflow@1.2.0 \\",
        "    --pool skills=0.7 --pool workflow=0.3 --state subnet.db",
        "tallystick state init --rules skills@1.2.0 --validator 5Mine --hear 5Peer \\",
        "    --hear 5Other --state subnet.db",
        "tallystick state init --rules skills@1.2.0 --validator 5Mine \\",
        "    --trust trust.toml --state subnet.db",
        "tallystick state init --rules skills@1.2.0 --carry carry.json \\",
        "    --state subnet.db",
        "tallystick state init --rules reward@1.0.0 --carry state.npz \\",
        "    --state subnet.db",
    ),
)
@rules_option("Once for each line.", required=True, multiple=True)
@state_option
@click.option(
    "--validator",
    metavar="HOTKEY",
    help="The validator of the state: its own rounds outrank claims by others in its name.",
)
@click.option(
    "--hear",
    multiple=True,
    metavar="HOTKEY",
    help="A validator whose records are accepted beside its own; repeatable. By default all.",
)
@trust_option("The trust file that the state begins with.")
@pools_options
@click.option(
    "--carry",
    type=PATH,
    metavar="FILE",
    help="Reputations, averages and windows that the state moves over, once; or state.npz.",
)
@authority_options
@locked_options
def init_command(  # noqa: PLR0913, PLR0917  # one argument for each option
    references: tuple[str, ...],
    where: str,
    validator: str | None,
    hear: tuple[str, ...],
    trust: Path | None,
    pools: PoolOptions,
    carry: Path | None,
    authority: Authority,
    held: Held,
    plugin_options: PluginOptions,
) -> None:
    """Begin a state under a rule set; the store keeps the whole rule set and the validators heard.

    A state can have several lines, such as skills and workflow: one rule set of each. They share
    the miners, their slots and the epochs; each has its own skill types, reputations, thresholds,
    adoptions and weights; --pool makes one vector of these. A trust file lists the validators
    that the state hears and whose signatures it requires: then --carry needs --signed, which
    `tallystick sign carry` makes. --carry also takes the state.npz of the subnet template, where
    the rules have one skill type: an average begins with its scores, or a mean with a window of
    them.
    """
    from tallystick_state.ledger import Ledger
    from tallystick_state.template_state import SUFFIX, TemplateState

    if hear and trust is not None:
        raise click.UsageError("found --hear and --trust, expected one: a trust file names them")
    network, slots = None, None
    if plugin_options.values:
        other = plugin_options.input(None, "--network")
        network, slots = (None, None) if other is None else other()
    before: Path | TemplateState | None = carry
    if carry is not None and carry.suffix == SUFFIX and slots is not None:
        before, gone = TemplateState.read(carry).held(slots)
        if gone:
            complain(
                f"{carry}: left out {numbered(len(gone), 'hotkey')} without the slot of before: "
                f"{', '.join(map(visible, gone))}"
            )
    for reference in references:
        held.require_reference(reference)
    with Ledger.create(
        where,
        references,
        validator=validator,
        hear=hear,
        trust=trust,
        pools=pools.shares or None,
        idle=pools.idle,
        burn=pools.burn,
        carry=before,
        network=network,
        authority=authority,
    ) as ledger:
        in_force, name = ledger.in_force, ledger.store.shown
        begun = views.begun(in_force)
    root, rules = in_force.root, in_force.at(0)
    under = " and ".join(f"{own.rule_set.reference} {own.digest}" for own in rules.lines)
    own = "" if validator is None else f" of {visible(validator)}"
    by = "" if root is None else f" and version {root.version} of {root.network}'s trust file"
    pooled = "" if "pools" not in begun else f", pools {pools_text(begun['pools'])}"
    moved, carried = in_force.carry, ""
    if moved is not None:
        miners = numbered(len(moved.state.miners), "carried miner")
        carried = f", with {miners} and {numbered(moved.records, 'record')}"
    told = f"{name}: a state{own} under {under}{by}{pooled}{carried}; epoch 0 is open"
    show(begun, [told])


@state.command("info", epilog=examples("tallystick state info --state subnet.db"))
@ledger_option
def info_command(ledger: Ledger) -> None:
    """Show a state: its rules, open epoch, miners, rounds, the end of its log, and two digests.

    The state digest is the same for all who were fed the same records; the rules digest for all who
    have adopted the same. Peers compare both: an adoption is in no state before it begins.
    """
    with working("hashing"), ledger.queries() as queries:
        on_pages, in_force = queries.transaction.connection.data_checksums(), queries.in_force
        view = views.info(ledger.store.shown, in_force, queries.info())
        view |= {"state_digest": queries.digest()}
    view |= {} if on_pages is None else {"data_checksums": on_pages}
    rows = dict(_cells(view))
    width = max(map(len, rows))
    lines = (f"{name:{width}}  {value}" for name, value in rows.items())
    show(view, lines)


def _cells(view: JsonObject) -> Iterator[tuple[str, str]]:
    for name, value in view.items():
        if name == "lines":
            for line, rule_set in value.items():
                yield f"rules of {line}", f"{rule_set['rule_set']} {rule_set['digest']}"
        elif name == "pools":
            yield name, pools_text(value)
        elif name == "carry":
            yield name, value["digest"]
        else:
            yield name.replace("_", " "), _cell(value)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(map(visible, value))
    return "none" if value is None else visible(str(value))


@state.command(
    "show",
    epilog=examples(
        "tallystick state show 5Hotkey --state subnet.db",
        "tallystick state show --as 5Hotkey --state subnet.db",
    ),
)
@click.argument("hotkey", required=False)
@as_option
@ledger_option
@at_option
def show_command(
    hotkey: str | None, viewer: str | None, ledger: Ledger, at: datetime | None
) -> None:
    """Show the miner HOTKEY: weight, reputations and what moved them, ranks, newest scores.

    The rounds are those of the last hours, which end at --at, by default at the latest recorded
    round. With --as it prints what the rule set lets the miner see of itself; without, the
    operator's view, which is whole.
    """
    from tallystick_state.leaderboard import WHOLE, seen_by

    miner = hotkey if hotkey is not None else viewer
    if miner is None:
        raise click.UsageError("found no miner, expected HOTKEY, or --as HOTKEY")
    with ledger.queries() as queries:
        seen = WHOLE if viewer is None else seen_by(viewer, miner, *queries.rules.lines)
        profile = queries.profile(miner, at)
        recent = queries.recent(miner) if viewer is None else None
    answer = {**views.profile(profile, seen), **({} if recent is None else json_value(recent))}
    told = () if recent is None else _recent_lines(recent)
    show(answer, chain(_profile_lines(profile, seen), told))


def _recent_lines(recent: Recent) -> Iterator[str]:
    slot = "no slot" if recent.uid is None else f"uid {recent.uid}"
    for line, weight in recent.weights.items():
        name = f" of {visible(line)}" if len(recent.weights) > 1 else ""
        paid = recent.reasons[line] if weight is None else to_text(weight)
        yield f"{slot}, weight{name}: {paid}"
    for moved in recent.movements:
        events = ", ".join(f"{name} {times}" for name, times in moved.events.items())
        counted = numbered(moved.records, "record")
        change = f"{to_text(moved.before)} → {to_text(moved.after)}"
        yield (
            f"{moved.skill_type} {change} in the last epoch, by {counted}: "
            f"{events or 'no event that moves it'}"
        )
    if recent.scores:
        rows = (
            (
                str(score.round),
                score.skill_type,
                visible(score.task_id),
                *("–" if n is None else to_text(n) for n in (score.quality, score.emission)),
                ", ".join(score.events),
            )
            for score in recent.scores
        )
        yield from table_lines(("round", "type", "task", "quality", "emission", "events"), rows)


def _profile_lines(profile: Profile, seen: Collection[str]) -> list[str]:
    head = f"{visible(profile.hotkey)}: epoch {profile.epoch}"
    if "dispatched_rounds" in seen:
        head += f", {profile.dispatched}"
    names = profile.reputation if {"reputation", "rank"} & {*seen} else ()
    width = max(map(len, names), default=0)
    lines = [head]
    for name in names:
        cells = [f"  {name:{width}}"]
        if "reputation" in seen:
            cells.append(to_text(profile.reputation[name]))
        if "rank" in seen:
            rank = profile.rank.get(name)
            cells.append("not selectable" if rank is None else f"rank {rank}")
        lines.append("  ".join(cells))
    return lines


@state.command(
    "board",
    epilog=examples(
        "tallystick state board translation --state subnet.db",
    ),
)
@click.argument("skill_type", metavar="TYPE")
@as_option
@ledger_option
def board_command(skill_type: str, viewer: str | None, ledger: Ledger) -> None:
    """Show the leaderboard of a skill type: everyone who can be selected, the best first.

    With --as it is shown only if the rule set makes leaderboards public.
    """
    from tallystick_state.leaderboard import check_public

    with ledger.queries() as queries:
        if viewer is not None:
            check_public("leaderboards", queries.rules.of_type(skill_type))
        epoch, board = queries.state.epoch, queries.board(skill_type)
        reason = "" if board else queries.no_candidates(skill_type)
    rows = (f"{e.rank:>4}  {to_text(e.reputation)}  {visible(e.hotkey)}" for e in board)
    lines = ["rank  reputation   hotkey", *rows] if board else [f"nobody can be selected: {reason}"]
    answer = views.listed("board", board, reason, skill_type=skill_type, epoch=epoch)
    show(answer, (f"{skill_type}, epoch {epoch}", *lines))


@state.command(
    "export",
    epilog=examples(
        "tallystick state export subnet.jsonl --state subnet.db",
    ),
)
@click.argument("file", type=PATH)
@state_option
@follow_links_option
def export_command(file: Path, where: str, follow_links: bool) -> None:
    """Write the whole state to FILE, from which `state import` makes the same state."""
    from tallystick_state.store.store import Store
    from tallystick_state.transfer import export_state

    with working("exporting"):
        exported = export_state(Store.open(where), file, follow_links=follow_links)
    told = f"{file}: {exported.entries} entries that end in {exported.hash}"
    show(exported, [told])


@state.command(
    "import",
    epilog=examples(
        "tallystick state import subnet.jsonl --state copy.db",
        "tallystick state import subnet.jsonl --trust trust.toml --state copy.db",
    ),
)
@click.argument("file", type=PATH)
@state_option
@trust_option("The trust file that the state begins with.")
@locked_options
def import_command(file: Path, where: str, trust: Path | None, held: Held) -> None:
    """Begin a store with the state of FILE, replaying and checking every entry.

    FILE brings its own trust file. With --trust it is refused unless it began with that one.
    """
    from tallystick_state.transfer import import_state

    with working("replaying the log"):
        imported = import_state(file, where, trust=trust, accept=held.require)
    told = f"{imported.entries} entries that end in {imported.hash}"
    show(imported, [told])


@state.command(
    "prune",
    epilog=examples(
        "tallystick state prune --before-epoch 40 --state subnet.db",
        "tallystick state prune --keep 30 --state subnet.db",
    ),
)
@click.option(
    "--before-epoch",
    "epoch",
    type=number_type,
    metavar="E",
    help="The first epoch whose records stay whole.",
)
@click.option(
    "--keep",
    type=number_type,
    metavar="N",
    help="How many closed epochs stay whole, the last ones.",
)
@locked_ledger_options
def prune_command(epoch: int | None, keep: int | None, ledger: Ledger) -> None:
    """Remove the records of old epochs, whose roots stay; first it verifies what it removes.

    What windows, rotations, flags or claims in quarantine still read stays; the digest of the state
    and the roots of its epochs are as they were, and the state goes on as if nothing was removed.
    What is gone is gone: export the state first.
    """
    if (epoch is None) == (keep is None):
        raise click.UsageError("found --before-epoch and --keep, or neither: expected one of them")
    with working("verifying what is removed"):
        first = ledger.open_epoch() - (keep or 0) if epoch is None else epoch
        pruned = ledger.prune(first)
    gone = f"removed {numbered(pruned.events, 'event')} before epoch {pruned.epoch}"
    lines = [
        f"{gone}; {pruned.left} stay, as something reads them still",
        f"{pruned.bytes_before} bytes before, {pruned.bytes_after} after",
    ]
    if pruned.already:
        lines = [f"nothing to do: the records before epoch {pruned.epoch} are pruned"]
    show(pruned, lines)


@state.command("rebuild", epilog=examples("tallystick state rebuild --state subnet.db"))
@state_option
@locked_options
def rebuild_command(where: str, held: Held) -> None:
    """Make everything that follows from the log anew, by replaying it.

    It mends a store whose log is sound, whatever else of it is damaged; any other is left as it is.
    """
    from tallystick_state.replay import rebuild

    with working("replaying the log"):
        head = rebuild(where, accept=held.require)
    told = f"{head.entries} entries that end in {head.hash}: rebuilt"
    show({"entries": head.entries, "hash": head.hash}, [told])


@state.command(
    "verify",
    epilog=examples(
        "tallystick state verify --state subnet.db",
        "tallystick state verify --checkpoint checkpoint.txt --trust trust.toml \\",
        "    --state subnet.db",
    ),
)
@state_option
@checkpoint_option
@trust_option("A trust file of those who may have signed it.")
@keys_option("A key that may have signed it; repeatable.")
def verify_command(
    where: str,
    checkpoint: Checkpoint | None,
    trust: Path | None,
    keys: tuple[PublicKey, ...],
) -> None:
    """Replay the log from its first entry and compare every snapshot.

    With --checkpoint also compare the log of epochs with the checkpoint: that finds a history that
    was rewritten whole, or cut back. The exit status is 1 when something that is stored does not
    follow from the log, or the log from the checkpoint.
    """
    if checkpoint is None and (trust is not None or keys):
        raise click.UsageError("--trust and --key go with --checkpoint")
    from tallystick_state.ledger import Ledger
    from tallystick_state.replay import verify
    from tallystick_state.trust.trust_file import read  # loads what signs
    from tallystick_state.trust.verification import Against

    against = Against(None if trust is None else read(trust), keys)
    candidates = against.known
    try:
        with Ledger.open(where) as ledger, working("replaying the log"):
            verified = verify(ledger, checkpoint, candidates)
    except (DamagedError, RuleSetError, TrustError) as error:
        if wants_json():
            print_json({"valid": False, **error_value(error)})
        complain(error)
        sys.exit(1)
    show(views.verified(verified), _verified_lines(verified, against))


def _verified_lines(verified: Verified, against: Against) -> Iterator[str]:
    yield f"{verified.entries} entries lead to {verified.snapshots} snapshots: valid"
    if (point := verified.pruned) is not None:
        yield (
            f"entries up to {point.seq} were not replayed, as the records before epoch "
            f"{point.epoch} were pruned: their snapshots and roots are as they were then"
        )
    if verified.data_checksums is False:
        yield "PostgreSQL has no checksums of its pages: pg_checksums --enable makes them"
    if verified.epochs is not None:
        by = ", ".join(against.names(verified.signers))
        signed = f"signed by {by}" if by else "whose signature was not verified"
        yield f"{verified.epochs} epochs are those of the checkpoint, {signed}"


for _command in (
    adopt_command,
    checkpoint_command,
    proof_command,
    rules_command,
    withdraw_command,
):
    state.add_command(_command)
