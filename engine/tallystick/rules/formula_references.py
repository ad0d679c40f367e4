"""Checking one use of a formula: its name, its kind and the values of its parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import attrs

from tallystick.rules.findings import Finding, fraction_text, mistake, nearest, one_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from decimal import Decimal

    from tallystick.formula.formula import Formula, FormulaKind
    from tallystick.plugins.registry import Registry
    from tallystick.rules.positions import KeyPath


@attrs.frozen
class Use:
    """A formula that a rule set names, and where.

    Attributes:
        path: the table that the parameters are in.
        key: the path of the formula's name.
        formula: the name.
        kind: the kind of formula that belongs here.
        parameters: the values that the rule set gives.
    """

    path: KeyPath
    key: KeyPath
    formula: str
    kind: FormulaKind
    parameters: Mapping[str, Decimal]


def check_use(use: Use, registry: Registry) -> Iterator[Finding]:
    """What is wrong with a use of a formula."""
    formula = registry.formulas.get(use.formula)
    if formula is None:
        yield mistake(use.key, shown(use.formula), _unknown(use, registry))
    elif formula.kind != use.kind:
        yield mistake(use.key, shown(use.formula), _other_kind(use, formula, registry))
    else:
        yield from _check_parameters(use, formula)


def formula_of(use: Use, registry: Registry) -> Formula | None:
    """The formula, when it exists and is of the right kind."""
    formula = registry.formulas.get(use.formula)
    return formula if formula is not None and formula.kind == use.kind else None


def refused(registry: Registry) -> str:
    """The refused plugins with their reasons, as the end of a message; often nothing."""
    reasons = (f"; the plugin {name} is refused: {why}" for name, why in registry.refused.items())
    return "".join(sorted(reasons))


def _unknown(use: Use, registry: Registry) -> str:
    names = _of_kind(use, registry)
    hint = nearest(use.formula, names) or f": {one_of(names)}"
    return f"the {use.kind} formula of an installed plugin{hint}{refused(registry)}"


def _other_kind(use: Use, formula: Formula, registry: Registry) -> str:
    return (
        f"a formula of the kind {use.kind}, not {formula.kind}: {one_of(_of_kind(use, registry))}"
    )


def _of_kind(use: Use, registry: Registry) -> list[str]:
    return sorted(name for name, f in registry.formulas.items() if f.kind == use.kind)


def _check_parameters(use: Use, formula: Formula) -> Iterator[Finding]:
    for name, bounds in formula.parameters.items():
        if name not in use.parameters:
            yield mistake((*use.path, name), "", f"{_range(bounds)}, a parameter that is missing")
    for name, value in use.parameters.items():
        if name not in formula.parameters:
            hint = nearest(name, formula.parameters) or f": {one_of(formula.parameters)}"
            yield mistake((*use.path, name), shown(value), f"a parameter of {use.formula}{hint}")
        else:
            low, high = formula.parameters[name]
            if not low <= Fraction(value) <= high:
                yield mistake((*use.path, name), shown(value), _range((low, high)))
    yield from _check_sum(use, formula)


def _check_sum(use: Use, formula: Formula) -> Iterator[Finding]:
    if not formula.sums_to_one or not set(formula.sums_to_one) <= set(use.parameters):
        return
    total = sum((Fraction(use.parameters[name]) for name in formula.sums_to_one), Fraction(0))
    if total != 1:
        names = one_of(formula.sums_to_one)
        yield mistake(
            use.path, f"a sum of {fraction_text(total)}", f"a sum of exactly 1 of {names}"
        )


def _range(bounds: tuple[Fraction, Fraction]) -> str:
    return f"a number from {shown(bounds[0])} to {shown(bounds[1])}"
