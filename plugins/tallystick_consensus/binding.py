"""A consensus that is bound: its formulas proved, its shares as whole numbers.

The formulas are proved when the first group comes: who scores records alone needs none of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from math import ceil, lcm
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.fact import name_of, path_of
from tallystick.formula.facts.families import reader_of
from tallystick.formula.text import fact_text
from tallystick.formula.tree import Node, bind, leaves, names
from tallystick.numbers.nano import NANO, from_decimal, round_half_even, to_decimal
from tallystick.rules.model import exact
from tallystick.scoring.binding import placed
from tallystick.scoring.compiled import check_range, compile_tree
from tallystick.scoring.computation import in_order
from tallystick.scoring.scores import walk
from tallystick.scoring.value import Value
from tallystick_consensus.checks import FACTOR
from tallystick_consensus.member_facts import (
    FACTS,
    MOST_ITEMS,
    READERS,
    GroupReader,
    mine,
    of_set,
    outliers,
    shared,
)
from tallystick_consensus.rules import CONSENSUS, MOST_MEMBERS, Consensus, set_of
from tallystick_consensus.sets import Voting
from tallystick_consensus.signals import whole_share

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from decimal import Decimal

    from tallystick.plugins.registry import Registry
    from tallystick.rules.reading import LoadedRuleSet


@runtime_checkable
class ConsensusEvents(Protocol):
    """The values of a section that say which event a consensus is."""

    def consensus_event(self, consensus: Decimal) -> str | None:
        """Return the name of the event; None where it is none."""


@attrs.frozen
class AlignmentShares:
    """Shares of findings, capabilities and the verdict in the likeness of two submissions.

    Attributes:
        findings: the numerator of the share; as the others over one denominator.
        capabilities: that of capabilities.
        verdict: that of the verdict.
        of: the denominator.
    """

    findings: int
    capabilities: int
    verdict: int
    of: int


@attrs.frozen(eq=False, slots=False)
class BoundConsensus:
    """The consensus of a rule set, ready to compute.

    Attributes:
        loaded: the rule set.
        registry: the plugins that it was bound with.
        rules: its section.
    """

    loaded: LoadedRuleSet
    registry: Registry
    rules: Consensus

    def voting(self, valid: int) -> Voting:
        """Return the votes and the quorum of a group by the number of its valid members."""
        own_vote = self.rules.voters == "group"
        voters = valid if own_vote else valid - 1
        support = ceil(Fraction(self.rules.outliers_below) * (valid - 1))
        return Voting(own_vote, self._quorum(voters), support)

    def _quorum(self, voters: int) -> int:
        share, word = from_decimal(self.rules.quorum.share), self.rules.quorum.round
        return max(1, whole_share(voters, share, up=word == "up"))

    @cached_property
    def kinds(self) -> frozenset[str]:
        """The kinds of capabilities that count."""
        return frozenset(self.rules.capability_kinds)

    @cached_property
    def compared_kinds(self) -> frozenset[str] | None:
        """The kinds that a policy is compared with; None for all that count."""
        if self.rules.policy.kinds == "all":
            return None
        return frozenset(self.rules.permits.values())

    @cached_property
    def denials_permit(self) -> bool:
        """True where a denial counts like a permission."""
        return self.rules.policy.denials == "permit"

    @cached_property
    def alignment_shares(self) -> AlignmentShares:
        """The shares in the likeness of two submissions."""
        shares = self.rules.alignment
        parts = [*map(Fraction, (shares.findings, shares.capabilities, shares.verdict))]
        common = lcm(*(part.denominator for part in parts))
        return AlignmentShares(*(int(part * common) for part in (*parts, Fraction(1))))

    @cached_property
    def weights(self) -> Mapping[str, int]:
        """The weight of each component, in nano."""
        emission = self.loaded.rule_set.emission
        factor = None if emission is None else emission.factors[FACTOR]
        parameters = {} if factor is None else factor.parameters
        return {name: from_decimal(parameters[name]) for name in self.rules.components}

    @cached_property
    def components(self) -> tuple[Value, ...]:
        """The components, each after those that it reads.

        Raises:
            RuleSetError: one cannot be proved to be in its range for every group.
        """
        formulas = self.registry.formulas
        named = self.rules.components.items()
        reads = {name: formulas[component.formula].reads for name, component in named}
        trees: dict[str, Node] = {}
        values: dict[str, Value] = {}
        for name in in_order(reads):
            trees[name] = self._tree(name, trees)
            values[name] = self._value(name, trees[name], values)
        return tuple(values.values())

    def component(self, name: str) -> Value:
        """Return the component of a name, which the section has."""
        return next(value for value in self.components if value.name == name)

    def computed(self, facts: Sequence[int]) -> dict[str, int]:
        """Return the published components of a member, in nano, in the order of the rule set."""
        values = walk(self.components, dict(zip(self.domains, facts, strict=True)))
        return {value.name: values[value] or 0 for value in self._in_rule_order}

    @cached_property
    def _in_rule_order(self) -> tuple[Value, ...]:
        return tuple(map(self.component, self.rules.components))

    def weighted(self, components: Mapping[str, int]) -> int:
        """Return the published consensus of published components, in nano."""
        total = sum(weight * components[name] for name, weight in self.weights.items())
        return round_half_even(total, NANO)

    def event(self, consensus: int) -> str | None:
        """Return the event that a consensus is, where a section of the rule set says so."""
        return None if self._events is None else self._events.consensus_event(to_decimal(consensus))

    # once a rule set: to ask a value for its methods takes longer than a component
    @cached_property
    def _events(self) -> ConsensusEvents | None:
        """The values of the section that says which event a consensus is."""
        values = self.loaded.rule_set.sections.values()
        return next((value for value in values if isinstance(value, ConsensusEvents)), None)

    @cached_property
    def domains(self) -> Mapping[str, Domain]:
        """The range of every fact of a member, by digest, in the order of ``FACTS``."""
        most = {r.name: self.most_agreed if r.most is None else r.most for r in READERS}
        return {fact.digest: Domain(0, most[name_of(fact)]) for fact in FACTS}

    @cached_property
    def most_agreed(self) -> int:
        """The maximum number of agreed items of a set, each of which takes a quorum of votes."""
        least = self.rules.minimum_valid
        sizes = range(least, MOST_MEMBERS + 1)
        voters = sizes if self.rules.voters == "group" else (size - 1 for size in sizes)
        return max(MOST_ITEMS * voters_of // self._quorum(voters_of) for voters_of in voters)

    def _tree(self, name: str, before: Mapping[str, Node]) -> Node:
        component = self.rules.components[name]
        formula = self.registry.formulas[component.formula]
        read = leaves(formula.tree, "fact")
        foreign = next((f for f in read if not isinstance(reader_of(f), GroupReader)), None)
        with self._placed(name):
            if foreign is not None:
                fact = fact_text(foreign)
                message = f"found {fact}, a fact of a record, expected facts of a group"
                raise FormulaError(message)
            return of_set(bind(formula.tree, exact(component.parameters), before), set_of(name))

    def _value(self, name: str, tree: Node, before: Mapping[str, Value]) -> Value:
        published = {earlier: value.domain for earlier, value in before.items()}
        with self._placed(name):
            compiled = compile_tree(tree, self.domains, published, count_requirements(tree))
            check_range(compiled.program, Fraction(), Fraction(1))
        formula = self.registry.formulas[self.rules.components[name].formula]
        inputs = tuple(before[read] for read in names(tree, "published"))
        return Value(name, "component", inputs, tree, compiled, formula)

    def _placed(self, name: str) -> AbstractContextManager[None]:
        path = ("consensus", "components", name, "formula")
        return placed(self.loaded, path, self.rules.components[name].formula, "every group")


def bind_consensus(loaded: LoadedRuleSet, registry: Registry) -> BoundConsensus | None:
    """Return the consensus of a rule set, bound to its plugins; None where it has none."""
    rules = loaded.rule_set.section(CONSENSUS)
    return None if rules is None else BoundConsensus(loaded, registry, rules)


def count_requirements(tree: Node) -> list[Node]:
    """Return conditions of every count: no item of a member is both agreed and outlying."""
    sets = {path_of(fact) for fact in leaves(tree, "fact")}
    return [
        outliers(name) + shared(name) <= mine(name)
        for name in sorted(sets - {"verdict", "risk_score"})
    ]
