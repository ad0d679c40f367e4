"""The entries of the log: a class for each kind, with what it says and what it does to a state.

Whoever decides something writes an entry with the decision. `apply` checks it, changes the state,
and returns the entry whole: with what follows from the state, such as the digest of a snapshot. A
replay applies the entries of a log once more, and each must come out as it stands there. An entry
that would change nothing is not written.

Entries that change the rules in force (`RulesEntry`) say so by `after`, which is all that is read
of the log as a state is opened.

Claims, flags and carried records are state events, of which `EventLog.record` takes many at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, Self

import attrs
import msgspec

from tallystick.errors import (
    DamagedError,
    NumberError,
    StateError,
    StoreError,
    TrustError,
)
from tallystick.json_values import json_value
from tallystick.plugins.registry import Plugins, installed_plugins
from tallystick.records.messages import shown
from tallystick.rules.compatibility import gone, is_major
from tallystick_state.adoption import LAST_EPOCH
from tallystick_state.argument_checks import checked_digest, checked_salt
from tallystick_state.attributes import closing_digest, of_body, to_body
from tallystick_state.authority import (
    Authority,
    authority_of,
    nothing_to_sign,
    root_of,
)
from tallystick_state.claims import DROPPED, AllowedValidators, Claim, Rank
from tallystick_state.epoch import next_epoch
from tallystick_state.event import COUNTED_IN, Number, StateEvent, events_digest
from tallystick_state.event_log import EntryBody, EventLog, Stating, TakeBatch
from tallystick_state.genesis import FORMAT, Carry
from tallystick_state.groups import auditor_streak, select_group
from tallystick_state.miners import as_of, clear, register, retire
from tallystick_state.model import Snapshot
from tallystick_state.pools import Pools, read_pools
from tallystick_state.rules import GENESIS
from tallystick_state.rules_in_force import RulesInForce, begun, load_rules
from tallystick_state.schedule import Decision, Schedule, Value
from tallystick_state.store.transaction import CARRIED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tallystick_state.chain import Entry
    from tallystick_state.rules import StateRules
    from tallystick_state.store.transaction import Transaction
    from tallystick_state.trust.policy import TrustRoot
    from tallystick_state.trust.statement import Statement

LATEST = "~"
"""Sorts after every written time."""


class Genesis(Stating, frozen=True, kw_only=True):
    """The first entry: what a state begins with.

    Attributes:
        format: of the state.
        rules: of each rule set its digest, reference and text.
        validator: the state's own; None where it names none.
        hears: whom it hears beside; None for all.
        trust: the trust file, its digest and text; None without.
        pools: see `Pools`; None without.
        network: the digest of the network file; None without.
        carry: what it moves over; None without.
    """

    kind = GENESIS
    format: int
    rules: list[dict[str, str]]
    validator: str | None = None
    hears: list[str] | None = None
    trust: dict[str, str] | None = None
    pools: dict[str, Any] | None = None
    network: str | None = None
    carry: dict[str, Any] | None = None

    @classmethod
    def of(cls, in_force: RulesInForce) -> Self:
        """Return the first entry of a state that begins under some rules."""
        root, pools, carry = in_force.root, in_force.pools.first, in_force.carry
        return cls(
            format=FORMAT,
            rules=[json_value(rules) for rules in in_force.at(0).lines],
            **json_value(in_force.named),
            trust=None if root is None else {"digest": root.digest, "text": root.text},
            pools=None if pools is None else json_value(pools),
            network=in_force.network,
            carry=None if carry is None else carry.body,
        )

    @classmethod
    def of_log(cls, transaction: Transaction, where: str) -> Self:
        """Return the body of the entry that begins the log of a store; see `read`."""
        return cls.read(transaction.first_entry(), where)

    @classmethod
    def read(cls, entry: Entry | None, where: str) -> Self:
        """Return the body of the entry that begins a log.

        Args:
            entry: the first one, if the log has one.
            where: the store or the file, for errors.

        Raises:
            DamagedError: the log begins with something else.
            StoreError: the state is of another format.
        """
        if entry is None or entry.kind != GENESIS:
            kind = "nothing" if entry is None else entry.kind
            raise DamagedError(
                f"{where}: found a log that begins with {kind}, expected {GENESIS}: restore a copy"
            )
        try:
            found = _FORMAT.decode(entry.body).format
            if found != FORMAT:
                raise StoreError(
                    f"{where}: found a state of the format {found}, expected {FORMAT}: use the "
                    "tallystick that made it, or begin anew with tallystick state init"
                )
            return msgspec.json.decode(entry.body, type=cls)
        except msgspec.MsgspecError as error:
            raise DamagedError(
                f"{where}: found a first entry that cannot be read ({error}), expected what "
                "tallystick wrote: restore a copy"
            ) from error

    def apply(self, *_: object) -> Self:
        """Begin the state, under rules that the log has."""
        return self

    def in_force(
        self, transaction: Transaction, where: str, plugins: Plugins | None = None
    ) -> RulesInForce:
        """Return the rules after every entry of a log that changes them, each as it must be signed.

        Args:
            transaction: on the store of the log, whose first entry this is or will be.
            where: the store or the file, for errors.
            plugins: what the rule sets are loaded with; by default the installed ones.

        Raises:
            DamagedError: an entry is none, or the plugins give a rule set another meaning.
            StoreError: a rule set does not load with this version and the plugins.
            TrustError: what is carried must be signed, and is not as it must.
        """
        loading = plugins or installed_plugins()
        root, trust = None, self.trust
        try:
            if trust is not None:
                root = root_of(trust["digest"], trust["text"], where)
            rules = [load_rules(rule_set, where, loading) for rule_set in self.rules]
            in_force = begun(rules, loading, root)
            pools = read_pools(self.pools, in_force.schedules)
            carry = None if self.carry is None else Carry.of_body(self.carry)
            network = None if self.network is None else checked_digest(self.network)
        except (StateError, NumberError, KeyError, TypeError, ValueError, AttributeError) as error:
            raise DamagedError(
                f"{where}: found a first entry that cannot be ({error}), expected rules, pools and "
                "carried values of a state: restore a copy"
            ) from error
        in_force = attrs.evolve(
            in_force,
            pools=Schedule(pools),
            network=network,
            carry=carry,
            named=AllowedValidators(self.validator, frozenset(self.hears or ()) or None),
        )
        # a statement that does not hold is found as it is of any other entry
        check_carry(in_force, authority_of(msgspec.to_builtins(self), transaction))
        return _with_entries(in_force, transaction, where)


class _Format(msgspec.Struct):
    format: int


def check_carry(in_force: RulesInForce, authority: Authority) -> None:
    """Refuse to begin with carried values unless they are signed as an adoption is.

    Raises:
        TrustError: too few have signed, or something else; or nothing says who has to.
    """
    carry, root = in_force.carry, in_force.root
    if carry is None:
        return
    statement = None if root is None else root.carry_statement(carry.digest)
    in_force.authorised("carried values", statement, authority)


def begin(log: EventLog, records: Sequence[StateEvent], authority: Authority) -> None:
    """Write the first entry, with the carried records behind it, and keep the first snapshot.

    Args:
        log: of an empty store.
        records: those that the state moves over, in the order of their file.
        authority: what stands behind what is carried.

    Raises:
        StateError: the records are not those that the state carries over.
        TrustError: what is carried must be signed, and is not as it must.
    """
    in_force = log.in_force
    if in_force.carry is not None:
        in_force.carry.check(records)
    log.write(Genesis.of(in_force), authority)
    entries = [log.chained(CARRIED, record.to_line()) for record in records]
    log.transaction.append(entries)
    log.transaction.claims.put(
        Claim(entry.seq, record, Rank.IMPORTED, counted_in=COUNTED_IN)
        for entry, record in zip(entries, records, strict=True)
    )
    begun_with = in_force.genesis if in_force.begun_beside else None
    log.transaction.put_snapshot(Snapshot(log.state, log.rules.digest, genesis=begun_with))


class Register(EntryBody, frozen=True, kw_only=True):
    """The registration of a miner in a slot; see `miners.register`.

    Attributes:
        hotkey: of the miner.
        uid: the slot.
        types: the skill types that it declares.
        block: of its registration on the chain; None where it is not known.
    """

    kind = "miner"
    hotkey: str
    uid: Number
    types: list[str]
    block: Number | None = None

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Register the miner."""
        after = register(log.state, log.rules, self.hotkey, self.uid, self.types, self.block)
        if after == log.state:
            return None
        log.state = after
        return msgspec.structs.replace(self, types=[*after.miners[self.hotkey].types])


class Retire(EntryBody, frozen=True, kw_only=True):
    """The end of the slot of a miner that has left the subnet."""

    kind = "retire"
    hotkey: str

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Take the slot, if the miner has one."""
        before, log.state = log.state, retire(log.state, self.hotkey)
        return None if log.state == before else self


class Clear(EntryBody, frozen=True, kw_only=True):
    """The clearing of a miner's collusion flags."""

    kind = "clear"
    hotkey: str
    at: str | None

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Clear the flags, if there are any."""
        before, log.state = log.state, clear(log.state, self.hotkey)
        return None if log.state == before else self


class Accept(EntryBody, frozen=True, kw_only=True):
    """The operator's decision for claims in quarantine, by their numbers."""

    kind = "accept"
    at: str | None
    claims: list[Number]

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Record the claims, against which nothing may stand."""
        claims = _quarantined(log, self.claims)
        identities = [claim.event.identity for claim in claims]
        for rival in log.transaction.claims.of(identities):
            if rival.reason != DROPPED and rival.seq not in self.claims:
                _refuse_rival(rival, claims)
        if len(set(identities)) < len(identities):
            raise StateError(
                "found two claims about the same, expected one: choose one, and drop the other"
            )
        if not claims:
            return None
        log.settle(log.register.accept(claims, log.state.epoch))
        left = [claim.seq for claim in log.transaction.claims.numbered(self.claims)]
        if left:
            raise StateError(
                f"found that the claim {left[0]} stays in quarantine, expected "
                "room for it within the limits of the rule set: accept fewer"
            )
        return msgspec.structs.replace(self, claims=[claim.seq for claim in claims])


class Drop(EntryBody, frozen=True, kw_only=True):
    """The operator's decision against claims in quarantine; the same again stays out."""

    kind = "drop"
    at: str | None
    claims: list[Number]

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Leave the claims out that were not dropped before."""
        claims = [claim for claim in _quarantined(log, self.claims) if claim.reason != DROPPED]
        if not claims:
            return None
        log.settle(log.register.drop(claims, log.state.epoch))
        return msgspec.structs.replace(self, claims=[claim.seq for claim in claims])


class CloseRound(EntryBody, frozen=True, kw_only=True):
    """The closing of a round; once more is written at an earlier time alone."""

    kind = "round"
    at: str | None
    round: Number

    def apply(self, log: EventLog, _: Authority) -> Self | None:
        """Close the round."""
        times = log.transaction.rounds()
        is_new = self.round not in times
        is_earlier = self.at is not None and self.at < (times.get(self.round) or LATEST)
        return self if is_new or is_earlier else None


class CloseEpoch(EntryBody, frozen=True, kw_only=True):
    """The closing of the open epoch.

    Attributes:
        at: when.
        salt: of the leaf of the epoch, in hexadecimal digits; None without.
        attributes: by line, what the rules ask of rounds and of miners beside the records.
        epoch: its number.
        snapshot: the digest of the snapshot of the next epoch.
    """

    kind = "epoch"
    at: str | None
    salt: str | None = None
    attributes: dict[str, Any] = {}  # noqa: RUF012  # msgspec copies it
    epoch: Number
    snapshot: str

    @classmethod
    def of(
        cls, at: str | None, salt: str | None = None, attributes: Mapping[str, Any] | None = None
    ) -> Self:
        """Return the decision to close the epoch, with attributes as `RoundFiles`."""
        body = to_body(attributes) if attributes else {}
        return cls(at=at, salt=salt, attributes=body, epoch=0, snapshot="")

    def apply(self, log: EventLog, _: Authority) -> Self:
        """Close the epoch, and keep the snapshot of the next."""
        salt = None if self.salt is None else checked_salt(self.salt)
        attributes = of_body(self.attributes, log.rules.lines)
        epoch = log.state.epoch
        before = log.snapshot(epoch)
        log.flag_colluders()
        counted = log.transaction.counting(epoch, log.entries, log.hash)
        events = [event for _, event in counted]
        digest = closing_digest(events_digest(line for line, _ in counted), self.attributes)
        log.state = next_epoch(log.state, events, log.in_force, log.transaction, attributes)
        snapshot = Snapshot(log.state, log.rules.digest, before.digest, digest)
        log.transaction.put_snapshot(snapshot)
        return msgspec.structs.replace(self, salt=salt, epoch=epoch, snapshot=snapshot.digest)


class SelectGroup(EntryBody, frozen=True, kw_only=True):
    """The group of a dispatch, selected from the snapshot of an epoch."""

    kind = "group"
    skill_type: str
    round: Number
    seed: str
    epoch: Number
    auditors: list[str] = []  # noqa: RUF012  # msgspec copies it
    primaries: list[str] = []  # noqa: RUF012  # as above

    def apply(self, log: EventLog, _: Authority) -> Self:
        """Select the group."""
        snapshot = log.snapshot(self.epoch)
        rules = log.in_force.at(self.epoch).of_type(self.skill_type)
        rotation = rules.groups.rotation
        point = log.transaction.pruned()
        if point is not None and rotation.enabled:
            point.check_round(self.round)
        limit = rotation.auditor_rounds
        group = select_group(
            as_of(log.state, snapshot.state, rules, self.skill_type),
            self.skill_type,
            rules,
            round=self.round,
            seed=self.seed,
            auditor_streaks={
                hotkey: auditor_streak(
                    log.transaction.roles(self.skill_type, hotkey, self.round, limit)
                )
                for hotkey in (log.state.miners if rotation.enabled else ())
            },
        )
        return msgspec.structs.replace(
            self, auditors=[*group.auditors], primaries=[*group.primaries]
        )


class RulesEntry(Stating, frozen=True, kw_only=True):
    """An entry that changes the rules in force, the trust file or the pools."""

    def checked(self, in_force: RulesInForce, open_epoch: int) -> Self:
        """Return the entry as it is written, which the state is found to allow.

        Raises:
            StateError: the state does not allow it.
        """
        raise NotImplementedError

    def check_claims(self, log: EventLog) -> None:
        """Refuse an entry against which claims of the log stand.

        Raises:
            StateError: some do.
        """

    def apply(self, log: EventLog, authority: Authority) -> Self:
        """Change the rules in force."""
        whole = self.checked(log.in_force, log.state.epoch)
        whole.check_claims(log)
        log.follow(whole.after(log.in_force, log.entries + 1, authority))
        return whole

    def after(self, in_force: RulesInForce, seq: int, authority: Authority) -> RulesInForce:
        """Return the rules in force after the entry, which is found to follow from those before.

        Args:
            in_force: the rules before.
            seq: the number of the entry.
            authority: what stands behind it.

        Raises:
            KeyError: it names a line, or holds a rule set, that is none.
            StateError: the state does not allow it.
            StoreError: a rule set does not load.
            TrustError: it must be signed, and is not as it must.
            ValueError: it is not the next change.
        """
        raise NotImplementedError


class Rotate(RulesEntry, frozen=True, kw_only=True):
    """A trust file that comes into force, at once."""

    kind = "trust"
    digest: str
    text: str
    version: int

    @classmethod
    def of(cls, root: TrustRoot) -> Self:
        """Return the decision to put a trust file in force."""
        return cls(digest=root.digest, text=root.text, version=root.version)

    def checked(self, in_force: RulesInForce, open_epoch: int) -> Self:  # noqa: ARG002  # of all
        """Return the entry with the version of its trust file, which its signers answer for."""
        root = root_of(self.digest, self.text, "the log")
        return msgspec.structs.replace(self, version=root.version)

    def after(self, in_force: RulesInForce, seq: int, authority: Authority) -> RulesInForce:
        """Return the same rules under the trust file.

        Raises:
            TrustError: it cannot follow the one in force, has expired, or too few have signed it:
                the groups ``root`` of both, or nobody where it is the first one.
        """
        root, old = root_of(self.digest, self.text, "the log"), in_force.root
        if old is None:
            authority.check_unsigned("a first trust file")
            root.check_block(authority.block)
        else:
            envelope, held = authority.signed("a trust file"), {r.digest for r in in_force.roots}
            old.authorise_successor(root, envelope, authority.block, held=held)
        return attrs.evolve(in_force, rotations=(*in_force.rotations, root), seq=seq)


class Scheduled(RulesEntry, frozen=True, kw_only=True):
    """An entry that changes what holds from an epoch on that has not begun.

    Attributes:
        epoch: the first one with the change.
        sequence: its number among the changes of its kind, from 1.
    """

    what: ClassVar[Literal["rules", "pools"]]
    epoch: Number
    sequence: Number

    def signed(self, in_force: RulesInForce) -> tuple[str, str, dict[str, Any]]:
        """Return name and digest of the subject that is signed, and what is said of it alone."""
        raise NotImplementedError

    def to_statement(self, in_force: RulesInForce) -> Statement | None:
        """Return what is signed of an entry that was checked; None without a trust file."""
        if in_force.root is None:
            return None
        # where something is signed
        from tallystick_state.trust.statement import ADOPTION, POOLS, Subject

        name, digest, members = self.signed(in_force)
        return in_force.root.statement(
            POOLS if self.what == "pools" else ADOPTION,
            Subject.of(name, digest),
            genesis=in_force.genesis,
            **members,
            epoch=self.epoch,
            sequence=self.sequence,
        )

    def to_sign(
        self, in_force: RulesInForce, open_epoch: int, expires_at_block: int | None
    ) -> Statement:
        """Return the statement that has to be signed so that a state takes the entry.

        Args:
            in_force: the rules of the state.
            open_epoch: the open one.
            expires_at_block: the first block at which it no longer holds; None for never.

        Raises:
            StateError: the state would not take it, or has no trust file.
        """
        statement = self.checked(in_force, open_epoch).to_statement(in_force)
        if statement is None:
            raise nothing_to_sign()
        if expires_at_block is None:
            return statement
        predicate = {**statement.predicate, "expires_at_block": expires_at_block}
        return attrs.evolve(statement, predicate=predicate)

    def check_epoch(self, open_epoch: int) -> None:
        """Refuse an epoch that has begun, or that no record can name.

        Raises:
            StateError: it is one.
        """
        if self.epoch <= open_epoch:
            _refuse(
                "epoch-begun",
                f"found the epoch {self.epoch}, expected one after {open_epoch}, which is open: "
                f"{self.what} begin with an epoch, whole",
            )
        if self.epoch > LAST_EPOCH:
            raise StateError(f"found the epoch {self.epoch}, expected at most {LAST_EPOCH}")

    def decision(
        self,
        in_force: RulesInForce,
        value: Value,
        authority: Authority,
        **more: Any,  # noqa: ANN401  # other attributes
    ) -> Decision[Value]:
        """Return what the entry decides, which has to be signed as the trust file asks."""
        return Decision(
            epoch=self.epoch,
            value=value,
            sequence=self.sequence,
            block=authority.block,
            statement=authority.statement,
            signed_by=in_force.authorised(self.what, self.to_statement(in_force), authority),
            **more,
        )


class Adopt(Scheduled, frozen=True, kw_only=True):
    """The adoption of a rule set by its line, for an epoch that has not begun.

    Attributes:
        line: of the rule set, whose adoptions and withdrawals have one sequence.
        previous: the digest of the rule set before it.
        rule_set: its digest, reference and text.
        major: whether it may take away what others name.
        gate_receipt: that it passes the policy that the trust file names; None without.
    """

    kind, what = "rules", "rules"
    line: str
    previous: str
    rule_set: dict[str, str]
    major: bool = False
    gate_receipt: dict[str, Any] | None = None

    @classmethod
    def of(cls, rules: StateRules, epoch: int, *, major: bool = False) -> Self:
        """Return the decision to adopt a rule set."""
        text = json_value(rules)
        return cls(
            epoch=epoch, line=rules.line, previous="", rule_set=text, sequence=0, major=major
        )

    def check_claims(self, log: EventLog) -> None:
        """Refuse an epoch that claims name already."""
        log.check_unnamed(self.line, self.epoch)

    def stated_by(self, authority: Authority) -> Self:
        """Return the same entry with what stands behind it."""
        receipt = authority.gate_receipt
        value = None if receipt is None else json_value(receipt)
        return msgspec.structs.replace(super().stated_by(authority), gate_receipt=value)

    def checked(self, in_force: RulesInForce, open_epoch: int) -> Self:
        """Return the adoption with what it replaces."""
        rules = load_rules(self.rule_set, "the log", in_force.plugins)
        schedule = _schedule_of(in_force, rules.line, "rules of the line")
        self.check_epoch(open_epoch)
        before = schedule.at(self.epoch)
        if schedule.decisions and self.epoch <= schedule.last:
            _refuse(
                "epoch-order",
                f"found the epoch {self.epoch}, expected one after {schedule.last}, from which "
                f"{schedule.at(schedule.last).rule_set.reference} holds: choose a later one, or "
                "withdraw that first",
            )
        self._check_change(before, rules)
        in_force.check_beside(rules)
        return msgspec.structs.replace(
            self, line=rules.line, previous=before.digest, sequence=schedule.sequence + 1
        )

    def _check_change(self, old: StateRules, new: StateRules) -> None:
        before, after = old.rule_set, new.rule_set
        if old.digest == new.digest:
            _refuse(
                "same-rules",
                f"found {after.reference} {new.digest}, expected other rules than the line has by "
                "then",
            )
        if is_major(before, after) and not self.major:
            lost = gone(before, after)
            what = f"without {', '.join(lost)}" if lost else "as a new major version"
            _refuse(
                "major-change",
                f"found {after.reference} {what}, expected what {before.reference} has: say "
                "--major if that is meant",
            )

    def signed(self, in_force: RulesInForce) -> tuple[str, str, dict[str, Any]]:  # noqa: ARG002  # of all
        """Return what is signed of it."""
        return _of_adoption("adopt", self.line, self.previous, self.rule_set, major=self.major)

    def after(self, in_force: RulesInForce, seq: int, authority: Authority) -> RulesInForce:
        """Return the rules with the rule set from its epoch on."""
        schedule = in_force.schedules[self.line]
        rules = load_rules(self.rule_set, "the log", in_force.plugins)
        # before it as the log itself has it, as a forged entry may say anything
        authority.check_gate(in_force.root, schedule.at(self.epoch).digest, rules.digest)
        decision = self.decision(
            in_force,
            rules,
            authority,
            previous=self.previous,
            major=self.major,
            gate_receipt=authority.gate_receipt,
        )
        return in_force.with_schedule(self.line, schedule.decided(decision), seq)


class Withdraw(Scheduled, frozen=True, kw_only=True):
    """The withdrawal of the last adoption of a line, which has not begun.

    Attributes:
        line: which; as a decision empty for the only one.
        rule_set: the digest of its rule set.
    """

    kind, what = "withdraw", "rules"
    line: str
    rule_set: str

    @classmethod
    def of(cls, line: str | None) -> Self:
        """Return the decision to withdraw the last adoption of a line, or of the only one."""
        return cls(line=line or "", epoch=0, rule_set="", sequence=0)

    def checked(self, in_force: RulesInForce, open_epoch: int) -> Self:
        """Return the withdrawal with what it takes back."""
        line = self.line or in_force.at(open_epoch).only().line
        schedule = _schedule_of(in_force, line, "the line")
        if not schedule.decisions:
            _refuse("not-scheduled", f"found no adoption of {line}, expected one that is scheduled")
        last = schedule.decisions[-1]
        if last.epoch <= open_epoch:
            _refuse(
                "not-scheduled",
                f"found that {last.value.rule_set.reference} holds since epoch {last.epoch}, "
                "expected an adoption that has not begun: adopt the rules before it again instead",
            )
        return msgspec.structs.replace(
            self,
            line=line,
            epoch=last.epoch,
            rule_set=last.value.digest,
            sequence=schedule.sequence + 1,
        )

    def signed(self, in_force: RulesInForce) -> tuple[str, str, dict[str, Any]]:
        """Return what is signed of it: what was of the adoption, with the other action."""
        last = in_force.schedules[self.line].decisions[-1]
        return _of_adoption("withdraw", self.line, last.previous, json_value(last.value))

    def after(self, in_force: RulesInForce, seq: int, authority: Authority) -> RulesInForce:
        """Return the rules without the adoption."""
        schedule = in_force.schedules[self.line].withdrawn(self.sequence)
        in_force.authorised(self.what, self.to_statement(in_force), authority)
        return in_force.with_schedule(self.line, schedule, seq)


class Share(Scheduled, frozen=True, kw_only=True):
    """Pools of the lines from an epoch on that has not begun.

    They replace what was scheduled for that epoch or a later one.

    Attributes:
        pools: see `Pools`.
        previous: the digest of the pools of the epoch before; None where it has none.
    """

    kind, what = "pools", "pools"
    pools: dict[str, Any]
    previous: str | None

    @classmethod
    def of(cls, pools: Pools, epoch: int) -> Self:
        """Return the decision to have other pools."""
        return cls(epoch=epoch, pools=json_value(pools), previous=None, sequence=0)

    def checked(self, in_force: RulesInForce, open_epoch: int) -> Self:
        """Return the change, which is one of the lines of the state, with what it replaces."""
        pools, schedule = self._pools(in_force), in_force.pools
        self.check_epoch(open_epoch)
        if schedule.last < self.epoch and schedule.at(self.epoch) == pools:
            _refuse("same-pools", "found the pools that the state has by then, expected others")
        previous = schedule.before(self.epoch).digest_at(self.epoch)
        return msgspec.structs.replace(self, previous=previous, sequence=schedule.sequence + 1)

    def signed(self, in_force: RulesInForce) -> tuple[str, str, dict[str, Any]]:
        """Return what is signed of it."""
        digest = self._pools(in_force).digest
        return "pools", digest, {"previous": self.previous, "pools": self.pools}

    def after(self, in_force: RulesInForce, seq: int, authority: Authority) -> RulesInForce:
        """Return the rules with the pools from their epoch on."""
        pools = self._pools(in_force)
        decision = self.decision(in_force, pools, authority, previous=self.previous)
        shared = in_force.pools.before(self.epoch).decided(decision)
        return attrs.evolve(in_force, pools=shared, seq=seq)

    def _pools(self, in_force: RulesInForce) -> Pools:
        try:
            pools = read_pools(self.pools, in_force.schedules)
        except (KeyError, TypeError, AttributeError):
            pools = None
        if pools is None:
            raise StateError("found pools that are none, expected shares of the lines")
        return pools


def _of_adoption(
    action: str,
    line: str,
    previous: str | None,
    rule_set: Mapping[str, str],
    *,
    major: bool = False,
) -> tuple[str, str, dict[str, Any]]:
    """Return what is signed of an adoption, or of its withdrawal; see `Scheduled.signed`."""
    digest = rule_set["digest"]
    members = {"action": action, "line": line, "previous": previous, "rule_set": digest}
    return rule_set["reference"], digest, {**members, "major": major}


KINDS: Mapping[str, type[EntryBody]] = MappingProxyType(
    {
        body.kind: body
        for body in (
            *(Register, Retire, Clear, Accept, Drop, CloseRound, CloseEpoch, SelectGroup),
            *(TakeBatch, Rotate, Adopt, Withdraw, Share),
        )
    }
)
"""The class of each kind of entry that stands alone; claims are state events."""
# made at import: msgspec crashes where two threads meet a type for the first time
_FORMAT = msgspec.json.Decoder(_Format)
_DECODERS = {kind: msgspec.json.Decoder(body) for kind, body in KINDS.items()}


def body_of(entry: Entry) -> EntryBody:
    """Return the body of an entry that stands alone.

    Raises:
        StateError: the kind is unknown.
        ValidationError: an entry that somebody forged may hold anything.
    """
    if entry.kind not in _DECODERS:
        raise StateError(f"found the entry kind {entry.kind!r}, expected one that is known")
    return _DECODERS[entry.kind].decode(entry.body)


def _with_entries(in_force: RulesInForce, transaction: Transaction, where: str) -> RulesInForce:
    """Return the rules after the entries of a log, each as the trust file before it allows."""
    for entry in transaction.rules_entries():
        try:
            body = body_of(entry)
            if isinstance(body, RulesEntry):
                authority = authority_of(msgspec.to_builtins(body), transaction)
                in_force = body.after(in_force, entry.seq, authority)
        except TrustError as error:
            raise DamagedError(
                f"{where}: the entry {entry.seq} ({entry.kind}) does not hold: {error.code}: "
                f"{error}: the store was changed, restore a copy"
            ) from error
        except StoreError as error:
            raise type(error)(f"{where}: {error}") from error
        except (ValueError, KeyError, TypeError, IndexError, StateError):
            raise DamagedError(
                f"{where}: found the entry {entry.seq} ({entry.kind}) {entry.body:.80}, expected "
                "rules that a line adopts or withdraws: restore a copy"
            ) from None
    return in_force


def _schedule_of(in_force: RulesInForce, line: str, what: str) -> Schedule[StateRules]:
    schedule = in_force.schedules.get(line)
    if schedule is None:
        lines = ", ".join(in_force.schedules)
        _refuse("other-line", f"found {what} {shown(line)}, expected one of {lines}")
    return schedule


def _refuse(code: str, message: str) -> NoReturn:
    raise StateError(message, code=code)


def _quarantined(log: EventLog, numbers: Sequence[int]) -> list[Claim]:
    """Return the claims in quarantine with some numbers, in their order.

    Raises:
        StateError: one of them is not there.
    """
    wanted = sorted(set(numbers))
    claims = sorted(log.transaction.claims.numbered(wanted), key=lambda claim: claim.seq)
    missing = [n for n in wanted if n not in {claim.seq for claim in claims}]
    if missing:
        raise StateError(
            f"found the number {missing[0]}, expected that of a claim in quarantine: "
            "tallystick quarantine list shows them"
        )
    return claims


def _refuse_rival(rival: Claim, claims: Iterable[Claim]) -> None:
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
