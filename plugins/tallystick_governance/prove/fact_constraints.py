"""The constraints between the facts of one record by what they are, as conditions of the solver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from tallystick.formula.domain import Domain
from tallystick.formula.facts import path_of, reader_of
from tallystick.formula.smt import LOGIC, Truth, Unknowns, as_number
from tallystick.formula.tree import Node
from tallystick_conformance.testing.fact_constraints import constraints_of as conditions


def constraints_of(
    facts: Sequence[Node], terms: Unknowns, domains: Mapping[str, Domain]
) -> Iterator[Truth]:
    """Return the conditions that the facts of one record meet.

    Args:
        facts: some facts, each once.
        terms: by digest, their unknowns.
        domains: by digest, their ranges.
    """
    return conditions(facts, terms, domains, LOGIC, as_number)


def with_others_of(changes: Iterable[Node], facts: Mapping[str, Node]) -> tuple[Node, ...]:
    """Return some facts, and those among others that read the same value and change with them."""
    changed = {fact.digest: fact for fact in changes}
    paths = {path_of(fact) for fact in changed.values() if reader_of(fact).of_one_value}
    others = {
        digest: fact
        for digest, fact in facts.items()
        if reader_of(fact).of_one_value and paths.intersection(reader_of(fact).paths(fact))
    }
    return (*changed.values(), *(fact for digest, fact in others.items() if digest not in changed))
