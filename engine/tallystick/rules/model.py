"""A rule set as a value: what one file of the format says.

Numbers are exact decimals of at most nine places. What a file leaves out has its default here, so
two files that say the same are equal. The attributes are the keys of the file; a table whose keys
are parameters has them in ``parameters``.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Generic, Literal, TypeVar

import attrs

from tallystick.rules.keys import OTHER_KEYS, renamed

_Rules = TypeVar("_Rules")

Parameters = Mapping[str, Decimal]
"""The values of a formula's parameters, by name."""


def exact(parameters: Parameters) -> dict[str, Fraction]:
    """Return the same values as formulas take them."""
    return {name: Fraction(value) for name, value in parameters.items()}


BUILT_IN_COMPOSITES = ("geometric", "arithmetic")
"""The composites that weigh axes; any other composite is the name of a formula."""


@attrs.frozen
class Header:
    """The name and the version of a rule set.

    Attributes:
        name: the series of rule sets, such as ``skills``.
        version: the release in that series, such as ``1.0.0``.
        format: the version of the file format.
        summary: one sentence for people.
        source: the documents that it follows.
    """

    name: str
    version: str
    format: Literal[1]
    summary: str = ""
    source: str = ""


@attrs.frozen
class Axis:
    """The formula of an axis and the values of its parameters."""

    formula: str
    parameters: Parameters = attrs.field(factory=dict, metadata=OTHER_KEYS)


@attrs.frozen
class Measure:
    """The formula of a measure and the values of its parameters.

    Attributes:
        exact: whether it is published as the ratio that it is, rather than rounded to 1e-9.
    """

    formula: str
    exact: bool = False
    parameters: Parameters = attrs.field(factory=dict, metadata=OTHER_KEYS)


@attrs.frozen
class Gate:
    """The composite becomes ``composite`` when the published ``axis`` is below ``below``."""

    axis: str
    below: Decimal
    composite: Decimal


@attrs.frozen
class SkillTypeRules:
    """The rules by which one skill type is scored.

    Attributes:
        composite: ``geometric``, ``arithmetic``, or the name of a composite formula; None in a type
            that has measures alone, whose records have no quality.
        weights: the share of each weighed axis; they sum to exactly 1.
        parameters: the values of the parameters of a composite formula.
        axes: axes that are computed and read but not weighed.
        measures: the measures of a record, in the order in which results show them.
        base_weight: the base weight in the emission; without it the type has no emission.
        baseline: the seed of the tier baseline, in [0, 1]; without it the type has no tier.
        gates: applied to the composite in this order.
        requires: names of requirements beside those of the skill type itself.
        plugin: whose skill type it is; by default, of its namespace, or of a plugin whose formulas
            or requirements the rule set names.
    """

    composite: str | None = None
    weights: Mapping[str, Decimal] = attrs.field(factory=dict)
    parameters: Parameters = attrs.field(factory=dict)
    axes: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    base_weight: Decimal | None = None
    baseline: Decimal | None = None
    gates: tuple[Gate, ...] = ()
    requires: tuple[str, ...] = ()
    plugin: str | None = None

    @property
    def all_axes(self) -> tuple[str, ...]:
        """Every axis of the type once: the weighed ones, then the others."""
        return tuple(dict.fromkeys((*self.weights, *self.axes)))


@attrs.frozen
class Threshold:
    """A tier threshold: of a formula, or without one the tracked baseline of the type."""

    formula: str | None = None
    parameters: Parameters = attrs.field(factory=dict, metadata=OTHER_KEYS)


@attrs.frozen
class Level:
    """A tier: reached from the threshold ``threshold`` on, which the file calls ``from``.

    The lowest level has no threshold. ``multiplier`` is the factor in the emission, at least 0.
    """

    name: str
    multiplier: Decimal
    threshold: str | None = attrs.field(default=None, metadata=renamed("from"))


@attrs.frozen
class Tiers:
    """The thresholds by name, and the levels from the lowest to the highest."""

    thresholds: Mapping[str, Threshold]
    levels: tuple[Level, ...]


@attrs.frozen
class Factor:
    """An emission factor; it counts as 1 for types outside ``skill_types``, when that is given."""

    formula: str
    parameters: Parameters = attrs.field(factory=dict, metadata=OTHER_KEYS)
    skill_types: tuple[str, ...] | None = None


@attrs.frozen
class Emission:
    """The emission formula, its parameters, and the factors that it reads."""

    formula: str
    parameters: Parameters = attrs.field(factory=dict, metadata=OTHER_KEYS)
    factors: Mapping[str, Factor] = attrs.field(factory=dict)


@attrs.frozen
class Silence:
    """A code of the linter that the rule set silences, with the reason.

    Attributes:
        code: of the check.
        reason: why what it finds is right as it is; never empty.
        path: the only place, with what is below; empty is everywhere.
        figures: the worst that it is written for, by the names of the check's figures.
    """

    code: str
    reason: str
    path: str = ""
    figures: Mapping[str, Decimal] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class Lint:
    """The findings that the linter leaves out."""

    silence: tuple[Silence, ...] = ()


@attrs.frozen
class SectionKind(Generic[_Rules]):
    """The kind of a section: its name and the class of its values.

    Attributes:
        name: the key of the section in the file.
        rules: the attrs class of its values; `rules.keys` says how keys and attributes differ.
        default: the values of a rule set without the section; a section of these is as none.
    """

    name: str
    rules: type[_Rules]
    default: _Rules | None = None


@attrs.frozen
class RuleSet:
    """One rule set; a section that is left out is None, or empty.

    Attributes:
        sections: the values of the sections that plugins bring, by name, in name order.
    """

    rule_set: Header
    skill_types: Mapping[str, SkillTypeRules]
    axes: Mapping[str, Axis] = attrs.field(factory=dict)
    measures: Mapping[str, Measure] = attrs.field(factory=dict)
    tiers: Tiers | None = None
    emission: Emission | None = None
    lint: Lint = Lint()
    sections: Mapping[str, object] = attrs.field(factory=dict, metadata=OTHER_KEYS)

    def section(self, kind: SectionKind[_Rules]) -> _Rules | None:
        """Return the values of a section; those of its default, or None, where it is left out."""
        rules = self.sections.get(kind.name, kind.default)
        if rules is not None and not isinstance(rules, kind.rules):
            raise TypeError(
                f"found {type(rules).__name__} in [{kind.name}], expected its own rules"
            )
        return rules

    def __repr__(self) -> str:
        return f"<RuleSet {self.reference}>"

    @property
    def reference(self) -> str:
        """``name@version``."""
        return f"{self.rule_set.name}@{self.rule_set.version}"
