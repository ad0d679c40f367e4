"""Facts that compare texts: with each other, or with a pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any

from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.formula.facts.draft import Demands, Draft
from tallystick.formula.facts.extraction_code import ExtractionCode
from tallystick.formula.facts.fact import arguments_of, fact_at, path_of
from tallystick.formula.facts.pattern import check_pattern
from tallystick.formula.facts.reader import TruthReader
from tallystick.formula.schema_path import SCALARS, Schema, steps, target_of, type_of
from tallystick.formula.tree import Kind, Node

_TRUTH = Domain(0, 1)
_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_TEXTS = ("a:b", "A:B", "a", "b:a")
"""Texts to try where a formula compares texts or asks for a pattern."""


def equal(first: str, second: str, *, ignore_case: bool = False) -> Node:
    """The truth that both values are there and equal; ``ignore_case`` folds ASCII letters only."""
    steps(second)
    arguments = (second, "ignore-case") if ignore_case else (second,)
    return fact_at("equal", first, arguments, kind=Kind.TRUTH)


def matches(path: str, pattern: str) -> Node:
    """The truth that a text is there and the pattern (see `pattern`) fits the whole of it."""
    check_pattern(pattern)
    return fact_at("matches", path, (pattern,), kind=Kind.TRUTH)


class Equal(TruthReader):
    """The truth that two values are both there and the same."""

    name = "equal"
    form = "[{} = {}]"
    at_most = ("given",)

    def paths(self, fact: Node) -> tuple[str, ...]:
        """Return the paths of the two values."""
        return path_of(fact), str(arguments_of(fact)[0])

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return a truth; both are texts, numbers or truths."""
        kinds = []
        for path in self.paths(fact):
            target = target_of(path, schema)
            types = {type_of(a).replace("integer", "number") for a in target.alternatives}
            if target.many or not types <= SCALARS or {"boolean", "number"} <= types:
                raise FormulaError(f"found equal() of {path!r}, expected one text, number or truth")
            kinds.append(types)
        if kinds[0] != kinds[1]:
            raise FormulaError(f"found equal() of different types: {path_of(fact)!r} and another")
        return _TRUTH

    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Neither is null, and they are the same."""
        first, second = map(code.read, self.paths(fact))
        same = f"{first} == {second}"
        if arguments_of(fact)[1:]:
            fold = code.constant(_fold)
            same = f"{fold}({first}) == {fold}({second})"
        return f"{first} is not None and {second} is not None and {same}"

    def described(self, fact: Node) -> dict[str, Any]:
        """Return also how letters are compared."""
        folded = bool(arguments_of(fact)[1:])
        return {**super().described(fact), "letters": "ascii-case-ignored" if folded else "exact"}


def _fold(text: object) -> object:
    return text.translate(_LOWER) if isinstance(text, str) else text


class Matches(TruthReader):
    """The truth that a text is there and fits a pattern whole."""

    name = "matches"
    at_most = ("given",)

    def domain(self, fact: Node, schema: Schema) -> Domain:
        """Return a truth."""
        self.alternatives(fact, self.single(fact, schema), "string")
        return _TRUTH

    def condition(self, fact: Node, code: ExtractionCode) -> str:
        """Return code that tests for a text that fits."""
        value = code.read(path_of(fact))
        pattern = code.constant(re.compile(arguments_of(fact)[0], re.ASCII).fullmatch)
        return f"{value}.__class__ is str and {pattern}({value}) is not None"

    def described(self, fact: Node) -> dict[str, Any]:
        """Return also the pattern."""
        return {**super().described(fact), "pattern": arguments_of(fact)[0]}

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """Return the match in brackets, which count as 1 where it holds."""
        return f"[{named(path_of(fact))} fits /{arguments_of(fact)[0]}/]"


READERS = (Equal(), Matches())


def texts(demands: Demands) -> Iterator[Mapping[str, str | None]]:
    """Ways to write the texts that facts compare or match; a text of None is left out."""
    patterns = [(path_of(f), str(arguments_of(f)[0]), v) for f, v in demands.of("matches")]
    compared = [(path_of(f), arguments_of(f), v) for f, v in demands.of("equal")]
    absent = {path_of(f) for f, v in demands.of("given") if not v}
    both = [path for first, (second, *_), _ in compared for path in (first, str(second))]
    paths = sorted({*(path for path, _, _ in patterns), *both})
    for chosen in product((*_TEXTS, None), repeat=len(paths)):
        text_at = dict(zip(paths, chosen, strict=True))
        if any((text_at[path] is None) is not (path in absent) for path in absent & text_at.keys()):
            continue
        if all(_fits(text_at[path], pattern) == value for path, pattern, value in patterns) and all(
            _is_same(text_at[first], text_at[str(second)], folded=bool(more)) == value
            for first, (second, *more), value in compared
        ):
            yield text_at


def _fits(text: str | None, pattern: str) -> bool:
    return text is not None and re.fullmatch(pattern, text, re.ASCII) is not None


def _is_same(first: str | None, second: str | None, *, folded: bool) -> bool:
    if first is None or second is None:
        return False
    return first.lower() == second.lower() if folded else first == second


def write(chosen: Mapping[str, str | None], draft: Draft) -> None:
    """Give a record some texts."""
    for path, text in chosen.items():
        if text is None:
            draft.drop(path)
        else:
            draft.put(path, text)
