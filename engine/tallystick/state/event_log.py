"""The event log: every change of a state, written once as an entry and applied at once.

Invariants:

- the live state is what the entries of the log, applied one after the other, lead to;
- an entry says everything that its transition needs: time and chance are in it, never read;
- what a transition gives (the digest of a snapshot, the members of a group) is in its entry too, so
  that applying the entries again proves them;
- nothing is seen by others before the transaction around it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from rfc8785 import CanonicalizationError

from tallystick.canonical import canonical_bytes
from tallystick.errors import StateError
from tallystick.state.chain import GENESIS_HASH, Entry, chained
from tallystick.state.epoch import close_epoch
from tallystick.state.event import StateEvent, events_digest
from tallystick.state.groups import Group, auditor_streak, select_group
from tallystick.state.miners import FLAG, as_of, clear, flag, register, retire
from tallystick.state.model import Snapshot, State
from tallystick.state.rules import GENESIS, StateRules
from tallystick.state.store.transaction import LogHead, Transaction

FORMAT = 1
"""The version of the entries."""
LATEST = "~"
"""Later than every time that is written."""
# the word that every log has for them, which hashes cover
EVENT = "signal"
"""The kind of the entries that are state events."""


class EventLog:
    """Writes changes of one state within one transaction; `finish` ends it.

    Attributes:
        transaction: what it writes to.
        state: the live state after everything that was written so far.
        rules: its rules.
        entries: how many entries the log has.
        hash: of the last entry.
    """

    def __init__(self, transaction: Transaction, rules: StateRules) -> None:
        """Go on after the last entry of the store."""
        head = transaction.head()
        self.rules, self.transaction = rules, transaction
        self.state = head.state if head is not None else State(0, {}, rules.seeds)
        self.entries = head.entries if head is not None else 0
        self.hash = head.hash if head is not None else GENESIS_HASH

    def begin(self) -> None:
        """Write the first entry: the rule set, whole; and keep the first snapshot."""
        rule_set = {
            "digest": self.rules.digest,
            "reference": self.rules.rule_set.reference,
            "text": self.rules.loaded.text,
        }
        self._write(GENESIS, {"format": FORMAT, "rule_set": rule_set})
        self.transaction.put_snapshot(Snapshot(self.state, self.rules.digest))

    def register(self, hotkey: str, uid: int, types: Iterable[str]) -> None:
        """Register a miner; a registration that changes nothing is not written.

        Raises:
            StateError: as `miners.register`.
        """
        after = register(self.state, self.rules, hotkey, uid, types)
        if after != self.state:
            miner = after.miners[hotkey]
            self._write("miner", {"hotkey": hotkey, "types": list(miner.types), "uid": uid})
            self.state = after

    def retire(self, hotkey: str) -> None:
        """Take the slot of a miner that has left the subnet, if it has one.

        Raises:
            StateError: there is no such miner.
        """
        after = retire(self.state, hotkey)
        if after != self.state:
            self._write("retire", {"hotkey": hotkey})
            self.state = after

    def clear(self, hotkey: str, at: str | None) -> None:
        """Clear a miner's collusion flags, if it has any.

        Raises:
            StateError: there is no such miner.
        """
        after = clear(self.state, hotkey)
        if after != self.state:
            self._write("clear", {"at": at, "hotkey": hotkey})
            self.state = after

    def record(self, events: Iterable[StateEvent]) -> None:
        """Record events that the state admits."""
        entries, rows, flags = list[Entry](), list[tuple[int, StateEvent, int]](), Counter[str]()
        for event in events:
            entry = self._chained(EVENT, event.to_line())
            entries.append(entry)
            rows.append((entry.seq, event, self.state.epoch))
            if FLAG in event.events:
                flags[event.hotkey] += event.events.count(FLAG)
        self.transaction.append(entries)
        self.transaction.put_events(rows)
        self.state = flag(self.state, flags)

    def close_round(self, number: int, at: str | None) -> None:
        """Mark a round as closed; once more, unless at an earlier time, is not written."""
        known = self.transaction.rounds()
        earlier = at is not None and at < (known.get(number) or LATEST)
        if number not in known or earlier:
            self._write("round", {"at": at, "round": number})
            self.transaction.put_round(number, at)

    def close_epoch(self, at: str | None) -> Snapshot:
        """Close the open epoch and keep the snapshot of the next."""
        epoch = self.state.epoch
        before = self.snapshot(epoch)
        lines = list(self.transaction.event_lines(epoch))
        events = [StateEvent.from_line(line) for line in lines]
        # a rule set without epochs pins nothing, and takes records of any epoch
        pins = {event.epoch for event in events} if self.rules.rule_set.epochs else set[int]()
        pinned = {pin: self.snapshot(pin).state for pin in sorted(pins)}
        found = events_digest(lines)
        self.state = close_epoch(self.state, events, self.rules, pinned)
        snapshot = Snapshot(self.state, self.rules.digest, before.digest, found)
        self.transaction.put_snapshot(snapshot)
        self._write("epoch", {"at": at, "epoch": epoch, "snapshot": snapshot.digest})
        return snapshot

    def select_group(self, skill_type: str, number: int, seed: str, epoch: int) -> Group:
        """Select the group of a dispatch, from the snapshot of an epoch, and note it.

        Raises:
            StateError: the type or the epoch is unknown, or the rule set has no groups.
        """
        self.rules.check_type(skill_type)
        rotation = self.rules.groups.rotation
        streaks = {
            hotkey: self._streak(skill_type, hotkey, number, rotation.auditor_rounds)
            for hotkey in (self.state.miners if rotation.enabled else ())
        }
        group = select_group(
            as_of(self.state, self.snapshot(epoch).state, self.rules),
            skill_type,
            self.rules,
            round=number,
            seed=seed,
            auditor_streaks=streaks,
        )
        members = {"auditors": list(group.auditors), "primaries": list(group.primaries)}
        asked = {"epoch": epoch, "round": number, "seed": seed, "skill_type": skill_type}
        self._write("group", {**asked, **members})
        return group

    def finish(self) -> None:
        """Put the live state where others find it."""
        head = LogHead(self.state.epoch, self.entries, self.hash, self.state)
        self.transaction.put_head(head)

    def _write(self, kind: str, body: Mapping[str, Any]) -> None:
        try:
            text = canonical_bytes(body).decode()
        except CanonicalizationError as error:
            raise StateError(
                f"found a value that has no canonical form ({error}), expected Unicode text and "
                "whole numbers below 2^53"
            ) from None
        self.transaction.append([self._chained(kind, text)])

    def _chained(self, kind: str, body: str) -> Entry:
        entry = chained(self.hash, self.entries + 1, kind, body)
        self.entries, self.hash = entry.seq, entry.hash
        return entry

    def snapshot(self, epoch: int) -> Snapshot:
        """The snapshot of an epoch.

        Raises:
            StateError: the epoch has not begun.
        """
        begun = 0 <= epoch <= self.state.epoch
        found = self.transaction.snapshot(epoch) if begun else None
        if found is None:
            raise StateError(
                f"found the epoch {epoch}, expected 0 to {self.state.epoch}, the open one"
            )
        return found

    def _streak(self, skill_type: str, hotkey: str, before: int, rounds: int) -> int:
        roles = self.transaction.roles(skill_type, hotkey, before, rounds)
        return auditor_streak(roles)
