"""Facts of one value: numbers, truths, choices, and whether there is something."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import reduce
from itertools import product
from operator import and_, or_
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.draft import Demands, Draft
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import arguments_of, fact_at, name_of, path_of, scale_of, scaled
from tallystick.formula.facts.reader import (
    FactIndex,
    FactReader,
    TruthReader,
    bound_of,
)
from tallystick.formula.schema_path import Schema, is_map, type_of
from tallystick.formula.tree import Kind, Node, Operand
from tallystick.numbers.nano import NANO, from_double, to_decimal

_TRUTH = Domain(0, 1)
_NUMERIC = ("number", "integer")


def number(path: str, *, missing: Operand | None = None) -> Node:
    """Return a decimal in nano; ``missing`` is its value when it is left out or is not a number."""
    return fact_at("number", path, scaled("missing", missing, NANO), NANO)


def integer(path: str, *, missing: Operand | None = None) -> Node:
    """Return a whole number; ``missing`` is its value when it is left out."""
    return fact_at("integer", path, scaled("missing", missing, 1))


def flag(path: str) -> Node:
    """Return a truth; false when it is left out."""
    return fact_at("flag", path, kind=Kind.TRUTH)


def given(path: str) -> Node:
    """Return the truth that there is a value, and it is not null."""
    return fact_at("given", path, kind=Kind.TRUTH)


def itemised(path: str) -> Node:
    """Return the truth that the value is an object."""
    return fact_at("itemised", path, kind=Kind.TRUTH)


def choice(path: str, *options: str) -> Node:
    """Return the position of a text among the options, which the schema must list too."""
    if len(options) < 2 or len(set(options)) != len(options):
        raise FormulaError(
            f"found the options {options} of {path}, expected two or more, all different"
        )
    return fact_at("choice", path, options, kind=Kind.CHOICE)


class _Numeric(FactReader):
    """A number, which may be left out."""

    of_one_value = True

    def _range(
        self, fact: Node, schema: Schema, types: tuple[str, ...], read: Callable[[Any], int]
    ) -> Domain:
        target = self.single(fact, schema)
        schemas = self.alternatives(fact, target, *types)
        missing = list(arguments_of(fact))
        if not missing and (target.optional or len(schemas) < len(target.alternatives)):
            raise FormulaError(
                f"found that {path_of(fact)!r} can be left out or be something else, "
                f"expected {self.name}(…, missing=…)"
            )
        words = ("minimum", "maximum")
        bounds = [read(bound_of(a, word, path_of(fact))) for a in schemas for word in words]
        return Domain(min(bounds + missing), max(bounds + missing))

    def absent(self, fact: Node) -> int | None:
        """Return the author's ``missing``."""
        return next(iter(arguments_of(fact)), None)

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield a number that is left out, or is an object, has the value for that."""
        path = path_of(fact)
        way = [path.rsplit(".", count)[0] for count in range(1, path.count(".") + 1)]
        there = [(reader, before) for before in way for reader in ("given", "itemised")]
        presences = [others.last(*key) for key in [*there, ("given", path)]]
        present = [presence for presence in presences if presence is not None]
        itemised = others.last("itemised", path)
        present += [] if itemised is None else [~itemised]
        for missing in _when_missing(fact):
            for condition in present:
                yield condition | missing

    def agreements(self, fact: Node, other: Node) -> Iterator[Node]:
        """Numbers of one path are of one value."""
        if name_of(other) not in _NUMERIC:
            return
        both = (fact, other)
        # of a decimal and a whole number, the whole one is missing where there is a fraction
        mixed = name_of(fact) != name_of(other)
        can_differ = [n for n in both if not mixed or name_of(n) == "integer"]
        missing = [condition for n in can_differ for condition in _when_missing(n)]
        same = fact == other
        yield same | reduce(and_, missing) if len(missing) == len(can_differ) else same


def _when_missing(fact: Node) -> list[Node]:
    """Return that a number equals the value that stands for an absent one, if it has one."""
    return [fact == Fraction(missing, scale_of(fact)) for missing in arguments_of(fact)]


class Number(_Numeric):
    """A decimal; ``missing`` if it is left out or is not a number. In nano."""

    name = "number"
    unit = "nano"

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return from the least to the largest number of the schema."""
        # as a record's number becomes nano; rounding keeps the order of numbers
        return self._range(fact, schema, _NUMERIC, from_double)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return code that rounds a record's number to nano."""
        value = code.read(path_of(fact))
        return _or_missing(fact, f"round({value} * 1e9)", code.is_number(path_of(fact), value))


class Integer(_Numeric):
    """A whole number; ``missing`` if it is left out."""

    name = "integer"

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return from the least to the largest whole number of the schema."""
        return self._range(fact, schema, ("integer",), int)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return the number itself."""
        value = code.read(path_of(fact))
        return _or_missing(fact, value, f"{value}.__class__ is int")


def _or_missing(fact: Node, read: str, present: str) -> str:
    missing = arguments_of(fact)
    return f"({read} if {present} else {missing[0]})" if missing else read


class Flag(TruthReader):
    """A truth; false if it is left out."""

    name = "flag"
    at_most = ("given",)

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return a truth."""
        self.alternatives(fact, self.single(fact, schema), "boolean")
        return _TRUTH

    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Return code that tests the value for true."""
        return f"{code.read(path_of(fact))} is True"


class _Presence(TruthReader):
    """A test that a value is there, in some form."""

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return a truth; a list or a map that is left out is empty, so it is refused."""
        target = self.single(fact, schema)
        containers = [a for a in target.alternatives if type_of(a) == "array" or is_map(a)]
        if target.optional and len(containers) == len(target.alternatives):
            raise FormulaError(
                f"found {self.name}() of {path_of(fact)!r}, but a list or a map that is left "
                "out is empty: use count()"
            )
        return _TRUTH


class Given(_Presence):
    """The truth that there is a value that is not null."""

    name = "given"
    form = "[{} given]"

    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Return code that tests the value for null; an absent value is null."""
        return f"{code.read(path_of(fact))} is not None"


class Itemised(_Presence):
    """The truth that the value is an object."""

    name = "itemised"
    form = "[{} itemised]"

    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Return code that tests the value for an object."""
        return code.is_object(code.read(path_of(fact)))

    def constraints(self, fact: Node, others: FactIndex) -> Iterator[Node]:
        """Yield an object is given."""
        present = others.last("given", path_of(fact))
        if present is not None:
            yield ~fact | present


class Choice(FactReader):
    """The position of a text among options."""

    name = "choice"
    of_one_value = True
    unit = "position"
    if_absent = None  # it is always there

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return a position; the schema has the same options, and requires one."""
        target, options = self.single(fact, schema), arguments_of(fact)
        listed = [v for a in target.alternatives for v in _listed(a)]
        unlisted = any(not _listed(a) for a in target.alternatives)
        if target.optional or unlisted or not set(listed) <= set(options):
            raise FormulaError(
                f"found the choice {path_of(fact)!r} of {sorted(map(str, options))}, expected a "
                f"required value whose options are those of the schema: {sorted(map(str, listed))}"
            )
        return Domain(0, len(options) - 1)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """Return the position of the text."""
        options = code.constant({o: i for i, o in enumerate(arguments_of(fact))})
        return f"{options}[{code.read(path_of(fact))}]"

    def described(self, fact: Node) -> dict[str, Any]:
        """Return also the options, in order."""
        return {**super().described(fact), "options": list(arguments_of(fact))}

    def agreements(self, fact: Node, other: Node) -> Iterator[Node]:
        """Choices of one path are of one text."""
        if name_of(other) != self.name:
            return
        names, others = arguments_of(fact), arguments_of(other)
        yield reduce(or_, [(fact == name) & (other == name) for name in names if name in others])


def _listed(alternative: Schema) -> list[Any]:
    constants = [alternative["const"]] if "const" in alternative else []
    return [*alternative.get("enum", ()), *constants]


READERS = (Number(), Integer(), Flag(), Given(), Itemised(), Choice())


def write(demands: Demands, draft: Draft) -> None:
    """Give a record the numbers, truths and choices that facts ask for."""
    for fact, value in demands:
        path = path_of(fact)
        if demands.value("given", path) == 0:
            draft.drop(path)
        elif name_of(fact) == "itemised" and value and not isinstance(draft.get(path), dict):
            draft.put(path, _object(draft, path))
    for fact, value in demands:
        if not _is_closed(path_of(fact), demands):
            _set(draft, fact, value)


def _object(draft: Draft, path: str) -> Any:  # noqa: ANN401  # a JSON object
    """Return an object for a path, with the fields that its schema requires."""
    objects = (a for a in draft.target(path).alternatives if type_of(a) == "object")
    return draft.make(next(objects), path.rpartition(".")[2], 0)


def _is_closed(path: str, demands: Demands) -> bool:
    """Return whether a path, or one on the way to it, is left out or has no room for the value."""
    if demands.value("given", path) == 0 or demands.value("itemised", path) == 1:
        return True
    names = path.split(".")
    way = (".".join(names[:count]) for count in range(1, len(names)))
    return any(demands.value(*key) == 0 for key in product(("given", "itemised"), way))


def _set(draft: Draft, fact: Node, value: int) -> None:
    path = path_of(fact)
    match name_of(fact):
        case "number" if (value,) != arguments_of(fact) or draft.get(path) is not None:
            draft.put(path, _json_number(value))
        case "integer" if (value,) != arguments_of(fact) or draft.get(path) is not None:
            draft.put(path, value)
        case "flag":
            draft.put(path, bool(value))
        case "choice":
            draft.put(path, arguments_of(fact)[value])


def _json_number(nano: int) -> int | float:
    return nano // NANO if nano % NANO == 0 else float(to_decimal(nano))
