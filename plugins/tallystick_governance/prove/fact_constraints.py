"""The constraints between the facts of one record by what they are, as conditions of the solver.

It is more than what formulas are proved with: a counterexample has to be a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations

from tallystick.formula.domain import Domain
from tallystick.formula.facts import FactIndex, FactTerms, path_of, reader_of, relations
from tallystick.formula.smt import LOGIC, Truth, Unknowns, as_number
from tallystick.formula.tree import Node


def constraints_of(
    facts: Sequence[Node], terms: Unknowns, domains: Mapping[str, Domain]
) -> Iterator[Truth]:
    """Yield the conditions that the facts of one record meet.

    Args:
        facts: some facts, each once.
        terms: by digest, their unknowns.
        domains: by digest, their ranges.
    """
    record = FactTerms(FactIndex(tuple(facts)), terms, domains, LOGIC)
    for one, other in combinations(facts, 2):
        if path_of(one) == path_of(other):
            yield from reader_of(one).agreements(one, other, record)
    for small, large in relations(facts):
        yield as_number(terms[small.digest]) <= as_number(terms[large.digest])
    for fact in facts:
        yield from reader_of(fact).constraints(fact, record)


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
