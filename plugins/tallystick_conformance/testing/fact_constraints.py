"""The constraints between the facts of one record by what they are, in the logic of whoever asks.

It is more than what formulas are proved with: the facts have to be those of a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from tallystick.formula.domain import Domain
from tallystick.formula.facts import FactIndex, FactTerms, path_of, reader_of, relations
from tallystick.formula.facts.reader import Condition, Logic, Term
from tallystick.formula.tree import Node


def constraints_of(
    facts: Sequence[Node],
    terms: Mapping[str, Term],
    domains: Mapping[str, Domain],
    logic: Logic,
    as_number: Callable[[Any], Term],
) -> Iterator[Condition]:
    """Yield the conditions that the facts of one record meet.

    Args:
        facts: some facts, each once.
        terms: their terms, by digest.
        domains: their ranges, by digest.
        logic: makes conditions of terms.
        as_number: makes 1 or 0 of a truth, and leaves a number as it is.
    """
    record = FactTerms(FactIndex(tuple(facts)), terms, domains, logic)
    for one, other in combinations(facts, 2):
        if path_of(one) == path_of(other):
            yield from reader_of(one).agreements(one, other, record)
    for small, large in relations(facts):
        yield as_number(terms[small.digest]) <= as_number(terms[large.digest])
    for fact in facts:
        yield from reader_of(fact).constraints(fact, record)
