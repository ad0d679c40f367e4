"""The steps of an allocation: a module for each family, a class for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick_allocation.steps.collect import Collect, Statistic
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.memory import Average, Hold, Reign
from tallystick_allocation.steps.mix import Burn, Mix, Pools, Reserve, Rest
from tallystick_allocation.steps.select import Filter, Gate, OnePer, Pareto, Top
from tallystick_allocation.steps.share import ByRank, CapStep, Equal, Lift, Share, ZScore
from tallystick_allocation.steps.step import AllocationStep

__all__ = [
    "STEPS",
    "AllocationStep",
    "Average",
    "Burn",
    "ByRank",
    "CapStep",
    "Collect",
    "Equal",
    "Filter",
    "FormulaStep",
    "Gate",
    "Hold",
    "Lift",
    "Mix",
    "OnePer",
    "Pareto",
    "Pools",
    "Reign",
    "Reserve",
    "Rest",
    "Share",
    "Statistic",
    "Top",
    "ZScore",
]

STEPS: Final[Mapping[str, type[AllocationStep]]] = {
    "collect": Collect,
    "formula": FormulaStep,
    "filter": Filter,
    "gate": Gate,
    "top": Top,
    "one_per": OnePer,
    "pareto": Pareto,
    "hold": Hold,
    "reign": Reign,
    "by_rank": ByRank,
    "pools": Pools,
    "share": Share,
    "mix": Mix,
    "equal": Equal,
    "burn": Burn,
    "rest": Rest,
    "lift": Lift,
    "z_score": ZScore,
    "cap": CapStep,
    "average": Average,
    "reserve": Reserve,
    "statistic": Statistic,
}
"""Classes of steps, by the word in ``do``."""
