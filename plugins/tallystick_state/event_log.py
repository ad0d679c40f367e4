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
from itertools import chain
from operator import itemgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

import attrs
import msgspec

from tallystick.canonical import CanonicalError, canonical_bytes
from tallystick.errors import StateError, TrustError
from tallystick.records.messages import shown
from tallystick_state.adoption import LAST_EPOCH
from tallystick_state.authority import OPERATOR, Authority
from tallystick_state.chain import GENESIS_HASH, Entry, chained
from tallystick_state.claim_register import ClaimRegister, Move, Sifted
from tallystick_state.claims import AllowedValidators, Claim, Rank
from tallystick_state.collusion import collusion_flags
from tallystick_state.event import NUMBER_LIMIT, Number, StateEvent
from tallystick_state.miners import FLAG, flag
from tallystick_state.model import Snapshot
from tallystick_state.rules import EpochRules
from tallystick_state.rules_in_force import RulesInForce
from tallystick_state.sections.epochs import EPOCHS
from tallystick_state.store.transaction import LogHead, Transaction

if TYPE_CHECKING:
    from tallystick_state.authority import Batch

RANKS: Mapping[str, Rank] = MappingProxyType(
    {"signal": Rank.IMPORTED, "signed": Rank.SIGNED, "own": Rank.OWN}
)
"""Kinds of the entries that are claims, with the rank of each.

The first is the word that every log has for them, which hashes cover.
"""
_KINDS = {rank: kind for kind, rank in RANKS.items()}
RECORDED = "recorded"
"""Status of a claim that is not in quarantine."""


class EntryBody(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The body of an entry; its JSON object leaves out what is as by default."""

    kind: ClassVar[str]

    def apply(self, log: EventLog, authority: Authority) -> Self | None:
        """Check the entry, and do to the state of a log what it says.

        Args:
            log: which writes the entry next.
            authority: what stands behind it.

        Returns:
            The entry as it is written; None where it changes nothing.

        Raises:
            StateError: the state does not allow it.
            TrustError: it must be signed, and is not as it must.
        """
        raise NotImplementedError


class Stating(EntryBody, frozen=True, kw_only=True):
    """An entry that may state a block, and name the signed statement behind it.

    Attributes:
        block: None where none is stated.
        statement: the digest of the statement; None where the operator decided.
    """

    block: Number | None = None
    statement: str | None = None

    def stated_by(self, authority: Authority) -> Self:
        """Return the same entry with what stands behind it."""
        stated = {"block": authority.block, "statement": authority.statement}
        return msgspec.structs.replace(self, **stated)


class TakeBatch(Stating, frozen=True, kw_only=True):
    """The signed batch that the claims behind it come with."""

    kind = "batch"
    events: Number
    validator: str

    def apply(self, log: EventLog, authority: Authority) -> Self:
        """Take the batch, whose signature is looked at once."""
        batch = log.batch
        if batch is None or batch.authority != authority:
            batch = log.begin_batch(authority)
        log.has_batch_entry = True
        return msgspec.structs.replace(self, events=len(batch.events), validator=batch.validator)


_Body = TypeVar("_Body", bound=EntryBody)


class EventLog:
    """Writes changes of one state within one transaction; `finish` ends it.

    Attributes:
        transaction: what it writes to.
        state: the live state after everything that was written so far.
        in_force: its rules, epoch by epoch, and whose signatures count.
        entries: how many entries the log has.
        hash: of the last entry.
        block: the greatest one that was stated; None without any.
        batch: the signed batch that claims come with; None before one begins.
        moved: of claims that were moved, what each was before this transaction, empty if it was
            not there, and what it is: recorded, or why it is not.
    """

    def __init__(
        self,
        transaction: Transaction,
        in_force: RulesInForce,
    ) -> None:
        """Go on after the last entry of the store."""
        self.in_force, self.transaction = in_force, transaction
        head = transaction.head() or LogHead(0, GENESIS_HASH, self.in_force.first_state)
        self.batch: Batch | None = None
        self.has_batch_entry = False
        self.moved: dict[int, tuple[str, str]] = {}
        self._register: ClaimRegister | None = None
        self.state, self.entries, self.hash = head.state, head.entries, head.hash
        self.block = head.block
        transaction.check_end(self.entries, self.hash)

    @property
    def rules(self) -> EpochRules:
        """The rules of the open epoch."""
        return self.in_force.at(self.state.epoch)

    @property
    def allowed(self) -> AllowedValidators:
        """The allowed validators."""
        return self.in_force.allowed

    def record(self, events: Iterable[StateEvent], rank: Rank = Rank.IMPORTED) -> Sifted:
        """Take claims of events that the state admits, and decide which are recorded.

        Args:
            events: of validators that are heard.
            rank: with which they come.

        Raises:
            TrustError: they must be signed, and are not.
        """
        batch, register, epoch = [*events], self.register, self.state.epoch
        self._check_signed(batch, rank)
        sifted = register.sift(batch, rank, epoch)
        entries, claims, kind = list[Entry](), list[Claim](), _KINDS[rank]
        if sifted.entries and rank is Rank.SIGNED:
            self.write_batch()
        for index, before in sifted.entries.items():
            event = batch[index]
            entry = self.chained(kind, event.to_line())
            entries.append(entry)
            if before is None:
                claims.append(Claim(entry.seq, event, rank, counted_in=epoch))
            else:
                claims.append(attrs.evolve(before, rank=rank, reason=None))
        self.transaction.append(entries)
        self.transaction.remember([(claim.seq, claim.event) for claim in claims])
        self.settle(register.settle(claims, epoch))
        numbers = dict(zip(sifted.entries, (claim.seq for claim in claims), strict=True))
        return attrs.evolve(sifted, numbers=numbers)

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
        self.has_batch_entry = False
        return self.batch

    def write_batch(self) -> None:
        """Write the entry of the signed batch, once."""
        if self.batch is not None and not self.has_batch_entry:
            self.write(TakeBatch(events=0, validator=""), self.batch.authority)

    def flag_colluders(self) -> None:
        """Write the flags that follow from the alignments of the open epoch."""
        epoch, flags = self.state.epoch, Counter[tuple[str, str]]()
        rules_of = partial(self.in_force.of_type, epoch=epoch)
        for event in collusion_flags(epoch, rules_of, self.transaction):
            entry = self.chained("flag", event.to_line())
            self.transaction.append([entry])
            self.transaction.claims.put([Claim(entry.seq, event, Rank.OWN, counted_in=epoch)])
            flags[event.hotkey, event.validator] += 1
        self.state = flag(self.state, self.rules.quorum, flags)

    def write(self, entry: _Body, authority: Authority = OPERATOR) -> _Body | None:
        """Do what an entry says, and write it with what follows from it and stands behind it.

        Returns:
            The entry as it is written; None where it would change nothing.

        Raises:
            StateError: the state does not allow it, or a value has no canonical form.
            TrustError: it must be signed, and is not as it must; or it states a block before one
                that was stated earlier.
        """
        self._check_block(authority.block)
        whole = entry.apply(self, authority)
        if whole is None:
            return None
        if isinstance(whole, Stating):
            whole = whole.stated_by(authority)
            self.block = self.block if whole.block is None else whole.block
            if authority.envelope is not None:
                self.transaction.put_envelope(authority.envelope)
        try:
            text = canonical_bytes(msgspec.to_builtins(whole)).decode()
        except CanonicalError as error:
            raise StateError(
                f"found a value that has no canonical form ({error}), expected Unicode text and "
                "whole numbers below 2^53"
            ) from None
        self.transaction.append([self.chained(whole.kind, text)])
        return whole

    @property
    def head(self) -> LogHead:
        """The end of the log after everything that was written so far."""
        return LogHead(self.entries, self.hash, self.state, self.block)

    def finish(self) -> None:
        """Put the live state where others find it."""
        self.transaction.put_head(self.head)

    def _check_block(self, block: int | None) -> None:
        if block is None:
            return
        if not 0 <= block < NUMBER_LIMIT:
            raise StateError(f"found {block} for block, expected a whole number from 0, below 2^53")
        if self.block is not None and block < self.block:
            raise TrustError(
                f"found the block {block}, expected at least {self.block}, stated earlier: "
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

    @property
    def register(self) -> ClaimRegister:
        """The claims of the state."""
        if self._register is None:
            self._register = ClaimRegister(self.transaction, self.in_force)
        return self._register

    def settle(self, moves: Iterable[Move]) -> None:
        """Note what moved, and count the flags that came with it, or went."""
        flags = Counter[tuple[str, str]]()
        cleared: Mapping[str, int] | None = None
        for move in moves:
            event, before, after = move.after.event, _status(move.before), _status(move.after)
            if before or after != RECORDED:
                first, _ = self.moved.get(move.after.seq, (before, after))
                self.moved[move.after.seq] = first, after
            more = (after == RECORDED) - (before == RECORDED)
            if more and FLAG in event.events:
                if cleared is None:
                    cleared = self.transaction.claims.cleared()
                # a clearing clears what had come by then, recorded or not
                if move.after.seq > cleared.get(event.hotkey, 0):
                    flags[event.hotkey, event.validator] += more * event.events.count(FLAG)
        self.state = flag(self.state, self.rules.quorum, flags)

    def chained(self, kind: str, body: str) -> Entry:
        """Return the entry after the last one, which it is from now on."""
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

    def follow(self, in_force: RulesInForce) -> None:
        """Go on under other rules to come, or another trust file."""
        if in_force.root != self.in_force.root:
            # whose batch it was may not be heard any more
            self.batch = None
        self.in_force, self._register = in_force, None

    def check_unnamed(self, line: str, epoch: int) -> None:
        """Refuse an epoch that claims name already, or a later one.

        Rules without epochs take records of any epoch, and have scored them.
        """
        if self.in_force.lines[line].at(epoch).rule_set.section(EPOCHS) is not None:
            return
        own = (e for e in self.transaction.claimed() if self.in_force.line_of(e.skill_type) == line)
        named = ((event.epoch, event.validator) for event in own)
        point = self.transaction.pruned()
        pruned = () if point is None else ((point.named.get(line, -1), None),)
        last, validator = max(chain(named, pruned), key=itemgetter(0), default=(-1, None))
        if last >= epoch:
            whose = "a pruned claim" if validator is None else f"a claim of {shown(validator)}"
            is_left = last < LAST_EPOCH
            advice = f"choose one after {last}" if is_left else "no later one is left"
            raise StateError(
                f"found {whose} that names the epoch {last}, expected none of {epoch} or later, as "
                f"the rules before have scored it: {advice}",
                code="epoch-named",
            )


def _status(claim: Claim | None) -> str:
    return "" if claim is None else claim.reason or RECORDED
