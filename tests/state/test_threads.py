"""Threads on one store, of one ledger or each of its own: one order, and nothing happens twice."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import TypeVar

import pytest
from state.chronicle import digest_of
from state.subnet import begun, hotkeys, record

from tallystick import Ledger, Reject, Weights
from tallystick.errors import StateError
from tallystick_state.replay import verify

RULES = "skills@1.1.0"
MINERS, ROUNDS, RACERS = 4, 6, 3
Answer = TypeVar("Answer")


def step_of(number: int) -> list[dict[str, object]]:
    good = [record(f"t{number}-{n}", f"hk-{n % MINERS}", round=number) for n in range(8)]
    return [*good[:3], record(f"t{number}", "nobody", round=number), *good[3:]]


def weights_of(ledger: Ledger) -> Weights:
    with ledger.queries() as queries:
        return queries.weights()


@pytest.fixture
def ledger(where: str) -> Ledger:
    return begun(where, RULES, hotkeys(MINERS))


async def _validated(ledger: Ledger) -> list[int]:
    """Six steps at once, and whoever asks for weights meanwhile."""
    steps = [
        asyncio.to_thread(ledger.close_round, step_of(number), number, bad="reject")
        for number in range(ROUNDS)
    ]
    asked = [asyncio.to_thread(weights_of, ledger) for _ in range(ROUNDS)]
    done, _ = await asyncio.gather(asyncio.gather(*steps), asyncio.gather(*asked))
    for _, found in done:
        assert [isinstance(each, Reject) for each in found.results].index(True) == 3
    return [found.events for _, found in done]


def test_steps_that_are_awaited_at_once_are_those_taken_one_by_one(
    ledger: Ledger, tmp_path: Path
) -> None:
    assert asyncio.run(_validated(ledger)) == [8] * ROUNDS
    with begun(tmp_path / "serial.db", RULES, hotkeys(MINERS)) as serial:
        for number in reversed(range(ROUNDS)):
            serial.close_round(step_of(number), number, bad="reject")
        assert digest_of(ledger) == digest_of(serial)
        assert weights_of(ledger).uint16 == weights_of(serial).uint16
    verify(ledger)


def test_threads_see_the_rules_of_their_own_transaction(tmp_path: Path) -> None:
    """One thread schedules and takes back rules, the others ask and score meanwhile."""
    with begun(tmp_path / "state.db", RULES, hotkeys(MINERS)) as ledger:
        start = Barrier(3)

        def changing() -> None:
            start.wait()
            for _ in range(6):
                ledger.adopt("skills@1.2.0", 5)
                ledger.withdraw()

        def asking() -> set[int]:
            start.wait()
            seen = set[int]()
            for _ in range(40):
                with ledger.queries() as queries:
                    last = queries.transaction.last_rules_seq()
                    assert queries.in_force.seq == last
                    seen.add(last)
            return seen

        def closing() -> int:
            start.wait()
            rounds = range(ROUNDS)
            taken = (ledger.close_round(step_of(n), n, bad="reject")[1] for n in rounds)
            return sum(found.events for found in taken)

        with ThreadPoolExecutor(3) as pool:
            changes, questions, closed = map(pool.submit, (changing, asking, closing))
            assert changes.result() is None
            assert questions.result()
            assert closed.result() == 8 * ROUNDS
        assert ledger.in_force.schedules["skills"].sequence == 12
        verify(ledger)


def race(where: str, change: Callable[[Ledger, int], Answer]) -> list[Answer]:
    """The answers to a change that threads make at the same instant, each by its own ledger."""
    start = Barrier(RACERS)

    def racer(number: int) -> Answer:
        with Ledger.open(where) as ledger:
            start.wait()
            return change(ledger, number)

    with ThreadPoolExecutor(RACERS) as pool:
        return [*pool.map(racer, range(RACERS))]


def adopted(ledger: Ledger, _: int) -> str:
    try:
        return ledger.adopt("skills@1.2.0", 1).value.rule_set.reference
    except StateError as refused:
        return refused.code


def test_of_ledgers_that_race_each_change_is_made_once(
    ledger: Ledger, where: str, tmp_path: Path
) -> None:
    records = [record(f"t{n}", f"hk-{n % MINERS}") for n in range(60)]
    # every part has records of its own, and some that the others have too
    parts = [records[n::RACERS] + records[:20] for n in range(RACERS)]
    ingested = race(where, lambda racer, n: racer.import_events(parts[n]))
    assert sum(each.events for each in ingested) == len(records)
    assert sorted(race(where, adopted)) == ["epoch-order"] * (RACERS - 1) + ["skills@1.2.0"]
    closed = race(where, lambda racer, _: racer.close_epoch(0))
    assert sorted(each.already for each in closed) == [False] + [True] * (RACERS - 1)
    assert all(each.snapshot == closed[0].snapshot for each in closed)
    # who had the state open before follows
    assert ledger.rules.rule_set.reference == "skills@1.2.0"
    verify(ledger)
    with begun(tmp_path / "alone.db", RULES, hotkeys(MINERS)) as alone:
        alone.import_events(records)
        alone.adopt("skills@1.2.0", 1)
        alone.close_epoch(0)
        assert digest_of(alone) == digest_of(ledger)
