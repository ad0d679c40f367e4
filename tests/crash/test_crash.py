"""Killed at a write, whatever changes or copies a state leaves the one before or the one after."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from crash.counted import apart
from crash.harness import Choice, every, few, killed
from crash.operations import OPERATIONS, STARTS, prepare
from state.databases import KINDS, new_database, server

__all__ = ["server"]

ON_A_SERVER = frozenset(
    (
        *("init", "import", "rebuild", "events import", "round close"),
        *("epoch close", "adopt", "together", "prune", "export"),
    )
)
"""Operations that are killed on PostgreSQL in every run; the others are at night."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of what operations read."""
    folder = tmp_path_factory.mktemp("crash")
    prepare(folder)
    return folder


@pytest.fixture(scope="module")
def begun(inputs: Path) -> Callable[[str | None, str | None], str | None]:
    """The place of a start that an operation begins with, made once on each kind of database."""
    made: dict[tuple[str | None, str], str] = {}

    def start_of(name: str | None, server: str | None) -> str | None:
        if name is None:
            return None
        if (server, name) not in made:
            place = str(inputs / f"{name}-start.db") if server is None else new_database(server)
            STARTS[name](place, inputs)
            made[server, name] = place
        return made[server, name]

    return start_of


def cases() -> Iterator[object]:
    """Each operation on each kind of database, a few of its writes, and all of them."""
    for kind in KINDS:
        for name in OPERATIONS:
            chosen = kind == "sqlite" or name in ON_A_SERVER
            mark = pytest.mark.process if chosen else pytest.mark.nightly
            yield pytest.param(name, kind, few, marks=mark, id=f"{name}-{kind}-few")
            yield pytest.param(
                name, kind, every, marks=pytest.mark.nightly, id=f"{name}-{kind}-every"
            )


@pytest.mark.parametrize(("operation", "kind", "choice"), [*cases()])
def test_killed_at_a_write_it_is_whole_or_not_there(  # noqa: PLR0913, PLR0917  # three are fixtures
    operation: str,
    kind: str,
    choice: Choice,
    inputs: Path,
    begun: Callable[[str | None, str | None], str | None],
    request: pytest.FixtureRequest,
) -> None:
    url = request.getfixturevalue("server") if kind == "postgresql" else None
    start = begun(OPERATIONS[operation].start, url)
    found = apart(killed, operation, start, url, inputs, choice)
    assert found.problems == []
    assert found.kills >= 3
    assert not found.changes or 0 < found.old < found.kills
