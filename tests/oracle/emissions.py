"""The factors of an emission and their product: scoring.txt, "Overview"."""

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import Any

from oracle.decimals import published
from oracle.timing import position

#: Terms that live on other pages, "base weights".
BASE_WEIGHTS = {
    "rag_knowledge": Fraction("0.5"),
    "declarative": Fraction("0.7"),
    "executable_python": Fraction("1.0"),
    "executable_script": Fraction("1.2"),
    "mcp_server": Fraction("1.6"),
    "agent_composition": Fraction("2.0"),
}
#: Terms that live on other pages, "role multiplier".
ROLE_MULTIPLIERS = {"primary": Fraction("1.0"), "auditor": Fraction("0.6")}

_BOOTSTRAP_TYPES = ("mcp_server", "agent_composition")
_BOOTSTRAP_EPOCHS = 30


def early_bonus(record: dict[str, Any]) -> Fraction:
    """Terms that live on other pages, "early submission bonus"; before t_min there is none."""
    where = position(record)
    if where < 0 or where > Fraction("0.50"):
        return Fraction(1)
    return Fraction("1.15") if where <= Fraction("0.25") else Fraction("1.08")


def bootstrap_bonus(skill_type: str, epoch: int) -> Fraction:
    """E18: the base weight raised by 0.5, as a factor, in epochs 0 to 29."""
    if skill_type not in _BOOTSTRAP_TYPES or epoch >= _BOOTSTRAP_EPOCHS:
        return Fraction(1)
    base_weight = BASE_WEIGHTS[skill_type]
    return published((base_weight + Fraction("0.5")) / base_weight)


def emission(quality: Fraction | str, factors: Mapping[str, Fraction | str]) -> Fraction:
    """The published product of the published composite and factors; it may exceed 1 (E54).

    The factors are `base_weight`, `tier_multiplier`, `early_bonus`, `role_multiplier`, `consensus`
    and `bootstrap_bonus`; one that is left out is 1.
    """
    return published(prod(map(Fraction, factors.values()), start=Fraction(quality)))
