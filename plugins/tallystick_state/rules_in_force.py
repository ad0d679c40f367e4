"""Rules in force: the rule set and pools of each line in each epoch, as the log says.

A state begins under a rule set of each of its lines. An adoption, which is an entry of the log with
the whole rule set, replaces one from an epoch on; until that epoch begins it can be withdrawn. So
the log alone says which rules an epoch has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.canonical import digest
from tallystick.errors import DamagedError, RuleSetError, StateError, StoreError
from tallystick.numbers.text import numbered
from tallystick.plugins.registry import Plugins, installed_plugins
from tallystick.records.schema import load_schema
from tallystick.rules.reading import read_text
from tallystick.rules.timeline import Timeline
from tallystick_state.authority import Authority, read_root
from tallystick_state.claims import EVERYONE, AllowedValidators
from tallystick_state.genesis import Carry
from tallystick_state.model import State
from tallystick_state.pools import Pools
from tallystick_state.rules import EpochRules, StateRules, proved_rules_of
from tallystick_state.schedule import NO_POOLS, Schedule
from tallystick_state.sections.epochs import EPOCHS

if TYPE_CHECKING:
    from tallystick.io.paths import PathLike
    from tallystick.plugins.registry import Registry
    from tallystick.scoring.bound_rules import BoundRules
    from tallystick.scoring.scorer import Scorer
    from tallystick_state.trust.policy import TrustRoot
    from tallystick_state.trust.statement import Statement


@attrs.frozen(eq=False, slots=False)
class RulesInForce:
    """The rules of each line of a state in each epoch.

    Attributes:
        schedules: the rule sets of each line, in the order of names; most states have one.
        plugins: what the rule sets of later entries are loaded with.
        first_root: the trust file in the first entry of the log; None without one.
        rotations: the trust files that came into force since, in their order.
        pools: how the lines share the weight of the state; None where they do not.
        network: the digest of the network file that it began with; None without one.
        carry: the values that it carries over; None without.
        named: whose claims it takes where no trust file says so, as it named them to begin with.
        seq: the number of the newest entry that this was made of; 0 if only the first.
    """

    schedules: Mapping[str, Schedule[StateRules]]
    plugins: Plugins
    first_root: TrustRoot | None = None
    rotations: tuple[TrustRoot, ...] = ()
    pools: Schedule[Pools | None] = NO_POOLS
    network: str | None = None
    carry: Carry | None = None
    named: AllowedValidators = EVERYONE
    seq: int = 0

    def __repr__(self) -> str:
        adopted = sum(len(schedule.decisions) for schedule in self.schedules.values())
        return f"<RulesInForce of {' and '.join(self.lines)}, {numbered(adopted, 'adoption')}>"

    @cached_property
    def lines(self) -> Mapping[str, Timeline[StateRules]]:
        """The rule sets of each line from epoch to epoch."""
        return {line: schedule.timeline for line, schedule in self.schedules.items()}

    @property
    def roots(self) -> tuple[TrustRoot, ...]:
        """Every trust file that was in force, in their order."""
        first = () if self.first_root is None else (self.first_root,)
        return (*first, *self.rotations)

    @property
    def root(self) -> TrustRoot | None:
        """The trust file in force; None while the operator decides alone."""
        return self.rotations[-1] if self.rotations else self.first_root

    def at(self, epoch: int) -> EpochRules:
        """Return the rules of every line in an epoch."""
        return self._epochs.at(epoch)

    def beginning(self, epoch: int) -> dict[str, StateRules]:
        """Return by line the rules that begin with an epoch."""
        begun = ((line, timeline.begins(epoch)) for line, timeline in self.lines.items())
        return {line: rules for line, rules in begun if rules is not None}

    def of_type(self, skill_type: str, epoch: int) -> StateRules | None:
        """Return the rules of a skill type in an epoch; None where they have no such type then."""
        return self.at(epoch).type_rules.get(skill_type)

    def line_of(self, skill_type: str) -> str | None:
        """Return the line that has a skill type in some epoch; None where none ever has."""
        return self._line_of.get(skill_type)

    @property
    def skill_types(self) -> Collection[str]:
        """The skill types of every line in any epoch."""
        return self._line_of.keys()

    def types_apart(self, line: str) -> Sequence[str] | None:
        """Return the skill types of a line in any epoch; None in a state of one line."""
        if len(self.lines) == 1:
            return None
        return [name for name, owner in self._line_of.items() if owner == line]

    def rule_sets(self) -> Mapping[str, StateRules]:
        """Return every rule set that is ever in force, by digest, each once, by line and epoch."""
        every = (rules for timeline in self.lines.values() for rules in timeline.values())
        return {rules.digest: rules for rules in every}

    def dropped_events(self, skill_type: str, epoch: int) -> frozenset[str]:
        """Return the events of a type's earlier rules that those of an epoch no longer have."""
        line = self.line_of(skill_type)
        return frozenset() if line is None else self._dropped[line].at(epoch)

    @property
    def changes(self) -> bool:
        """True where the rules of some line ever change."""
        return bool(self._epochs.later)

    @cached_property
    def scorer(self) -> Scorer:
        """The scorer of records, each by the rules of its epoch.

        Raises:
            RuleSetError: formulas, types and schemas do not fit.
        """
        from tallystick.scoring.bound_rules import bound_over  # a query needs none
        from tallystick.scoring.scorer import Scorer

        lines = (timeline.map(_bound) for timeline in self.lines.values())
        return Scorer.of(bound_over([*lines]))

    @cached_property
    def allowed(self) -> AllowedValidators:
        """The allowed validators: those that the trust file names, where there is one."""
        if self.root is None:
            return self.named
        return attrs.evolve(self.named, heard=frozenset(self.root.events))

    @cached_property
    def genesis(self) -> str:
        """The digest of what the state began under, by which statements name it.

        No validator and nobody heard is in it, so that one statement is for all that began alike.
        """
        lines = {name: timeline.first.digest for name, timeline in self.lines.items()}
        first, pools = self.first_root, self.pools.first
        shared = {} if pools is None else {"pools": pools.digest}
        trust = None if first is None else first.digest
        begun = {"format": 1, "lines": lines, "trust": trust}
        return digest({**begun, **shared, **self.begun_beside})

    @property
    def begun_beside(self) -> Mapping[str, str]:
        """The digests of what it began with beside rules, trust file and pools, if anything."""
        carried = None if self.carry is None else self.carry.digest
        parts = {"carry": carried, "network": self.network}
        return {name: digest for name, digest in parts.items() if digest is not None}

    @property
    def first_state(self) -> State:
        """The state as it began, before its first entry."""
        return State(0, {}, self.at(0).seeds) if self.carry is None else self.carry.state

    def digest_from(self, epoch: int) -> str:
        """Return the digest of the rules in force in an epoch, and of those scheduled after it.

        Pools are among them, where the lines share their weight. No state digest covers what is
        scheduled, so peers compare this one beside it.
        """
        lines = {name: _ahead(timeline, epoch) for name, timeline in self.lines.items()}
        pools = _ahead(self.pools.timeline, epoch)
        shared = {"pools": pools} if pools != _NO_POOLS_AHEAD else {}
        return digest({"format": 1, "lines": lines, **shared})

    def authorised(
        self, what: str, statement: Statement | None, authority: Authority
    ) -> tuple[str, ...]:
        """Return the names of those who signed a statement as the trust file asks for.

        Args:
            what: it is of, for errors.
            statement: None without a trust file.
            authority: what stands behind it.

        Raises:
            TrustError: too few have signed, or something else; or nothing says who has to.
        """
        if self.root is None or statement is None:
            authority.check_unsigned(what)
            return ()
        return self.root.authorise(statement, authority.signed(what), authority.block)

    def check_beside(self, new: StateRules) -> None:
        """Refuse rules that do not go with those that the lines have.

        Args:
            new: the rules of a line, which may be one more.

        Raises:
            StateError: a type is of another line, or had another record format, or epochs have
                another length; its ``code`` says which.
        """
        own = self.lines.get(new.line)
        for skill_type in new.rule_set.skill_types:
            owner = self.line_of(skill_type)
            if owner not in {None, new.line}:
                raise StateError(
                    f"found the skill type {skill_type}, which the line {owner} has, expected it "
                    "in one line only",
                    code="types-overlap",
                )
            schema = new.registry.skill_types[skill_type].schema
            for rules in () if own is None else own.values():
                if skill_type not in rules.rule_set.skill_types:
                    continue
                other = rules.registry.skill_types[skill_type].schema
                if other != schema and load_schema(other) != load_schema(schema):
                    raise StateError(
                        f"found another record format of {skill_type} than that of "
                        f"{rules.rule_set.reference}, expected the same: give the type another "
                        "name",
                        code="schema-conflict",
                    )
        epochs = new.rule_set.section(EPOCHS)
        if epochs is None:
            return
        for timeline in (timeline for name, timeline in self.lines.items() if name != new.line):
            for rules in timeline.values():
                length = rules.rule_set.section(EPOCHS)
                if length is not None and length.blocks != epochs.blocks:
                    raise StateError(
                        f"found epochs of {epochs.blocks} blocks, expected {length.blocks}, as "
                        f"{rules.rule_set.reference} has them in the same state",
                        code="clock-differs",
                    )

    def with_schedule(self, line: str, schedule: Schedule[StateRules], seq: int) -> RulesInForce:
        """Return the rules with another schedule of a line, after an entry that changed it."""
        return attrs.evolve(self, schedules={**self.schedules, line: schedule}, seq=seq)

    @cached_property
    def _epochs(self) -> Timeline[EpochRules]:
        """The rules of every line, from each epoch at which some begin."""
        lines = self.lines.values()
        starts = sorted({epoch for timeline in lines for epoch, _ in timeline.later})
        first, *later = (
            EpochRules(tuple(line_timeline.at(start) for line_timeline in lines))
            for start in (0, *starts)
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


def _bound(rules: StateRules) -> BoundRules:
    from tallystick.scoring.scorer import bind

    return bind(rules.loaded, rules.registry)


def _dropped(timeline: Timeline[StateRules]) -> Timeline[frozenset[str]]:
    listed, dropped = timeline.first.events, Timeline(frozenset[str]())
    for epoch, rules in timeline.later:
        dropped, listed = dropped.extended(epoch, listed - rules.events), listed | rules.events
    return dropped


_NO_POOLS_AHEAD: Mapping[str, Any] = {"in_force": None, "scheduled": []}


def _ahead(timeline: Timeline[Any], epoch: int) -> dict[str, Any]:
    """Return the digests of the rules of an epoch, and of later ones with their epochs."""
    (_, now), *later = timeline.since(epoch)
    return {
        "in_force": None if now is None else now.digest,
        "scheduled": [{"epoch": start, "digest": rules.digest} for start, rules in later],
    }


def begin_under(
    references: Iterable[PathLike], registry: Registry | None, trust: PathLike | None
) -> RulesInForce:
    """Return the rules of a state that begins.

    Args:
        references: a rule set of each of its lines.
        registry: the plugins; by default the installed ones.
        trust: the trust file; None where the operator decides alone.

    Raises:
        InputError: the trust file cannot be read.
        RuleSetError: a rule set does not load, or its allocation is not proved safe.
        StateError: the rule sets do not go together; see `begun`.
        TrustError: the trust file is none.
    """
    from tallystick.scoring.scorer import load  # a query needs none

    rules = [proved_rules_of(load(reference, registry=registry)) for reference in references]
    root = None if trust is None else read_root(trust)
    return begun(rules, registry or installed_plugins(), root)


def begun(
    rules: Iterable[StateRules], plugins: Plugins, root: TrustRoot | None = None
) -> RulesInForce:
    """Return the rules of a state that begins, one rule set for each of its lines.

    Args:
        rules: of the lines, in any order.
        plugins: what later rule sets are loaded with.
        root: the trust file; None where the operator decides alone.

    Raises:
        StateError: there is none, two are of one line, two lines have one skill type, or epochs of
            two lengths.
    """
    in_force = RulesInForce({}, plugins, root)
    for own in sorted(rules, key=lambda own: own.line):
        if own.line in in_force.schedules:
            earlier = in_force.schedules[own.line].first.rule_set.reference
            raise StateError(
                f"found {earlier} and {own.rule_set.reference}, expected one rule set of the line "
                f"{own.line}",
                code="same-line",
            )
        in_force.check_beside(own)
        in_force = in_force.with_schedule(own.line, Schedule(own), 0)
    if not in_force.schedules:
        raise StateError("found no rule set, expected one for each line of the state")
    return in_force


def load_rules(rule_set: Mapping[str, str], where: str, plugins: Plugins) -> StateRules:
    """Return the rule set that an entry holds.

    Raises:
        DamagedError: the plugins give it another meaning than the entry says.
        KeyError: the entry holds no rule set.
        StoreError: it does not load.
    """
    text, name, expected = (rule_set[key] for key in ("text", "reference", "digest"))
    try:
        loaded = read_text(text, Path(f"{where}#{name}"), plugins)
    except RuleSetError as error:
        raise StoreError(
            f"{where}: found a state whose rule set {name} does not load, "
            "expected one that this version and its plugins know: use the tallystick and the "
            "plugins that the state was begun with, or begin anew with tallystick state init and "
            f"record its rounds again; the rule set has: {error}"
        ) from error
    if loaded.digest != expected:
        raise DamagedError(
            f"{where}: found that {name} means {loaded.digest} with the installed "
            f"plugins, expected {expected}: install the plugins that the state began with"
        )
    return StateRules(loaded)
