"""A skill type under a rule set in simulations: scores of answers, and the consensus of groups.

What the members of a group agree on depends on their answers alone, so that it is computed once for
all runs under a rule set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

import attrs
import numpy as np

from tallystick.errors import InputError
from tallystick.formula.columns import Column
from tallystick.formula.facts import path_of
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import Registry
from tallystick.scoring.bound import BoundType
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.planner import ScoreColumns, score_columns
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick_conformance.testing.record_checker import FactReader
from tallystick_consensus.binding import BoundConsensus
from tallystick_consensus.group import consensus_of
from tallystick_consensus.group_record import CONSENSUS, GroupRecord, Member
from tallystick_consensus.run import bound_consensus
from tallystick_simulation.behaviour import RecordObject
from tallystick_simulation.pool import Key, Pool, TypePool
from tallystick_simulation.type_profile import roots_of
from tallystick_state.roles import Role
from tallystick_state.sections.groups import GROUPS

ROLES: tuple[Role, ...] = ("primary", "auditor")
"""The roles by their codes."""
GroupKey = tuple[tuple[int, int], ...]
"""The code of the role and the row of the answer of each member; -1 for no answer."""
Alignment = tuple[Fraction, Fraction] | None
"""Agreement with primaries and with auditors, exact; None without a row."""
NO_CONSENSUS = 0
"""The place of the absent consensus among those that occurred."""


Components = tuple[tuple[str, int], ...] | int | None
"""A consensus: its components in nano, by name, or one number in nano; None where there is none."""
RoundValues = Mapping[str, tuple[Sequence[object], Column]]
"""Values that occur in a round, by field, with the place of each row's among them."""


@attrs.frozen(eq=False)
class RoundFacts:
    """Facts of records that neither task nor answer decide: role, epoch, round and consensus.

    They are taken by the engine from a record that has them, once for each value that occurs.

    Attributes:
        record: a valid record of the type.
    """

    record: RecordObject
    _readers: Mapping[str, FactReader]
    _fields: Mapping[str, str]
    _taken: dict[tuple[str, object], Mapping[str, int]] = attrs.field(factory=dict, init=False)

    @classmethod
    def of(cls, bound: BoundType, pool: TypePool) -> RoundFacts:
        """Return the facts that a bound type reads beside those of a pool.

        Raises:
            InputError: a fact reads an answer and something else, or several fields of a round.
        """
        own = {fact.digest for fact in pool.answer_facts}
        by_field: dict[str, list[Node]] = {}
        for fact in bound.facts:
            if fact.digest not in own:
                roots = roots_of(fact)
                if len(roots) != 1:
                    raise InputError(
                        f"found the fact {path_of(fact)} of {bound.name}, which reads "
                        f"{', '.join(sorted(roots)) or 'the whole record'}, expected a fact of one "
                        "field: a simulation cannot put it in"
                    )
                by_field.setdefault(next(iter(roots)), []).append(fact)
        readers = {name: FactReader(bound.schema, tuple(f)) for name, f in by_field.items()}
        fields = {fact.digest: name for name, facts in by_field.items() for fact in facts}
        return cls(pool.block_of_honest().record(0), readers, fields)

    def columns(self, values: RoundValues) -> Callable[[str], Column]:
        """Return what gives the column of a fact of some rows, by digest.

        The column of a field without values is one number, for all of them.
        """
        taken: dict[str, tuple[list[Mapping[str, int]], Column]] = {}

        def column(digest: str) -> Column:
            field = self._fields[digest]
            if field not in values:
                return np.array([self._of(field, self.record.get(field))[digest]], np.int64)
            if field not in taken:
                every, places = values[field]
                used, inverse = np.unique(places, return_inverse=True)
                taken[field] = [self._of(field, every[place]) for place in used.tolist()], inverse
            integers, rows = taken[field]
            of_rows: Column = np.array([own[digest] for own in integers], np.int64)[rows]
            return of_rows

        return column

    def _of(self, field: str, value: object) -> Mapping[str, int]:
        key = field, (None if isinstance(value, dict) else value)
        if key in self._taken:
            return self._taken[key]
        record = {name: own for name, own in self.record.items() if name != field}
        written = _consensus_value(value) if field == CONSENSUS else value
        if written is not None:
            record[field] = written
        integers = self._readers[field].integers(record)
        assert integers is not None  # noqa: S101  # the engine itself makes such records
        self._taken[key] = integers
        return integers


def _consensus_value(consensus: object) -> object:
    """Return a consensus as a record has it: decimals, which hold nano exactly once rounded."""
    if isinstance(consensus, tuple):
        return {name: nano / NANO for name, nano in consensus}
    return consensus / NANO if isinstance(consensus, int) else None


@attrs.frozen(eq=False)
class GroupConsensuses:
    """Consensuses of groups of answers, each computed once.

    Attributes:
        pool: of the answers.
        rules: by which they are computed; None where there is none.
        least: the number of submissions that a consensus takes.
        every: those that occurred, the absent one first.
    """

    pool: TypePool
    rules: BoundConsensus | None
    least: int
    every: list[Components] = attrs.field(factory=lambda: [None], init=False)
    _places: dict[Components, int] = attrs.field(factory=lambda: {None: 0}, init=False)
    _groups: dict[GroupKey, list[tuple[int, Alignment]]] = attrs.field(factory=dict, init=False)

    def of(self, key: GroupKey) -> list[tuple[int, Alignment]]:
        """Return the place of the consensus of each member of a group, and its alignment."""
        if key not in self._groups:
            self._groups[key] = self._computed(key)
        return self._groups[key]

    def _computed(self, key: GroupKey) -> list[tuple[int, Alignment]]:
        nothing: list[tuple[int, Alignment]] = [(NO_CONSENSUS, None)] * len(key)
        submissions = [self.pool.submission(row) if row >= 0 else None for _, row in key]
        if self.rules is None or len(key) - submissions.count(None) < self.least:
            return nothing
        members = tuple(
            Member(place, f"member-{place}", ROLES[role], submission)
            for place, ((role, _), submission) in enumerate(zip(key, submissions, strict=True))
        )
        group = GroupRecord(self.pool.name, "task", 0, 0, "validator", members)
        return [
            (
                self._place_of(tuple(member.components.items()) or None),
                _alignment(member.aligned_with_primaries, member.aligned_with_auditors),
            )
            for member in consensus_of(group, self.rules).members
        ]

    def _place_of(self, consensus: Components) -> int:
        if consensus not in self._places:
            self._places[consensus] = len(self.every)
            self.every.append(consensus)
        return self._places[consensus]


@attrs.frozen(eq=False)
class TypeRun:
    """A skill type in simulations of a rule set.

    Attributes:
        bound: the type.
        pool: of its tasks and answers.
        facts: of rounds.
        groups: the consensuses of its groups.
    """

    bound: BoundType
    pool: TypePool
    facts: RoundFacts
    groups: GroupConsensuses

    def scores(self, rows: Column, values: RoundValues, thresholds: Thresholds) -> ScoreColumns:
        """Return the scores of some answers.

        Args:
            rows: of the pool, at least one.
            values: what the round gives.
            thresholds: of the tiers.
        """
        of_round = self.facts.columns(values)

        def fact(digest: str) -> Column:
            if digest in self.pool.places:
                return self.pool.column(digest, rows)
            return np.broadcast_to(of_round(digest), rows.shape)

        return score_columns(self.bound, fact, thresholds, len(rows))

    def quality(self, key: Key, tasks: Column) -> Column:
        """Return the quality of the answers of a block to some tasks, without a group, in nano."""
        rows = self.pool.block(key).rows(tasks)
        return self.scores(rows, {}, self.bound.seeds).quality


@lru_cache(maxsize=4)
def types_of(rules: BoundRules, pool: Pool) -> Mapping[str, TypeRun]:
    """Return the types of a rule set, by name, ascending.

    Raises:
        InputError: the rules read of records what a simulation cannot put in.
    """
    consensus, groups = bound_consensus(rules), rules.rule_set.section(GROUPS)
    least = 0 if groups is None else groups.consensus.minimum_submissions
    section = "" if consensus is None else repr(consensus.rules)
    return {
        name: TypeRun(
            bound,
            pool.of(name),
            RoundFacts.of(bound, pool.of(name)),
            _consensuses_of(_Consensus(pool.of(name), rules.registry, section, least, consensus)),
        )
        for name, bound in sorted(rules.types.items())
    }


@attrs.frozen
class _Consensus:
    """The consensus of the groups of a pool; equal ones come to the same.

    Attributes:
        pool: of the answers.
        registry: the plugins of the rules.
        section: what the rules say of it, as text.
        least: as of `GroupConsensuses`.
        rules: likewise.
    """

    pool: TypePool
    registry: Registry
    section: str
    least: int
    rules: BoundConsensus | None = attrs.field(eq=False)


@lru_cache(maxsize=16)
def _consensuses_of(consensus: _Consensus) -> GroupConsensuses:
    """Return the consensuses of groups, which rule sets with one consensus share."""
    return GroupConsensuses(consensus.pool, consensus.rules, consensus.least)


def _alignment(primaries: Fraction | None, auditors: Fraction | None) -> Alignment:
    return None if primaries is None or auditors is None else (primaries, auditors)
