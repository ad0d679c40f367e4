"""Records for the tests: made valid, then perhaps spoilt."""

import json
import random

from generators import record
from packages import folder_of
from records.mutations import MUTATIONS, mutated

from tallystick.records.schema import load_schema

FILES = {
    file.name.removesuffix(".schema.json"): file
    for package in ("tallystick_skills", "tallystick_workflow")
    for file in sorted(folder_of(package).glob("schemas/*.schema.json"))
}
SCHEMAS = {name: load_schema(file) for name, file in FILES.items()}
NO_VALUES = {"not-finite", "odd-number", "odd-text", "deep"}
VALUES = tuple(name for name in MUTATIONS if name not in NO_VALUES)
"""Changes of a record to one that every reader of JSON takes."""


def make(skill_type: str, seed: int = 0) -> dict:
    """A valid record of a shipped type, which has an answer."""
    rng = random.Random(f"{skill_type} {seed}")
    made = (record(rng, skill_type) for _ in iter(int, 1))
    return next(each for each in made if {"submission", "checks"} <= each.keys())


def spoil(whole: dict, seed: int) -> dict:
    """A record that differs in one or two places, and is often invalid."""
    rng, spoilt = random.Random(seed), whole
    for _ in range(rng.choice([1, 1, 1, 2])):
        text = mutated(spoilt, rng.choice(VALUES), rng)
        spoilt = spoilt if text is None else json.loads(text)
    return spoilt
