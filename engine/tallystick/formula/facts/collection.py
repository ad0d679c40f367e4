"""Facts of the items of lists and maps: all, the different ones, those that two lists share.

A path that is ambiguous is refused: a list that may also be a text, items that are not alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.formula.domain import Domain
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import arguments_of, fact_at, path_of
from tallystick.formula.facts.reader import (
    FactIndex,
    FactReader,
    Repetition,
)
from tallystick.formula.schema_path import (
    SCALARS,
    Schema,
    alternatives_of,
    items_at,
    limit_of,
    object_fields,
    steps,
    target_of,
    type_of,
)
from tallystick.formula.tree import Node


def count(path: str) -> Node:
    """Return the number of items of a list or a projection; repeated items count each time.

    >>> from tallystick.formula.text import render
    >>> render(count("checks.expected"))
    '|expected|'
    """
    return fact_at("count", path)


def distinct(path: str) -> Node:
    """Return the number of different items of a list or a projection.

    >>> from tallystick.formula.text import render
    >>> render(distinct("checks.expected"))
    '|distinct expected|'
    """
    return fact_at("distinct", path)


def overlap(first: str, second: str) -> Node:
    """Return the number of different items that are in both lists.

    >>> from tallystick.formula.text import render
    >>> render(overlap("submission.findings", "checks.expected"))
    '|findings ∩ expected|'
    """
    steps(second)
    return fact_at("overlap", first, (second,))


class Items(FactReader):
    """A number of items."""

    def most(self, path: str, schema: Schema) -> int:
        """Return the maximum number of items.

        Raises:
            FormulaError: there is no list, or nothing limits it.
        """
        target = target_of(path, schema)
        if target.many:
            return target.repeats
        if {type_of(a) for a in target.alternatives} != {"array"}:
            raise self.refused(path, "a list")
        return max(limit_of(array, "maxItems", path) for array in target.alternatives)

    def least(self, path: str, schema: Schema) -> int:
        """Return the minimum number of items: of a list that no record leaves out, else 0."""
        target = target_of(path, schema)
        if target.many or target.optional:
            return 0
        return min(int(array.get("minItems", 0)) for array in target.alternatives)

    def fields(self, path: str, schema: Schema) -> tuple[str, ...]:
        """Return the identity of items: the fields of objects, or the type of other items.

        Raises:
            FormulaError: the items are not alike, or nothing that can be compared.
        """
        target = target_of(path, schema)
        items, nullable = items_at(target, schema)
        types = {type_of(item).replace("integer", "number") for item in items}
        if len(types) != 1 or nullable or (types == {"object"} and len(items) > 1):
            raise self.refused(path, "items of one kind that cannot be null")
        if types <= SCALARS:
            return tuple(types)
        fields = object_fields(target, schema)
        inner = [a for n in fields for a in alternatives_of(items[0]["properties"][n], schema)[0]]
        if types != {"object"} or not fields or any(type_of(a) not in SCALARS for a in inner):
            raise self.refused(path, "texts, numbers, truths, or objects of these")
        return ("object", *fields)

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that a projection has at most as many values as there are items."""
        for path in self.paths(fact):
            outer = items_before(path)
            items = None if outer is None else others.last("count", outer)
            if items is not None:
                yield fact <= items


def items_before(path: str) -> str | None:
    """Return the items of a list of which a path reads a field; None where it reads them whole."""
    whole, bracket, rest = path.partition("]")
    if not (bracket and rest):
        return None
    return whole.removesuffix("[") if whole.endswith("[") else f"{whole}{bracket}"


class Count(Items):
    """The number of items of a list; repeated ones count each time."""

    name = "count"
    form = "|{}|"
    if_repeated = Repetition.COUNTED

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return from as few items as the schema asks for up to as many as it allows."""
        path = path_of(fact)
        most = self.most(path, schema)
        return Domain(self.least(path, schema), most)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the length of the list."""
        return f"len({code.listed(path_of(fact))})"

    def upper(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield the count of the items that a projection reads."""
        outer = items_before(path_of(fact))
        if outer is not None:
            yield from others.find("count", outer)


class Distinct(Items):
    """The number of different items of a list."""

    name = "distinct"
    form = "|distinct {}|"
    at_most = ("count",)

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return up to as many items as the schema allows; one at least where it asks for any."""
        path = path_of(fact)
        self.fields(path, schema)
        most = self.most(path, schema)
        return Domain(min(self.least(path, schema), 1), most)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the size of the set."""
        return f"len({code.items(path_of(fact))})"

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield that no item differs only where the list is empty."""
        items = others.last("count", path_of(fact))
        if items is not None:
            yield (fact != 0) | (items == 0)
        yield from super().constraints(fact, others)


class Overlap(Items):
    """The number of different items that two lists share."""

    name = "overlap"
    form = "|{} ∩ {}|"
    at_most = ("distinct", "count")

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return the paths of the two lists."""
        return path_of(fact), str(arguments_of(fact)[0])

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return up to as many items as the shorter list can have."""
        first, second = self.paths(fact)
        if self.fields(first, schema) != self.fields(second, schema):
            raise self.refused(first, f"the same items as in {second!r}")
        return Domain(0, min(self.most(path, schema) for path in (first, second)))

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code for the size of the intersection."""
        first, second = map(code.items, self.paths(fact))
        return f"len({first} & {second})"


READERS = (Count(), Distinct(), Overlap())
