"""Facts of a member of a group: what it and its voters have.

Voters are the valid members of the group, or the others; a rule set says which, and how many of
them are a quorum. No record has such a fact: `facts` counts them. A formula that is written for any
set names ``own``, the set of the component that it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, NoReturn

import attrs

from tallystick.errors import FormulaError
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import fact_at, path_of
from tallystick.formula.facts.families import family
from tallystick.formula.facts.reader import FactReader
from tallystick.formula.schema_path import Schema
from tallystick.formula.tree import Node
from tallystick.numbers.nano import NANO

SETS = ("findings", "capabilities", "dependencies", "policy")
"""Sets that members of a group have."""
OWN = "own"
"""The set of the component that a formula computes."""
MOST_ITEMS = 1000
"""Maximum number of items in a list of a submission."""
FARTHEST = 2
"""The distance of the strictest verdict from the laxest."""


def mine(of: str = OWN) -> Node:
    """Return the number of different items of a set that the member has."""
    return fact_at("mine", _set(of))


def agreed(of: str = OWN) -> Node:
    """Return the number of items of a set that a quorum of the voters has."""
    return fact_at("agreed", _set(of))


def shared(of: str = OWN) -> Node:
    """Return the number of the member's items that are agreed."""
    return fact_at("shared", _set(of))


def outliers(of: str = OWN) -> Node:
    """Return the number of the member's items that too few others have, and no quorum."""
    return fact_at("outliers", _set(of))


def verdict_distance() -> Node:
    """Return the steps between the member's verdict and that of the voters: 0 to 2."""
    return fact_at("verdict_distance", "verdict")


def risk_gap() -> Node:
    """Return the distance of the member's risk from the median of the voters', in half-nano."""
    return fact_at("risk_gap", "risk_score", scale=2 * NANO)


def of_set(tree: Node, name: str | None) -> Node:
    """Return a tree whose facts of ``own`` are of a set.

    Raises:
        FormulaError: it has such facts, and there is no set.
    """
    if not any(path_of(fact) == OWN for fact in tree.by_operator.get("fact", ())):
        return tree
    if name is None:
        raise FormulaError(
            f"found facts of {OWN!r}, expected a component of one of {', '.join(SETS)}: name the "
            "set in the formula"
        )
    return _renamed(tree, name, {})


def _renamed(node: Node, name: str, done: dict[int, Node]) -> Node:
    if id(node) not in done:
        if node.op == "fact" and path_of(node) == OWN:
            reader, _, *rest = node.data
            done[id(node)] = attrs.evolve(node, data=(reader, name, *rest))
        else:
            arguments = tuple(_renamed(argument, name, done) for argument in node.args)
            done[id(node)] = attrs.evolve(node, args=arguments) if node.args else node
    return done[id(node)]


def _set(of: str) -> str:
    if of not in (OWN, *SETS):
        raise FormulaError(f"found the set {of!r}, expected one of {', '.join((OWN, *SETS))}")
    return of


class GroupReader(FactReader):
    """A fact of a member of a group.

    Attributes:
        most: its largest value, from 0; None of what a quorum can agree on, which rules say.
    """

    of_record = False
    if_absent = None  # a member always has it
    most: ClassVar[int | None] = MOST_ITEMS

    def domain(self, fact: Node, schema: Schema) -> NoReturn:
        """None in a record."""
        del schema
        raise FormulaError(
            f"found {self.name}() of {path_of(fact)!r}, a fact of a group, expected facts of a "
            "record: only components of a group read it"
        )

    def extraction(self, fact: Node, code: ExtractionCode) -> NoReturn:
        """None: as ``domain``."""
        del code
        raise self.refused(path_of(fact), "facts of a record")

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the text, with the set where one is named."""
        words = self.name.replace("_", " ")
        return f"{words} {named(path_of(fact))}" if path_of(fact) in SETS else words


class Mine(GroupReader):
    """The number of different items that the member has."""

    name = "mine"


class Agreed(GroupReader):
    """The number of items that a quorum has."""

    name = "agreed"
    most = None


class Shared(GroupReader):
    """The number of the member's items that are agreed."""

    name = "shared"
    at_most = (Mine.name, Agreed.name)


class Outliers(GroupReader):
    """The number of the member's items that are not agreed, and too few others have."""

    name = "outliers"
    at_most = (Mine.name,)


class VerdictDistance(GroupReader):
    """The number of steps between two verdicts."""

    name = "verdict_distance"
    most = FARTHEST


class RiskGap(GroupReader):
    """The distance of two risks, in half-nano."""

    name = "risk_gap"
    unit = "half_nano"
    most = 2 * NANO


READERS = (Mine(), Agreed(), Shared(), Outliers(), VerdictDistance(), RiskGap())
"""Every reader, in the order in which a member's facts stand."""
family(*READERS)

FACTS = (
    *(fact(name) for name in SETS for fact in (mine, agreed, shared, outliers)),
    verdict_distance(),
    risk_gap(),
)
"""The facts of a member, in the order in which its integers stand."""
