"""The steps of an allocation: a module for each family, a class for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick_allocation.steps.average import Average
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.formula import FormulaStep
from tallystick_allocation.steps.select import Filter, OnePer, Top
from tallystick_allocation.steps.share import ByRank, Equal, Mix, Pools, Reserve, Share
from tallystick_allocation.steps.spread import CapStep, Lift, Statistic, ZScore
from tallystick_allocation.steps.step import AllocationStep

__all__ = [
    "STEPS",
    "AllocationStep",
    "Average",
    "ByRank",
    "CapStep",
    "Collect",
    "Equal",
    "Filter",
    "FormulaStep",
    "Lift",
    "Mix",
    "OnePer",
    "Pools",
    "Reserve",
    "Share",
    "Statistic",
    "Top",
    "ZScore",
]

STEPS: Final[Mapping[str, type[AllocationStep]]] = {
    "collect": Collect,
    "formula": FormulaStep,
    "filter": Filter,
    "top": Top,
    "one_per": OnePer,
    "by_rank": ByRank,
    "pools": Pools,
    "share": Share,
    "mix": Mix,
    "equal": Equal,
    "lift": Lift,
    "z_score": ZScore,
    "cap": CapStep,
    "average": Average,
    "reserve": Reserve,
    "statistic": Statistic,
}
"""Classes of steps, by the word in ``do``."""
