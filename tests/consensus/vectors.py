"""The cases of ``tests/vectors/consensus.json``; the README beside it documents the format."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import tallystick

Json = dict[str, Any]

FILE = Path(__file__).resolve().parents[1] / "vectors" / "consensus.json"
RULE_SETS = {"1.0": ("skills@1.0.0",), "1.1": ("skills@1.1.0", "skills@1.2.0")}
"""Which rule sets the answers of a version hold for."""


@cache
def cases(op: str) -> tuple[Json, ...]:
    """The cases of an operation."""
    every = json.loads(FILE.read_text(encoding="utf-8"))["cases"]
    return tuple(case for case in every if case["op"] == op)


@cache
def scorer_of(reference: str) -> tallystick.Scorer:
    """A shipped rule set, loaded once."""
    return tallystick.load(reference)
