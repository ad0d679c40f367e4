"""The constraints between the facts of one record by what they are, as conditions of the solver.

It is more than what formulas are proved with: a counterexample has to be a record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations

import z3

from tallystick.formula.domain import relations
from tallystick.formula.facts import arguments_of, path_of, reader_of, scale_of
from tallystick.formula.smt import Truth, Unknowns, as_number, number
from tallystick.formula.tree import Node

_OF_ONE_VALUE = frozenset(
    {"number", "integer", "choice", "flag", "given", "itemised", "equal", "matches"}
)
"""The readers of facts that follow from one value of a record."""


def constraints_of(facts: Sequence[Node], terms: Unknowns) -> Iterator[Truth]:
    """The conditions that the facts of one record meet.

    Args:
        facts: some facts, each once.
        terms: by digest, their unknowns.
    """
    found = {(reader_of(fact), path_of(fact)): terms[fact.digest] for fact in facts}
    yield from _same_value(facts, terms)
    for small, large in relations(facts):
        yield as_number(terms[small.digest]) <= as_number(terms[large.digest])
    for fact in facts:
        rules = _RULES.get(reader_of(fact))
        if rules is not None:
            yield from rules(fact, terms[fact.digest], found)


def with_others_of(changes: Iterable[Node], facts: Mapping[str, Node]) -> tuple[Node, ...]:
    """Some facts, and those among others that change with them: they read the same value."""
    changed = {fact.digest: fact for fact in changes}
    paths = {path_of(fact) for fact in changed.values() if reader_of(fact) in _OF_ONE_VALUE}
    others = {
        digest: fact
        for digest, fact in facts.items()
        if reader_of(fact) in _OF_ONE_VALUE and paths.intersection((path_of(fact), *_second(fact)))
    }
    return (*changed.values(), *(fact for digest, fact in others.items() if digest not in changed))


def _second(fact: Node) -> tuple[str, ...]:
    """The other path of a fact that compares two values."""
    return (str(arguments_of(fact)[0]),) if reader_of(fact) == "equal" else ()


def _same_value(facts: Sequence[Node], terms: Unknowns) -> Iterator[Truth]:
    """Numbers or choices of one path are of one value."""
    for one, other in combinations(facts, 2):
        if path_of(one) != path_of(other):
            continue
        first, second = terms[one.digest], terms[other.digest]
        readers = {reader_of(one), reader_of(other)}
        if readers == {"choice"}:
            names, others = arguments_of(one), arguments_of(other)
            both = [(names.index(name), others.index(name)) for name in names if name in others]
            yield z3.Or([z3.And(first == i, second == j) for i, j in both])
        elif readers <= {"number", "integer"}:
            absent = [_is_missing(f, t) for f, t in ((one, first), (other, second))]
            whole = [
                a for f, a in zip((one, other), absent, strict=True) if reader_of(f) == "integer"
            ]
            yield z3.Or(first == second, z3.And(whole if len(readers) == 2 else absent))


def _is_missing(fact: Node, term: z3.ExprRef) -> Truth:
    """Whether a number has the value for that it is left out, or is none."""
    return z3.Or([term == number(missing) / scale_of(fact) for missing in arguments_of(fact)])


_Found = Mapping[tuple[str, str], "z3.ExprRef"]


def _optional(fact: Node, term: z3.ExprRef, found: _Found) -> Iterator[Truth]:
    """A number that is left out, or is an object, has the value for that."""
    path = path_of(fact)
    way = [path.rsplit(".", count)[0] for count in range(1, path.count(".") + 1)]
    absent = [z3.Not(found[r, p]) for p in way for r in ("given", "itemised") if (r, p) in found]
    absent += [z3.Not(found["given", path])] if ("given", path) in found else []
    absent += [found["itemised", path]] if ("itemised", path) in found else []
    for missing in arguments_of(fact):
        for condition in absent:
            yield z3.Implies(condition, term == number(missing) / scale_of(fact))


def _distinct(fact: Node, term: z3.ExprRef, found: _Found) -> Iterator[Truth]:
    """Nothing differs in an empty list only, and what an item has is no more than the items."""
    if ("count", path_of(fact)) in found:
        yield z3.Implies(term == 0, found["count", path_of(fact)] == 0)
    yield from _within(fact, term, found)


def _within(fact: Node, term: z3.ExprRef, found: _Found) -> Iterator[Truth]:
    """What is read of each item is at most as often there as items are."""
    for path in (path_of(fact), *(p for p in arguments_of(fact) if isinstance(p, str))):
        whole, bracket, rest = path.partition("]")
        outer = f"{whole}{bracket}"
        if bracket and rest and ("count", outer) in found:
            yield term <= found["count", outer]


def _excess(fact: Node, term: z3.ExprRef, found: _Found) -> Iterator[Truth]:
    """Nothing exceeds where there are no keys; the allowance covers the rest."""
    path, allowance = path_of(fact), str(arguments_of(fact)[0])
    if ("itemised", path) in found:
        yield z3.Implies(z3.Not(found["itemised", path]), term == 0)
    if ("total", path) in found and ("total", allowance) in found and ("itemised", path) in found:
        beyond = found["total", path] - found["total", allowance]
        yield z3.Implies(found["itemised", path], term >= beyond)


def _itemised(fact: Node, term: z3.ExprRef, found: _Found) -> Iterator[Truth]:
    if ("given", path_of(fact)) in found:
        yield z3.Implies(term, found["given", path_of(fact)])


_RULES: Mapping[str, Callable[[Node, z3.ExprRef, _Found], Iterator[Truth]]] = {
    "number": _optional,
    "integer": _optional,
    "count": _within,
    "distinct": _distinct,
    "overlap": _within,
    "excess": _excess,
    "itemised": _itemised,
}
