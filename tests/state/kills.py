"""Kills of a process that takes steps, again and again, and the state that each of them leaves.

A process kills itself at a sign: as a transaction begins, after a statement that writes, before it
commits, or right after.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from state.crashing import (
    STEPS,
    begin,
    died_at,
    files,
    go_on,
    settled,
    signs_of,
    standing,
    undisturbed,
)
from state.databases import drop_database, new_database

from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

Places = Callable[[], str]
"""Gives a place where no store is yet."""


@contextmanager
def places_of(server: str | None, folder: Path) -> Iterator[Places]:
    """Databases of a server of PostgreSQL, or files of SQLite where there is none."""
    numbers, made = count(), list[str]()

    def place() -> str:
        if server is None:
            return str(folder / f"state-{next(numbers)}.db")
        made.append(new_database(server))
        return made[-1]

    yield place
    for url in made:
        drop_database(server or "", url)


def verified(where: str | Path) -> None:
    """The log of a state leads to everything that it holds."""
    with Ledger.open(str(where)) as ledger:
        verify(ledger)


def begun(places: Places) -> str:
    """A new state with every miner."""
    where = places()
    begin(where)
    return where


def kill(places: Places, folder: Path, kills: int, seed: object) -> int:
    """Kill a process so many times while it takes the steps; gives how many died at their sign.

    After each kill the state is as it was before the step or as it is after it.
    """
    sources, rng = files(folder), random.Random(f"{seed}")
    expected = undisturbed(places(), sources)
    signs = signs_of(go_on, begun(places), sources, 0)
    where, at, first, caught = begun(places), 0, 0, 0
    for number in range(kills):
        aim = rng.choice([sign for sign in signs if first <= sign[0] < first + 3])
        (step, _), is_caught = died_at(aim, go_on, where, sources, first)
        caught += is_caught
        settled(where)
        found = standing(where)
        assert found in {expected[max(at, each)] for each in (step, min(step + 1, STEPS))}
        at, first = expected.index(found), step
        if number % 10 == 0 or at == STEPS:
            verified(where)
        if at == STEPS:
            where, at, first = begun(places), 0, 0
    signs_of(go_on, where, sources, first)
    assert standing(where) == expected[-1]
    verified(where)
    return caught
