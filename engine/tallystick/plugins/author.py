"""What an author of a plugin writes with, in one place.

::

    from tallystick.plugins.author import axis, choice, cases

See ``tallystick.formula.tree`` for the operators, ``tallystick.formula.facts`` for the facts.
"""

from tallystick.formula.facts import (
    choice,
    count,
    distinct,
    equal,
    excess,
    flag,
    given,
    integer,
    itemised,
    largest,
    matches,
    number,
    opaque,
    overlap,
    smallest,
    total,
)
from tallystick.formula.formula import (
    UNIT,
    Formula,
    Parameters,
    Requirement,
    axis,
    composite,
    emission,
    factor,
    formulas_in,
    require,
    threshold,
)
from tallystick.formula.tree import (
    Node,
    absolute,
    cases,
    clip,
    label,
    maximum,
    minimum,
    published,
    rank,
    summed,
)
from tallystick.plugins.generator import Draw, Generator, Part
from tallystick.plugins.property import (
    Direction,
    Property,
    always_below,
    less_is_better,
    more_is_better,
    never_above,
    never_beaten_by,
    never_below,
)
from tallystick.plugins.skill_type import SkillType
from tallystick.plugins.spec import API_VERSION, hookimpl

__all__ = [
    "API_VERSION",
    "UNIT",
    "Direction",
    "Draw",
    "Formula",
    "Generator",
    "Node",
    "Parameters",
    "Part",
    "Property",
    "Requirement",
    "SkillType",
    "absolute",
    "always_below",
    "axis",
    "cases",
    "choice",
    "clip",
    "composite",
    "count",
    "distinct",
    "emission",
    "equal",
    "excess",
    "factor",
    "flag",
    "formulas_in",
    "given",
    "hookimpl",
    "integer",
    "itemised",
    "label",
    "largest",
    "less_is_better",
    "matches",
    "maximum",
    "minimum",
    "more_is_better",
    "never_above",
    "never_beaten_by",
    "never_below",
    "number",
    "opaque",
    "overlap",
    "published",
    "rank",
    "require",
    "smallest",
    "summed",
    "threshold",
    "total",
]
