"""Options of a rule set that formulas read.

What a network may switch on stands in ``[aggregation.options]``. An axis formula reads an option by
parameters of its name, so that a rule set says it once: ``budget_abort_enabled``, which is 1 or 0,
and ``budget_abort_cost``. They are no keys of the table of the axis.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

import attrs

from tallystick.rules.model import Parameters, RuleSet
from tallystick.rules.sections import BudgetAbort

if TYPE_CHECKING:
    from tallystick.formula.formula import Formula
    from tallystick.rules.toml import KeyPath

_BUDGET_ABORT = "budget_abort"


@attrs.frozen
class Option:
    """The value of an option that a formula may read.

    Attributes:
        path: where the rule set says it.
        value: the value, of a truth 1 or 0; None where the rule set does not have the option.
    """

    path: KeyPath
    value: Decimal | None


def options_of(rule_set: RuleSet) -> Mapping[str, Option]:
    """What axis formulas may read of the options, by the name of the parameter."""
    aggregation = rule_set.aggregation
    options = aggregation.options if aggregation is not None else None
    abort = options.budget_abort if options is not None else None
    return {
        f"{_BUDGET_ABORT}_{field.name}": Option(
            ("aggregation", "options", _BUDGET_ABORT, field.name),
            None if abort is None else Decimal(getattr(abort, field.name)),
        )
        for field in attrs.fields(BudgetAbort)
    }


def switches_of(rule_set: RuleSet) -> Mapping[str, Option]:
    """Those of the options that say whether one is on."""
    return {n: o for n, o in options_of(rule_set).items() if n.endswith("_enabled")}


def axis_parameters(rule_set: RuleSet, axis: str, formula: Formula) -> Parameters:
    """The values of all parameters of an axis: of its table, and of the options that it reads."""
    options = {name: option.value for name, option in options_of(rule_set).items()}
    read = {name: options[name] for name in formula.parameters if name in options}
    given = {name: value for name, value in read.items() if value is not None}
    return {**rule_set.axes[axis].parameters, **given}
