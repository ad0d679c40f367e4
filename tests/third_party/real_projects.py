"""The plugins of two real subnets: where their projects are, and the cases that they answer."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import tallystick

HERE = Path(__file__).parent
NANO = 10**9


def project(name: str) -> Path:
    return HERE / f"tallystick-{name}"


@cache
def module(name: str, part: str) -> ModuleType:
    """A module of a plugin, whose folder need not stay on the path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(project(name))
        return import_module(f"tallystick_{name}.{part}")


@cache
def rules(name: str) -> tallystick.Scorer:
    plugin = module(name, "plugin").__name__
    return tallystick.load(f"{name}@1.0.0", modules={name: plugin})


def head_of(kind: str, task: str, hotkey: str, uid: int = 0) -> dict[str, Any]:
    """The fields that every record has."""
    return {
        "skill_type": kind,
        "task_id": task,
        "round": 0,
        "epoch": 0,
        "validator": "case",
        "miner": {"uid": uid, "hotkey": hotkey},
        "role": "primary",
    }


def cases_of(name: str) -> dict[str, dict[str, Any]]:
    """The public cases of a subnet, by their ids."""
    cases = json.loads((HERE.parent / "vectors" / "subnets.json").read_bytes())["cases"]
    return {each["id"]: each for each in cases if each["subnet"] == name}


def nano(value: Fraction) -> int:
    """A number in whole nano, rounded half-even once."""
    return round(value * NANO)
