"""One harness of crashes: killed at any write, a state is the one before or the one after.

Whoever goes on from there comes to the same digest as one that nobody killed.
"""

import shutil
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from attrs import frozen
from crash.counted import END, Limit, Run, kill, run
from crash.operations import OLD, OPERATIONS, Case, View, before, view
from state.databases import drop_database, new_database

import tallystick
from tallystick.errors import StoreError
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify
from tallystick_state.store import connection

_PAGE = 4096

Start = str | None
"""The place of a state that an operation begins with, closed by everybody."""


@frozen
class Kills:
    """The result of the kills of an operation.

    Attributes:
        kills: how many processes were killed.
        old: how many of them left the state before.
        changes: whether one can be told from the other.
        problems: what was otherwise than it must be.
    """

    kills: int
    old: int
    changes: bool
    problems: Sequence[str]


def few(of: Run, is_file: bool) -> Iterable[Limit]:
    """Limits around each commit and each name that a file takes, the first and the last ones.

    Two more stand in the middle of what is written, and of what SQLite moves from its log.
    """
    ends = [n for n, kind in enumerate(of.writes) if kind in {"COMMIT", "os.rename", END}]
    numbers = {0, len(of.writes) // 2, *(n for n in (ends if len(ends) < 5 else ends[-4:]))}
    yield from (Limit(n) for n in sorted(numbers))
    if is_file:
        largest = max(of.sizes)
        yield from (Limit(size=size) for size in {largest // 3 | 1, largest - _PAGE // 2})


def every(of: Run, is_file: bool) -> Iterable[Limit]:
    """A limit at each write, and some within each page that is written."""
    yield from map(Limit, range(len(of.writes)))
    if is_file:
        yield from (Limit(size=size) for size in range(1, max(of.sizes), _PAGE + 1000))


Choice = Callable[[Run, bool], Iterable[Limit]]


def killed(name: str, start: Start, server: str | None, inputs: Path, choice: Choice) -> Kills:
    """Kill an operation at each limit that is chosen, in this process without threads.

    The log is replayed, and one more epoch closed, for the first kill that left the state before
    and the first that left the one after; for each kill where there is one at every write.
    """
    connection.SYNCHRONOUS = "OFF"
    operation, problems, old, kills = OPERATIONS[name], list[str](), 0, 0
    followed = list[View]()
    with _case(start, server, inputs) as case:
        first = view_or_none(case)
    with _case(start, server, inputs) as case:
        run(lambda: operation.work(case), case.outputs)
        # what the process left open is brought in
        last = view_or_none(case)
        end = _gone_on(case)
    with _case(start, server, inputs) as case:
        # counted last: what this process has met once, its forks do not write again
        whole = run(lambda: operation.work(case), case.outputs)
    for limit in choice(whole, server is None):
        with _case(start, server, inputs) as case:
            try:
                if not kill(lambda: operation.work(case), limit):
                    # not every size is reached
                    assert limit.write is None, "the process ended by itself"
                    continue
                kills += 1
                found = view_or_none(case)
                assert found in (first, last), "neither the state before nor the one after"
                assert found == last or limit.write is None or whole.writes[limit.write] != END
                old += found == first
                if found == first or operation.again:
                    operation.work(case)
                assert view_or_none(case) == last, "going on led elsewhere"
                if choice is every or found not in followed:
                    followed.append(found)
                    assert _gone_on(case) == end, "the next epoch led elsewhere"
            except Exception:  # noqa: BLE001  # whatever it is, it is a problem
                kind = "" if limit.write is None else whole.writes[limit.write]
                problems.append(f"{name} at {limit} {kind}: {traceback.format_exc(limit=-4)}")
    return Kills(kills, old, first != last, problems)


def kills_of_scoring(source: Path, outputs: Sequence[Path]) -> int:
    """Score a file into each output, killed one write later each time; give how often it was."""
    scorer = tallystick.load(OLD)
    for write, output in enumerate(outputs):
        if not kill(lambda output=output: scorer.score_file(source, output), Limit(write)):
            return write
    raise AssertionError(f"killed at each of {len(outputs)} writes")


def view_or_none(case: Case) -> View:
    """The view of a case; where there is no store, one that says so."""
    try:
        return view(case)
    except StoreError as error:
        assert "found no store" in str(error)  # noqa: PT017  # every other error is raised
        return view(Case("/nowhere", case.outputs, case.inputs))


def _gone_on(case: Case) -> str:
    """Close an epoch, and give the digest once the log leads to it."""
    with Ledger.open(case.where) as ledger:
        ledger.close_epoch()
        verify(ledger)
        with ledger.queries() as queries:
            return queries.digest()


@contextmanager
def _case(start: Start, server: str | None, inputs: Path) -> Iterator[Case]:
    """A case of its own, with a copy of the start."""
    with TemporaryDirectory(dir=inputs) as folder:
        outputs = Path(folder)
        if server is None:
            where = str(outputs / "state.db")
            if start is not None:
                shutil.copy(start, where)
        else:
            where = new_database(server, template=start)
        case = Case(where, outputs, inputs)
        before(case)
        try:
            yield case
        finally:
            if server is not None:
                drop_database(server, where)
