"""The event log: every change of a state, written once as an entry and applied at once.

Invariants:

- the live state is what the entries of the log, applied one after the other, lead to;
- an entry says everything that its transition needs: time and chance are in it, never read;
- what a transition gives (the digest of a snapshot, the members of a group) is in its entry too, so
  that applying the entries again proves them;
- every claim has an entry, recorded or not; which are recorded follows from the entries alone;
- nothing is seen by others before the transaction around it ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.canonical import CanonicalError, canonical_bytes
from tallystick.errors import StateError, TrustError
from tallystick.json_values import json_value
from tallystick.records.messages import shown
from tallystick_state.adoption import (
    LAST_EPOCH,
    check_adoption,
    check_pools,
    check_withdrawal,
)
from tallystick_state.answers import RecordedBatch
from tallystick_state.argument_checks import checked_salt
from tallystick_state.attributes import ATTRIBUTES, RoundFiles, closing_digest, to_body
from tallystick_state.authority import (
    OPERATOR,
    ROTATION,
    Authority,
    envelope_text,
    root_to_dict,
    stored_envelope,
)
from tallystick_state.chain import GENESIS_HASH, Entry, chained
from tallystick_state.claim_register import ClaimRegister, Numbered, Settled
from tallystick_state.claims import DROPPED, EVERYONE, AllowedValidators, Claim, Rank
from tallystick_state.collusion import collusion_flags
from tallystick_state.epoch import next_epoch
from tallystick_state.event import COUNTED_IN, NUMBER_LIMIT, StateEvent, events_digest
from tallystick_state.genesis import FORMAT, RULE_SETS
from tallystick_state.groups import Group, auditor_streak, select_group
from tallystick_state.miners import FLAG, as_of, clear, flag, register, retire
from tallystick_state.model import Snapshot
from tallystick_state.pools import POOLS, Pools, PoolsChange
from tallystick_state.rules import GENESIS, EpochRules, StateRules
from tallystick_state.rules_in_force import (
    ADOPTION,
    WITHDRAWAL,
    Adoption,
    RulesInForce,
)
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.store.transaction import CARRIED, LogHead, Transaction

if TYPE_CHECKING:
    from tallystick_state.authority import Batch
    from tallystick_state.trust.policy import TrustRoot

LATEST = "~"
"""Sorts after every written time."""
RANKS: Mapping[str, Rank] = MappingProxyType(
    {"signal": Rank.IMPORTED, "signed": Rank.SIGNED, "own": Rank.OWN}
)
"""Kinds of the entries that are claims, with the rank of each.

The first is the word that every log has for them, which hashes cover.
"""
_KINDS = {rank: kind for kind, rank in RANKS.items()}
RECORDED = "recorded"
"""Status of a claim that is not in quarantine."""


class EventLog:
    """Writes changes of one state within one transaction; `finish` ends it.

    Attributes:
        transaction: what it writes to.
        state: the live state after everything that was written so far.
        in_force: its rules, epoch by epoch, and whose signatures count.
        entries: how many entries the log has.
        hash: of the last entry.
        named: whose claims are taken where no trust file says so.
        batch: the signed batch that claims come with; None before one begins.
        moved: of claims that were moved, what each was before this transaction, empty if it was
            not there, and what it is: recorded, or why it is not.
    """

    def __init__(
        self,
        transaction: Transaction,
        rules: StateRules | RulesInForce,
        allowed: AllowedValidators = EVERYONE,
    ) -> None:
        """Go on after the last entry of the store."""
        head = transaction.head()
        self.in_force, self.transaction, self.named = RulesInForce.of(rules), transaction, allowed
        self.batch: Batch | None = None
        self._has_batch_entry = False
        self.moved: dict[int, tuple[str, str]] = {}
        self._register: ClaimRegister | None = None
        self.state = head.state if head is not None else self.in_force.first_state
        self.entries = head.entries if head is not None else 0
        self.hash = head.hash if head is not None else GENESIS_HASH
        transaction.check_end(self.entries, self.hash)

    @property
    def rules(self) -> EpochRules:
        """The rules of the open epoch."""
        return self.in_force.at(self.state.epoch)

    @property
    def allowed(self) -> AllowedValidators:
        """The allowed validators."""
        return self.in_force.trust.allowed(self.named)

    def begin(self, records: Sequence[StateEvent] = (), authority: Authority = OPERATOR) -> None:
        """Write the first entry: rules, trust file, pools, origin, and who is heard.

        Carried records come after it, each as an entry; the first snapshot is kept.

        Args:
            records: those that the state moves over, in the order of their file.
            authority: what stands behind what is carried.

        Raises:
            StateError: the records are not those of the origin.
            TrustError: what is carried must be signed, and is not as it must.
        """
        origin = self.in_force.origin
        if origin.carry is not None:
            origin.carry.check(records)
            self.in_force.check_carry(authority)
        rule_sets = [json_value(rules) for rules in self.rules.lines]
        begun: dict[str, Any] = {"format": FORMAT, RULE_SETS: rule_sets}
        root, pools = self.in_force.root, self.in_force.pools.first
        more = json_value(self.named) | ({} if root is None else {"trust": root_to_dict(root)})
        more |= {} if pools is None else {POOLS: json_value(pools)}
        self._write_stating(GENESIS, begun | more | origin.body, authority)
        if records:
            entries = [self._chained(CARRIED, record.to_line()) for record in records]
            self.transaction.append(entries)
            events = zip(entries, records, strict=True)
            self.transaction.put_events((entry.seq, event, COUNTED_IN) for entry, event in events)
        begun_with = self.in_force.genesis if origin.digests else None
        self.transaction.put_snapshot(Snapshot(self.state, self.rules.digest, genesis=begun_with))

    def register(
        self, hotkey: str, uid: int, types: Iterable[str], block: int | None = None
    ) -> None:
        """Register a miner; a registration that changes nothing is not written.

        Args:
            hotkey: of the miner.
            uid: the slot.
            types: the skill types that it declares.
            block: of its registration on the chain; None where it is not known.

        Raises:
            StateError: as `miners.register`.
        """
        after = register(self.state, self.rules, hotkey, uid, types, block)
        if after != self.state:
            miner = after.miners[hotkey]
            body = {"hotkey": hotkey, "types": list(miner.types), "uid": uid}
            self._write("miner", body if block is None else {**body, "block": block})
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

    def record(self, events: Iterable[StateEvent], rank: Rank = Rank.IMPORTED) -> RecordedBatch:
        """Take claims of events that the state admits, and decide which are recorded.

        Args:
            events: of validators that are heard.
            rank: with which they come.

        Raises:
            TrustError: they must be signed, and are not.
        """
        batch, register, epoch = [*events], self._claims(), self.state.epoch
        self._check_signed(batch, rank)
        sifted = register.sift(batch, rank, epoch)
        entries, new, kind = list[Entry](), list[Numbered](), _KINDS[rank]
        places = sorted([*sifted.new, *sifted.raised])
        if places and rank is Rank.SIGNED:
            self.write_batch()
        for index in places:
            entry = self._chained(kind, batch[index].to_line())
            entries.append(entry)
            if index not in sifted.raised:
                new.append((entry.seq, batch[index], sifted.identities[index]))
        self.transaction.append(entries)
        self.transaction.remember([(seq, event) for seq, event, _ in new])
        self._apply(register.settle(new, sifted.raised.values(), rank, epoch))
        raised = {index: claim.seq for index, claim in sifted.raised.items()}
        return RecordedBatch(tuple(places), raised, sifted.duplicates, sifted.refused)

    def begin_batch(self, authority: Authority) -> Batch:
        """Take a signed batch: from now on its validator stands for the events that it lists.

        Its entry is written before the first claim that comes with it and is new.

        Raises:
            TrustError: the state has no trust file, or the batch does not hold by it.
        """
        from tallystick_state.authority import batch_of  # where something is signed

        if self.in_force.root is None:
            raise TrustError(
                "found a batch of events for a state without a trust file, expected one that says "
                "whose signatures count: give it one with tallystick trust rotate",
                code="no-root",
            )
        self._check_block(authority.block)
        self.batch = batch_of(self.in_force.root, self.in_force.genesis, authority)
        self._has_batch_entry = False
        return self.batch

    def write_batch(self) -> None:
        """Write the entry of the signed batch, once."""
        if self.batch is not None and not self._has_batch_entry:
            body = {"events": len(self.batch.events), "validator": self.batch.validator}
            self._write_stating("batch", body, self.batch.authority)
            self._has_batch_entry = True

    def rotate(self, root: TrustRoot, authority: Authority = OPERATOR) -> None:
        """Put a trust file in force, at once.

        Args:
            root: the trust file that comes.
            authority: signed by the groups ``root`` of both; by nobody where it is the first one.

        Raises:
            TrustError: it cannot follow the one in force, has expired, or too few have signed it.
        """
        after = self.in_force.rotated(root, self.entries + 1, authority)
        body = root_to_dict(root) | {"version": root.version}
        self._write_stating(ROTATION, body, authority)
        # whose batch it was may not be heard any more
        self.in_force, self.batch = after, None

    def accept(self, numbers: Sequence[int], at: str | None) -> None:
        """Record claims that are in quarantine, as the operator has decided.

        Raises:
            StateError: a claim is not in quarantine, or another one stands against it.
        """
        claims = self._quarantined(numbers)
        identities = [claim.event.identity for claim in claims]
        for rival in self.transaction.claims.of(identities):
            if rival.reason != DROPPED and rival.seq not in numbers:
                self._refuse_rival(rival, claims)
        if len(set(identities)) < len(identities):
            raise StateError(
                "found two claims about the same, expected one: choose one, and drop the other"
            )
        if not claims:
            return
        self._write("accept", {"at": at, "claims": [claim.seq for claim in claims]})
        self._apply(self._claims().accept(claims, self.state.epoch))
        left = [claim.seq for claim in self.transaction.claims.numbered(numbers)]
        if left:
            raise StateError(
                f"found that the claim {left[0]} stays in quarantine, expected "
                "room for it within the limits of the rule set: accept fewer"
            )

    def drop(self, numbers: Sequence[int], at: str | None) -> None:
        """Leave claims out that are in quarantine, for good; the same again stays out.

        Raises:
            StateError: a claim is not in quarantine.
        """
        claims = [claim for claim in self._quarantined(numbers) if claim.reason != DROPPED]
        if claims:
            self._write("drop", {"at": at, "claims": [claim.seq for claim in claims]})
            self._apply(self._claims().drop(claims, self.state.epoch))

    def close_round(self, number: int, at: str | None) -> None:
        """Mark a round as closed; once more, unless at an earlier time, is not written."""
        times = self.transaction.rounds()
        if number not in times or (at is not None and at < (times[number] or LATEST)):
            self._write("round", {"at": at, "round": number})

    def close_epoch(
        self, at: str | None, salt: str | None = None, attributes: RoundFiles | None = None
    ) -> Snapshot:
        """Close the open epoch and keep the snapshot of the next.

        Args:
            at: when.
            salt: of the leaf of the epoch, in hexadecimal digits.
            attributes: by line, what the rules ask of the rounds and of miners beside the records.

        Raises:
            StateError: the salt is none, or something is not said that is carried on with.
        """
        more: dict[str, Any] = {} if salt is None else {"salt": checked_salt(salt)}
        body = to_body(attributes) if attributes else {}
        more |= {ATTRIBUTES: body} if body else {}
        epoch = self.state.epoch
        before = self.snapshot(epoch)
        self.flag_colluders()
        counted = self.transaction.counting(epoch, self.entries, self.hash)
        events = [event for _, event in counted]
        evidence = closing_digest(events_digest(line for line, _ in counted), body)
        self.state = next_epoch(
            self.state, events, self.in_force, self.transaction, attributes or {}
        )
        snapshot = Snapshot(self.state, self.rules.digest, before.digest, evidence)
        self.transaction.put_snapshot(snapshot)
        entry = {"at": at, "epoch": epoch, "snapshot": snapshot.digest}
        self._write("epoch", {**entry, **more})
        return snapshot

    def flag_colluders(self) -> None:
        """Write the flags that follow from the alignments of the open epoch."""
        epoch, flags = self.state.epoch, Counter[tuple[str, str]]()
        rules_of = partial(self.in_force.of_type, epoch=epoch)
        for event in collusion_flags(epoch, rules_of, self.transaction):
            entry = self._chained("flag", event.to_line())
            self.transaction.append([entry])
            self.transaction.put_events([(entry.seq, event, epoch)], Rank.OWN)
            flags[event.hotkey, event.validator] += 1
        self.state = flag(self.state, self.rules, flags)

    def adopt(
        self,
        rules: StateRules,
        epoch: int,
        *,
        major: bool = False,
        authority: Authority = OPERATOR,
    ) -> Adoption:
        """Schedule rules for an epoch that has not begun.

        Raises:
            StateError: the state does not allow it; see `adoption.CODES`.
            TrustError: nobody has signed it who may.
        """
        adoption = check_adoption(self.in_force, rules, epoch, self.state.epoch, major=major)
        self._check_unnamed(rules.line, epoch)
        signed_by = self.in_force.check("adopt", adoption, adoption.sequence, authority)
        adoption = attrs.evolve(
            adoption,
            block=authority.block,
            seq=self.entries + 1,
            statement=authority.statement,
            signed_by=signed_by,
            gate_receipt=authority.gate_receipt,
        )
        self._write_stating(ADOPTION, json_value(adoption), authority)
        self._follow(self.in_force.adopted(adoption))
        return adoption

    def withdraw(self, line: str | None = None, *, authority: Authority = OPERATOR) -> Adoption:
        """Take back the last adoption of a line, which has not begun; gives what it was.

        Raises:
            StateError: there is none; see `adoption.CODES`.
            TrustError: nobody has signed it who may.
        """
        last = check_withdrawal(self.in_force, line, self.state.epoch)
        sequence = self.in_force.sequences[last.line] + 1
        self.in_force.check("withdraw", last, sequence, authority)
        body = {
            "epoch": last.epoch,
            "line": last.line,
            "rule_set": last.rules.digest,
            "sequence": sequence,
        }
        self._write_stating(WITHDRAWAL, body, authority)
        self._follow(self.in_force.withdrawn(last.line, sequence, self.entries))
        return last

    def share(self, pools: Pools, epoch: int, *, authority: Authority = OPERATOR) -> PoolsChange:
        """Schedule pools for an epoch that has not begun, in place of what was from then on.

        Raises:
            StateError: the state does not allow it; see `adoption.CODES`.
            TrustError: nobody has signed it who may.
        """
        change = self.in_force.pools.change(pools, epoch)
        check_pools(self.in_force, change, self.state.epoch)
        signed_by = self.in_force.check_pools(change, authority)
        change = attrs.evolve(
            change, block=authority.block, statement=authority.statement, signed_by=signed_by
        )
        self._write_stating(POOLS, json_value(change), authority)
        self.in_force = self.in_force.with_pools(change, self.entries)
        return change

    def select_group(self, skill_type: str, number: int, seed: str, epoch: int) -> Group:
        """Select the group of a dispatch, from the snapshot of an epoch, and note it.

        Raises:
            StateError: the type or the epoch is unknown, or the rule set has no groups.
        """
        snapshot = self.snapshot(epoch)
        every = self.in_force.at(epoch)
        rules = every.of_type(skill_type)
        rotation = rules.groups.rotation
        point = self.transaction.pruned()
        if point is not None and rotation.enabled:
            point.check_round(number)
        streaks = {
            hotkey: self._streak(skill_type, hotkey, number, rotation.auditor_rounds)
            for hotkey in (self.state.miners if rotation.enabled else ())
        }
        group = select_group(
            as_of(self.state, snapshot.state, every),
            skill_type,
            rules,
            round=number,
            seed=seed,
            auditor_streaks=streaks,
        )
        members = {"auditors": list(group.auditors), "primaries": list(group.primaries)}
        request = {"epoch": epoch, "round": number, "seed": seed, "skill_type": skill_type}
        self._write("group", {**request, **members})
        return group

    def finish(self) -> None:
        """Put the live state where others find it."""
        head = LogHead(self.state.epoch, self.entries, self.hash, self.state)
        self.transaction.put_head(head)

    def _write(self, kind: str, body: Mapping[str, Any]) -> None:
        try:
            text = canonical_bytes(body).decode()
        except CanonicalError as error:
            raise StateError(
                f"found a value that has no canonical form ({error}), expected Unicode text and "
                "whole numbers below 2^53"
            ) from None
        self.transaction.append([self._chained(kind, text)])

    def _write_stating(self, kind: str, body: Mapping[str, Any], authority: Authority) -> None:
        """Write an entry with what stands behind it, which was found to hold.

        Raises:
            StateError: the block is none.
            TrustError: it is before a block that was stated earlier.
        """
        self._check_block(authority.block)
        stated: dict[str, Any] = {} if authority.block is None else {"block": authority.block}
        envelope, statement = authority.envelope, authority.statement
        if envelope is not None and statement is not None:
            stored = self.transaction.envelope(statement)
            whole = (
                envelope if stored is None else stored_envelope(stored, "store").joined(envelope)
            )
            self.transaction.put_envelope(statement, envelope_text(whole))
            stated |= {"statement": statement}
        self._write(kind, {**body, **stated})

    def _check_block(self, block: int | None) -> None:
        if block is None:
            return
        if not 0 <= block < NUMBER_LIMIT:
            raise StateError(f"found {block} for block, expected a whole number from 0, below 2^53")
        floor = self.transaction.stated_block()
        if floor is not None and block < floor:
            raise TrustError(
                f"found the block {block}, expected at least {floor}, which was stated earlier: "
                "blocks never go back",
                code="block-went-back",
            )

    def _check_signed(self, events: Sequence[StateEvent], rank: Rank) -> None:
        """Refuse claims that must be signed and are not.

        Raises:
            TrustError: some are.
        """
        if rank is Rank.SIGNED:
            batch = self.batch
            other = next((e for e in events if batch is None or not batch.holds(e)), None)
            if other is not None:
                raise TrustError(
                    f"found an event of {shown(other.validator)} about {shown(other.task_id)} that "
                    "is in no signed batch here, expected one that its validator lists",
                    code="unsigned" if batch is None else "not-in-batch",
                )
        elif self.in_force.root is not None:
            allowed = self.allowed
            if any(rank is not Rank.OWN or not allowed.is_own(event) for event in events):
                raise TrustError(
                    "found events that nobody has signed, expected signed ones, as this state has "
                    "a trust file: sign them with tallystick sign events",
                    code="unsigned",
                )

    def _claims(self) -> ClaimRegister:
        if self._register is None:
            self._register = ClaimRegister(self.transaction, self.in_force)
        return self._register

    def _quarantined(self, numbers: Sequence[int]) -> list[Claim]:
        """Return the claims in quarantine with some numbers, in their order.

        Raises:
            StateError: one of them is not there.
        """
        wanted = sorted(set(numbers))
        claims = sorted(self.transaction.claims.numbered(wanted), key=lambda claim: claim.seq)
        missing = [n for n in wanted if n not in {claim.seq for claim in claims}]
        if missing:
            raise StateError(
                f"found the number {missing[0]}, expected that of a claim in quarantine: "
                "tallystick quarantine list shows them"
            )
        return claims

    def _refuse_rival(self, rival: Claim, claims: Iterable[Claim]) -> None:
        number = next(e.seq for e in claims if e.event.identity == rival.event.identity)
        if rival.reason is None:
            raise StateError(
                f"found that {rival.seq} is recorded, which says something else than {number}, "
                f"expected nothing against it: what is recorded stays, so drop {number}"
            )
        raise StateError(
            f"found that {rival.seq} says something else than {number}, expected nothing against "
            f"it: drop {rival.seq} first, or drop {number}"
        )

    def _apply(self, settled: Settled) -> None:
        """Note what moved, and count the flags that came with it, or went."""
        flags = Counter[tuple[str, str]]()
        for _, event, _ in settled.recorded:
            if FLAG in event.events:
                flags[event.hotkey, event.validator] += event.events.count(FLAG)
        cleared: Mapping[str, int] | None = None
        for move in settled.moves:
            event, before, after = move.after.event, _status(move.before), _status(move.after)
            first, _ = self.moved.get(move.after.seq, (before, after))
            self.moved[move.after.seq] = first, after
            more = (after == RECORDED) - (before == RECORDED)
            if more and FLAG in event.events:
                if cleared is None:
                    cleared = self.transaction.claims.cleared()
                # a clearing clears what had come by then, recorded or not
                if move.after.seq > cleared.get(event.hotkey, 0):
                    flags[event.hotkey, event.validator] += more * event.events.count(FLAG)
        self.state = flag(self.state, self.rules, flags)

    def _chained(self, kind: str, body: str) -> Entry:
        entry = chained(self.hash, self.entries + 1, kind, body)
        self.entries, self.hash = entry.seq, entry.hash
        return entry

    def snapshot(self, epoch: int) -> Snapshot:
        """Return the snapshot of an epoch.

        Raises:
            StateError: the epoch has not begun.
        """
        begun = 0 <= epoch <= self.state.epoch
        snapshot = self.transaction.snapshot(epoch) if begun else None
        if snapshot is None:
            raise StateError(
                f"found the epoch {epoch}, expected 0 to {self.state.epoch}, the open one"
            )
        return snapshot

    def _follow(self, in_force: RulesInForce) -> None:
        """Go on under other rules to come."""
        self.in_force, self._register = in_force, None

    def _check_unnamed(self, line: str, epoch: int) -> None:
        """Refuse an epoch that claims name already, or a later one.

        Rules without epochs take records of any epoch, and have scored them.
        """
        if self.in_force.lines[line].at(epoch).rule_set.section(EPOCHS) is not None:
            return
        own = (e for e in self.transaction.claimed() if self.in_force.line_of(e.skill_type) == line)
        last = max(own, key=attrgetter("epoch"), default=None)
        point = self.transaction.pruned()
        pruned = -1 if point is None else point.named.get(line, -1)
        if pruned >= epoch and (last is None or pruned > last.epoch):
            raise StateError(
                f"found a pruned claim that names the epoch {pruned}, expected none of {epoch} or "
                f"later, as the rules before have scored it: choose one after {pruned}",
                code="epoch-named",
            )
        if last is not None and last.epoch >= epoch:
            is_left = last.epoch < LAST_EPOCH
            advice = f"choose one after {last.epoch}" if is_left else "no later one is left"
            raise StateError(
                f"found a claim of {shown(last.validator)} that names the epoch {last.epoch}, "
                f"expected none of {epoch} or later, as the rules before have scored it: {advice}",
                code="epoch-named",
            )

    def _streak(self, skill_type: str, hotkey: str, before: int, rounds: int) -> int:
        roles = self.transaction.roles(skill_type, hotkey, before, rounds)
        return auditor_streak(roles)


def _status(claim: Claim | None) -> str:
    return "" if claim is None else claim.reason or RECORDED
