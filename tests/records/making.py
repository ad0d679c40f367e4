"""Records for the tests: made valid, then perhaps spoilt."""

import copy
import random

from generators import record
from packages import folder_of
from records.mutations import places

from tallystick.records.schema import load_schema

FILES = {
    file.name.removesuffix(".schema.json"): file
    for package in ("tallystick_skills", "tallystick_workflow")
    for file in sorted(folder_of(package).glob("schemas/*.schema.json"))
}
SCHEMAS = {name: load_schema(file) for name, file in FILES.items()}
SKILLS = tuple(name for name in SCHEMAS if name != "workflow")

TEXTS = ("", "a", "null", "é😀", "x" * 64, "x" * 65, "x" * 4096, "x" * 4097, "missed_deadline")
NUMBERS = (-1, 0, 1, 5, 1.0, 61000.0, 0.5, 1.5, -0.0, 1e300, 65535, 65536, 10**6, 10**6 + 1, 2**70)
JUNK = (*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], {"a": 1}, {"retry_count": 2})


def make(skill_type: str, seed: int = 0) -> dict:
    """A valid record of a shipped type, which has an answer."""
    rng = random.Random(f"{skill_type} {seed}")
    made = (record(rng, skill_type) for _ in iter(int, 1))
    return next(each for each in made if {"submission", "checks"} <= each.keys())


def spoil(whole: dict, seed: int) -> dict:
    """A record that differs in one or two places, and is often invalid."""
    rng, spoilt = random.Random(seed), copy.deepcopy(whole)
    for _ in range(rng.choice([1, 1, 1, 2])):
        _spoil_once(spoilt, rng)
    return spoilt


def _spoil_once(whole: dict, rng: random.Random) -> None:
    container, key = rng.choice(places(whole))
    found = container[key]
    match rng.randrange(6):
        case 0:
            container[key] = copy.deepcopy(rng.choice(JUNK))
        case 1:
            del container[key]
        case 2 if isinstance(container, dict):
            container[rng.choice(["surplus", "tool", "events", "", "skill_typ"])] = 1
        case 3 if isinstance(found, int | float) and not isinstance(found, bool):
            container[key] = rng.choice([float(found), -found, found + 1, 10**9 + 1, str(found)])
        case 4 if isinstance(found, list) and found:
            found.extend([found[0]] * rng.choice([1, 999, 1001]))
        case _:
            container[key] = rng.choice([None, True, 0, 1, 0.5, "x", "ALLOW", 5.0])
