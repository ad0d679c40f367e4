"""Rules in force: which rule set each line of a state follows in each epoch, and their pools.

A state begins under a rule set of each of its lines. An adoption, which is an entry of the log with
the whole rule set, replaces one from an epoch on; until that epoch begins it can be withdrawn. So
the log alone says which rules an epoch has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import attrs

from tallystick.canonical import digest
from tallystick.diagnostics import nearest
from tallystick.errors import StateError
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Plugins
from tallystick.records.messages import shown
from tallystick.rules.timeline import Timeline
from tallystick_state.authority import Authority
from tallystick_state.pools import NO_POOLS, Pools, PoolsChange, PoolsInForce
from tallystick_state.rules import StateRules
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.trust_in_force import OPERATORS, TrustInForce

if TYPE_CHECKING:
    from tallystick.scoring.threshold_snapshots import Thresholds
    from tallystick_state.trust.policy import TrustRoot
    from tallystick_state.trust.statement import Action, Statement

ADOPTION, WITHDRAWAL = "rules", "withdraw"
"""The kinds of the entries that change which rules are in force."""


class TypeRules(Protocol):
    """The rules of some skill types, of one line or of several."""

    @property
    def type_rules(self) -> Mapping[str, StateRules]:
        """By skill type, the rules of its line."""

    @property
    def quorum(self) -> int:
        """How many validators flags have to come from that eject a miner; the most of any line."""


@attrs.frozen(eq=False, slots=False)
class EpochRules:
    """The rules of every line in one epoch.

    Attributes:
        lines: of each line, in the order of their names.
    """

    lines: tuple[StateRules, ...]

    def __repr__(self) -> str:
        return f"<EpochRules of {' and '.join(each.rule_set.reference for each in self.lines)}>"

    @cached_property
    def type_rules(self) -> Mapping[str, StateRules]:
        """By skill type, the rules of its line."""
        return {name: rules for rules in self.lines for name in rules.rule_set.skill_types}

    @property
    def quorum(self) -> int:
        """How many validators flags have to come from that eject a miner; the most of any line."""
        return max(rules.quorum for rules in self.lines)

    @property
    def seeds(self) -> Mapping[str, Thresholds]:
        """By skill type, the thresholds that a state tracks, in nano, at the seed baselines."""
        return {name: seeds for rules in self.lines for name, seeds in rules.seeds.items()}

    @property
    def digest(self) -> str:
        """What a snapshot names: the digest of the only rule set, or that of all by their lines."""
        if len(self.lines) == 1:
            return self.lines[0].digest
        return digest({rules.line: rules.digest for rules in self.lines})

    def only(self) -> StateRules:
        """The rules of a state that has one line.

        Raises:
            StateError: it has several.
        """
        if len(self.lines) > 1:
            names = ", ".join(rules.line for rules in self.lines)
            raise StateError(f"found a state of the lines {names}, expected one line: name it")
        return self.lines[0]

    def watching(self) -> StateRules:
        """The rules that say over which hours dispatches count: those of the first line that do."""
        told = (each for each in self.lines if each.rule_set.section(REPUTATION) is not None)
        return next((r for r in told if r.reputation.visibility is not None), self.lines[0])

    def of_type(self, skill_type: str) -> StateRules:
        """The rules of the line that has a skill type.

        Raises:
            StateError: no line has it.
        """
        if skill_type not in self.type_rules:
            known = self.type_rules
            raise StateError(
                f"found the skill type {shown(skill_type)}, expected one of {', '.join(known)}"
                f"{nearest(skill_type, known)}"
            )
        return self.type_rules[skill_type]


@attrs.frozen
class Adoption:
    """A rule set that a line adopted, or will.

    Attributes:
        line: of the rule set.
        epoch: the first epoch under it.
        block: that its entry states; None where it states none.
        rules: the rule set.
        previous: the digest of the rule set before it.
        sequence: its number among the adoptions and withdrawals of its line, from 1.
        major: whether it may take away what others name.
        seq: the number of its entry.
        statement: the digest of the statement that was signed; None where the operator decided.
        signed_by: the names of those who signed it, as the trust file of then calls them.
    """

    line: str
    epoch: int
    block: int | None
    rules: StateRules = attrs.field(eq=False)
    previous: str
    sequence: int
    major: bool
    seq: int
    statement: str | None = None
    signed_by: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """What its entry says."""
        optional = {"block": self.block, "statement": self.statement, "major": self.major or None}
        return {
            "epoch": self.epoch,
            "line": self.line,
            "previous": self.previous,
            "rule_set": self.rules.to_dict(),
            "sequence": self.sequence,
            **{name: value for name, value in optional.items() if value is not None},
        }


@attrs.frozen(eq=False, slots=False)
class RulesInForce:
    """Which rules each line of a state has in each epoch.

    Attributes:
        lines: by name, in the order of names; most states have one.
        plugins: what the rule sets of later entries are loaded with.
        adoptions: those that hold or are scheduled, by line, in the order of epochs.
        sequences: by line, how many adoptions and withdrawals its log has; 0 is left out.
        trust: whose signatures count.
        pools: how the lines share the weight of the state, where they do.
        seq: the number of the newest entry that this was made of; 0 if only the first.
    """

    lines: Mapping[str, Timeline[StateRules]]
    plugins: Plugins
    adoptions: Mapping[str, tuple[Adoption, ...]] = attrs.field(factory=dict)
    sequences: Mapping[str, int] = attrs.field(factory=dict)
    trust: TrustInForce = OPERATORS
    pools: PoolsInForce = NO_POOLS
    seq: int = 0

    def __repr__(self) -> str:
        adopted = sum(map(len, self.adoptions.values()))
        return f"<RulesInForce of {' and '.join(self.lines)}, {numbered(adopted, 'adoption')}>"

    @classmethod
    def of(cls, rules: StateRules | RulesInForce) -> RulesInForce:
        """A rule set that holds in every epoch; rules in force as they are."""
        if isinstance(rules, RulesInForce):
            return rules
        return cls({rules.line: Timeline(rules)}, rules.registry)

    def at(self, epoch: int) -> EpochRules:
        """The rules of every line in an epoch."""
        return self._epochs.at(epoch)

    def of_type(self, skill_type: str, epoch: int) -> StateRules | None:
        """The rules of a skill type in an epoch; None where they have no such type then."""
        return self.at(epoch).type_rules.get(skill_type)

    def line_of(self, skill_type: str) -> str | None:
        """The line that has a skill type in some epoch; None where none ever has."""
        return self._line_of.get(skill_type)

    def types_apart(self, line: str) -> Sequence[str] | None:
        """The skill types that a line has in some epoch; None where all are of the only line."""
        if len(self.lines) == 1:
            return None
        return [name for name, owner in self._line_of.items() if owner == line]

    def rule_sets(self) -> Mapping[str, StateRules]:
        """Every rule set that is ever in force, by digest, each once, by line and epoch."""
        every = (rules for timeline in self.lines.values() for rules in timeline.values())
        return {rules.digest: rules for rules in every}

    def dropped_events(self, skill_type: str, epoch: int) -> frozenset[str]:
        """The events that some earlier rules of a type list, and those of an epoch no longer do."""
        line = self.line_of(skill_type)
        return frozenset() if line is None else self._dropped[line].at(epoch)

    @property
    def changes(self) -> bool:
        """Whether the rules of some line ever change."""
        return bool(self._epochs.later)

    @property
    def root(self) -> TrustRoot | None:
        """The trust file in force; None while the operator decides alone."""
        return self.trust.root

    @cached_property
    def genesis(self) -> str:
        """The digest of what the state began under, by which statements name it.

        No validator and nobody heard is in it, so that one statement is for all that began alike.
        """
        lines = {name: timeline.first.digest for name, timeline in self.lines.items()}
        first, pools = self.trust.first, self.pools.first
        shared = {} if pools is None else {"pools": pools.digest}
        trust = None if first is None else first.digest
        return digest({"format": 1, "lines": lines, "trust": trust, **shared})

    def digest_from(self, epoch: int) -> str:
        """Return the digest of the rules in force in an epoch, and of those scheduled after it.

        Pools are among them, where the lines share their weight. No state digest covers what is
        scheduled, so peers compare this one beside it.
        """
        lines = {name: _ahead(each, epoch) for name, each in self.lines.items()}
        pools = _ahead(self.pools.timeline, epoch)
        shared = {"pools": pools} if pools != _NO_POOLS_AHEAD else {}
        return digest({"format": 1, "lines": lines, **shared})

    def statement(self, action: Action, adoption: Adoption, sequence: int) -> Statement | None:
        """What has to be signed to adopt rules, or to withdraw them; None without a trust file.

        Args:
            action: ``adopt`` or ``withdraw``.
            adoption: what is adopted, or withdrawn.
            sequence: the number of its entry among those of its line.
        """
        if self.root is None:
            return None
        from tallystick_state.trust.statement import adoption as statement  # if signed

        return statement(
            action,
            genesis=self.genesis,
            network=self.root.network,
            line=adoption.line,
            previous=adoption.previous,
            rule_set=adoption.rules.digest,
            reference=adoption.rules.rule_set.reference,
            epoch=adoption.epoch,
            sequence=sequence,
            major=adoption.major and action == "adopt",
        )

    def check(
        self, action: Action, adoption: Adoption, sequence: int, authority: Authority
    ) -> tuple[str, ...]:
        """Refuse to adopt or withdraw rules unless it is signed as the trust file says.

        Returns:
            The names of those who signed; empty without a trust file.

        Raises:
            TrustError: too few have signed, or something else; or nothing says who has to.
        """
        return self._authorised(
            "rules", action, self.statement(action, adoption, sequence), authority
        )

    def _authorised(
        self, what: str, action: Action, statement: Statement | None, authority: Authority
    ) -> tuple[str, ...]:
        if self.root is None or statement is None:
            authority.check_unsigned(what)
            return ()
        from tallystick_state.trust.policy import authorise  # where something is signed

        envelope = authority.signed(what)
        authorise(self.root, action, statement, envelope, authority.block)
        known = self.root.keys.values()
        signers = envelope.signers(each.public for each in known)
        return tuple(sorted(each.name for each in known if each.public in signers))

    def pools_statement(self, change: PoolsChange) -> Statement | None:
        """What has to be signed to change the pools; None without a trust file."""
        if self.root is None:
            return None
        from tallystick_state.trust.statement import pools as statement  # if signed

        return statement(
            genesis=self.genesis,
            network=self.root.network,
            previous=change.previous,
            pools=change.pools.to_dict(),
            digest=change.pools.digest,
            epoch=change.epoch,
            sequence=change.sequence,
        )

    def check_pools(self, change: PoolsChange, authority: Authority) -> tuple[str, ...]:
        """Refuse to change the pools unless it is signed as an adoption is; see `check`.

        Raises:
            TrustError: as `check`.
        """
        return self._authorised("pools", "adopt", self.pools_statement(change), authority)

    def begun_with(self, root: TrustRoot | None, pools: Pools | None = None) -> RulesInForce:
        """The same rules in a state that begins with a trust file and pools, or without them."""
        trust, shared = TrustInForce.begun(root), PoolsInForce.begun(pools)
        return attrs.evolve(self, trust=trust, pools=shared)

    def at_genesis(self) -> RulesInForce:
        """The rules as the state began, without any adoption."""
        lines = {name: Timeline(timeline.first) for name, timeline in self.lines.items()}
        return RulesInForce(lines, self.plugins).begun_with(self.trust.first, self.pools.first)

    def rotated(self, root: TrustRoot, seq: int, authority: Authority) -> RulesInForce:
        """The same rules after an entry that puts a trust file in force.

        Raises:
            TrustError: as `TrustInForce.rotated`.
        """
        return attrs.evolve(self, trust=self.trust.rotated(root, authority), seq=seq)

    def with_pools(self, change: PoolsChange, seq: int) -> RulesInForce:
        """The same rules after an entry that changes the pools.

        Raises:
            ValueError: it is not the next change.
        """
        return attrs.evolve(self, pools=self.pools.changed(change), seq=seq)

    def adopted(self, adoption: Adoption) -> RulesInForce:
        """The rules after an entry that adopts a rule set, which its line allows."""
        line = adoption.line
        timeline = self.lines[line].extended(adoption.epoch, adoption.rules)
        return attrs.evolve(
            self,
            lines={**self.lines, line: timeline},
            adoptions={**self.adoptions, line: (*self.adoptions.get(line, ()), adoption)},
            sequences={**self.sequences, line: adoption.sequence},
            seq=adoption.seq,
        )

    def withdrawn(self, line: str, sequence: int, seq: int) -> RulesInForce:
        """The rules after an entry that withdraws the last adoption of a line."""
        return attrs.evolve(
            self,
            lines={**self.lines, line: self.lines[line].shortened()},
            adoptions={**self.adoptions, line: self.adoptions[line][:-1]},
            sequences={**self.sequences, line: sequence},
            seq=seq,
        )

    @cached_property
    def _epochs(self) -> Timeline[EpochRules]:
        """The rules of every line, from each epoch at which some begin."""
        lines = self.lines.values()
        starts = sorted({epoch for timeline in lines for epoch, _ in timeline.later})
        first, *later = (
            EpochRules(tuple(each.at(start) for each in lines)) for start in (0, *starts)
        )
        return Timeline(first, tuple(zip(starts, later, strict=True)))

    @cached_property
    def _dropped(self) -> Mapping[str, Timeline[frozenset[str]]]:
        return {name: _dropped(timeline) for name, timeline in self.lines.items()}

    @cached_property
    def _line_of(self) -> Mapping[str, str]:
        return {
            skill_type: name
            for name, timeline in self.lines.items()
            for rules in timeline.values()
            for skill_type in rules.rule_set.skill_types
        }


def _dropped(timeline: Timeline[StateRules]) -> Timeline[frozenset[str]]:
    listed, found = timeline.first.events, Timeline(frozenset[str]())
    for epoch, rules in timeline.later:
        found, listed = found.extended(epoch, listed - rules.events), listed | rules.events
    return found


_NO_POOLS_AHEAD: Mapping[str, Any] = {"in_force": None, "scheduled": []}


def _ahead(timeline: Timeline[Any], epoch: int) -> dict[str, Any]:
    """Return the digests of the rules of an epoch, and of later ones with their epochs."""
    later = [(start, found) for start, found in timeline.later if start > epoch]
    now = timeline.at(epoch)
    return {
        "in_force": None if now is None else now.digest,
        "scheduled": [{"epoch": start, "digest": found.digest} for start, found in later],
    }
