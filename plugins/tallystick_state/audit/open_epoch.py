"""The open epoch of two states: what differs before any leaf says so.

A closed epoch is compared by its leaf and its rows. Of the open one there are only the events that
are recorded so far, the miners, and the rules that are scheduled; evidence has none of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from tallystick.io.text import visible
from tallystick_state.audit.verdict import LETTERS, Verdict
from tallystick_state.epoch_log import EpochLog
from tallystick_state.event import StateEvent
from tallystick_state.model import State, unstructure

_Logs = Mapping[str, EpochLog]


def open_difference(a: EpochLog, b: EpochLog) -> Verdict | None:
    """Return what two states with the same closed epochs differ in; None where they do not."""
    logs = dict(zip(LETTERS, (a, b), strict=True))
    epoch = len(a.closed)
    return _other_rules(logs, epoch) or _other_events(logs, epoch) or _other_miners(logs, epoch)


def _other_rules(logs: _Logs, epoch: int) -> Verdict | None:
    found = {letter: log.in_force.digest_from(epoch) for letter, log in logs.items()}
    if found["a"] == found["b"]:
        return None
    told = "; ".join(f"{letter}: {digest}" for letter, digest in found.items())
    reason = (
        f"they have other rules in force or scheduled from the open epoch on ({told}): compare "
        "their adoptions with tallystick state rules"
    )
    return Verdict("rules", reason, epoch)


def _other_events(logs: _Logs, epoch: int) -> Verdict | None:
    lines = {letter: {*log.transaction.event_lines(epoch)} for letter, log in logs.items()}
    own = {
        letter: [StateEvent.from_line(line) for line in lines[letter] - lines[other]]
        for letter, other in zip(LETTERS, reversed(LETTERS), strict=True)
    }
    found = {letter: {each.identity: each for each in events} for letter, events in own.items()}
    if not any(found.values()):
        return None
    first = min((each for events in own.values() for each in events), key=_order)
    many = len(found["a"].keys() | found["b"].keys())
    more = f"; {many - 1} more differ" if many > 1 else ""
    have = [letter for letter in LETTERS if first.identity in found[letter]]
    if len(have) == len(LETTERS):
        digests = ", ".join(f"{e}: {found[e][first.identity].claim_digest}" for e in LETTERS)
        reason = f"{_claim(first)}: the sides recorded other versions of it ({digests}){more}"
        return Verdict("input", reason, epoch)
    (one,) = have
    other = "b" if one == "a" else "a"
    waiting = _waiting(logs[other], first)
    reason = f"{_claim(first)}: only side {one} has recorded it{waiting}{more}"
    return Verdict("membership", reason, epoch)


def _waiting(log: EpochLog, event: StateEvent) -> str:
    """Say why a side that knows a claim has not recorded it."""
    claims = log.transaction.claims.of([event.identity])
    held = [each for each in claims if each.reason is not None]
    return f"; the other has it in quarantine: {held[0].reason}" if held else ""


def _order(event: StateEvent) -> tuple[int, str, str, str, str, str]:
    about = event.skill_type, event.task_id, event.hotkey, event.validator
    return event.round, *about, event.id or ""


def _claim(event: StateEvent) -> str:
    """Name a claim by what both sides know it by: numbers are of one log alone."""
    what = "the record" if event.is_record else f"the event {visible(event.id or '')}"
    of = f"of {visible(event.validator)} about {visible(event.hotkey)}"
    task = f"task {visible(event.task_id)}, {visible(event.skill_type)}"
    return f"round {event.round}, {what} {of}, {task}"


def _other_miners(logs: _Logs, epoch: int) -> Verdict | None:
    states = {letter: unstructure(_state(log))["miners"] for letter, log in logs.items()}
    if states["a"] == states["b"]:
        return None
    hotkeys = sorted(states["a"].keys() | states["b"].keys())
    hotkey = next(each for each in hotkeys if states["a"].get(each) != states["b"].get(each))
    reason = (
        f"the miner {visible(hotkey)} is another, or on one side alone, in the open epoch: compare "
        "registrations and flags with tallystick miner list"
    )
    return Verdict("membership", reason, epoch)


def _state(log: EpochLog) -> State:
    head = log.transaction.head()
    assert head is not None  # noqa: S101  # a ledger has opened it
    return head.state
