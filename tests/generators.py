"""Seeded records of every shipped type, as the engine makes up those of a network."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache
from random import Random
from typing import Any

import attrs

from tallystick.plugins.registry import installed
from tallystick_conformance.testing.history import History, history_of

Record = dict[str, Any]

SKILL_TYPES = (
    "rag_knowledge",
    "declarative",
    "executable_python",
    "executable_script",
    "mcp_server",
    "agent_composition",
    "workflow",
)
EPOCHS = 60
"""A bonus of the first rule sets ends in the middle of them."""


def lines(seed: int, count: int, skill_types: Sequence[str] = SKILL_TYPES) -> Iterator[bytes]:
    """Valid records as JSONL, each line with its newline; the types take turns.

    Args:
        seed: equal seeds give equal bytes.
        count: number of lines.
        skill_types: the types to choose from.
    """
    return attrs.evolve(_history(tuple(skill_types)), seed=seed).lines(count)


def record(random: Random, skill_type: str) -> Record:
    """A valid record of an epoch and a role at random; equal states give equal records."""
    (line,) = lines(random.getrandbits(32), 1, (skill_type,))
    made: Record = json.loads(line)
    made["round"] = made["epoch"] = random.randrange(EPOCHS)
    return made | {"role": random.choice(("primary", "primary", "auditor"))}


@cache
def _history(skill_types: tuple[str, ...]) -> History:
    types = [installed().skill_types[name] for name in skill_types]
    return history_of(0, types, miners=256, validators=2, epochs=EPOCHS, rounds=1)
