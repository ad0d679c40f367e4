"""``formula``: a formula of the kind measure over earlier steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.formula.domain import Domain
from tallystick.formula.tree import BEYOND_RATIOS, leaves
from tallystick.numbers.nano import NANO
from tallystick.numbers.real import Exact
from tallystick.rules.findings import Finding, mistake, one_of, shown
from tallystick.rules.formula_references import FormulaReference, check_reference, formula_of
from tallystick.rules.keys import OTHER_KEYS
from tallystick_allocation.column import Column, Numerator
from tallystick_allocation.population import LARGEST_ATTRIBUTE, MINER
from tallystick_allocation.step_input import StepInput
from tallystick_allocation.steps.step import (
    BoundStep,
    ColumnStep,
    EarlierSteps,
    Range,
    hull,
    names,
)

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.plugins.registry import Registry
    from tallystick.rules.toml import KeyPath

_VALUE = "value"
"""The input of formulas that have one."""
_MANY = 32
"""Minimum number of rows for which loading NumPy pays."""


@attrs.frozen(kw_only=True)
class FormulaStep(ColumnStep):
    """A formula, whose inputs are earlier steps by their names, and flags and numbers of miners.

    Attributes:
        formula: its name.
        of: the step that is its input ``value``, or by the name of an input the step that it is;
            the others are the steps of their names.
        parameters: every other key of the table.
        only: the groups that have it; the others take the column ``otherwise``.
        otherwise: that column.
        absent: the value where an input is absent; by default it is absent there too.
    """

    formula: str
    of: str | Mapping[str, str] | None = None
    parameters: Mapping[str, Decimal] = attrs.field(factory=dict, metadata=OTHER_KEYS)
    only: tuple[str, ...] | None = None
    otherwise: str | None = attrs.field(default=None, metadata=names("a column"))
    absent: Decimal | None = None
    is_score = True
    lack = "{step.formula} is 0, or an input is absent"

    def reference(self, path: KeyPath, /) -> FormulaReference:
        """Return the formula."""
        return FormulaReference(path, (*path, "formula"), self.formula, "measure", self.parameters)

    def source(self, name: str, /) -> str:
        """Return the step, or the attribute of miners, that is an input of the formula."""
        of = {_VALUE: self.of} if isinstance(self.of, str) else self.of or {}
        return of.get(name, name)

    def inputs(self, registry: Registry, /) -> Iterator[tuple[KeyPath, str]]:
        """Yield ``otherwise``, and the steps that the formula reads."""
        yield from self.columns()
        formula = formula_of(self.reference(()), registry)
        for name in () if formula is None else formula.published:
            source = self.source(name)
            if not source.startswith(MINER):
                yield ("formula",) if source == name else ("of",), source

    def mistakes(self, path: KeyPath, earlier: EarlierSteps, /) -> Iterator[Finding]:
        """Require a measure of columns alone, in groups that there are."""
        reference = self.reference(path)
        yield from check_reference(reference, earlier.registry)
        formula = formula_of(reference, earlier.registry)
        if formula is not None and (leaves(formula.tree, "fact") or formula.applies is not None):
            expected = "a formula of earlier steps alone"
            yield mistake((*path, "formula"), f"{shown(self.formula)}, which reads facts", expected)
        if formula is not None and isinstance(self.of, Mapping | str):
            for name in [_VALUE] if isinstance(self.of, str) else self.of:
                if name not in formula.published:
                    expected = f"an input of {self.formula}: {one_of(formula.published)}"
                    yield mistake((*path, "of"), shown(name), expected)
        yield from earlier.unknown_groups((*path, "only"), self.only or ())
        if self.only is None:
            yield from self.needless(path, "otherwise", "no such key without only")

    def identity(self, bound: BoundStep, /) -> list[Any]:
        """Return the tree, which its name does not say."""
        return [_formula(bound).tree.digest]

    def range_of(self, bound: BoundStep, inputs: Sequence[Range], /) -> Range:
        """Return the range that the formula has, with ``absent`` and that of ``otherwise``.

        Raises:
            FormulaError: it is not safe for the ranges of its inputs, or leaves its own.
        """
        # a state reads steps long before it weighs by them
        from tallystick.formula.lowering import lower
        from tallystick.scoring.compiled import RANGE_REMEDY, check_range

        formula = _formula(bound)
        known = {read.name: (read, of) for read, of in zip(bound.inputs, inputs, strict=True)}
        domains = {name: _domain(known.get(s)) for name, s in bound.read_by_formula.items()}
        program = lower(formula.tree, {}, domains)
        check_range(program, formula.low, formula.high, RANGE_REMEDY)
        absent = [] if self.absent is None else [(Fraction(self.absent),) * 2]
        # of what it reads only the column for the other groups is handed on as it is
        others = [of for name, (_, of) in known.items() if name == self.otherwise]
        return hull((program.low, program.high), *absent, *others)

    def column(self, group: str, bound: BoundStep, step_input: StepInput, /) -> Column:
        """Return what the formula gives, or the column for the other groups."""
        places = len(step_input.keys)
        if self.only is not None and group not in self.only:
            if self.otherwise is None:
                return Column((None,) * places)
            return step_input.column(self.otherwise, group)
        formula = _formula(bound)
        tree = formula.tree
        inputs = {n: step_input.column(self.source(n), group) for n in formula.published}
        has_all = (column.present for column in inputs.values())
        present = sorted({*range(places)}.intersection(*has_all))
        absent = None if self.absent is None else Fraction(self.absent)
        cells: list[Exact | None]
        cells = [absent if place < step_input.miners else None for place in range(places)]

        def row(place: int) -> dict[str, Exact]:
            return {name: column.at(place) for name, column in inputs.items()}

        is_beyond_ratios = any(operator in tree.by_operator for operator in BEYOND_RATIOS)
        from tallystick.formula.evaluate import evaluate

        if not (self.publish and len(present) >= _MANY and is_beyond_ratios):
            for place in present:
                cells[place] = evaluate(tree, {}, row(place))
            return Column.of(cells)
        from tallystick_allocation.balls import published_rows  # loads NumPy

        # rounded, by doubles with a bound, or by the reference
        rounded = list[Numerator | None](Column.of(cells).nano)
        nanos = published_rows(tree, inputs, present, row)
        for place, nano in zip(present, nanos, strict=True):
            rounded[place] = nano
        return Column(tuple(rounded), NANO)


def _domain(read: tuple[BoundStep, Range] | None) -> Domain:
    """Return the range of an input, in nano; what is not rounded is no whole number of them."""
    if read is None:
        # what is no step is a number of miners, or a flag
        return Domain(-LARGEST_ATTRIBUTE * NANO, LARGEST_ATTRIBUTE * NANO)
    step, (low, high) = read
    return Domain(floor(low * NANO), ceil(high * NANO), whole=step.is_whole)


def _formula(bound: BoundStep) -> Formula:
    assert bound.formula is not None  # noqa: S101  # as binding has seen to
    return bound.formula
