"""States under the workflow rule sets: windows of tasks, the cap, and epochs that only count."""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from oracle.decimals import published
from state.subnet import Record

from tallystick.errors import StateError
from tallystick_state.ledger import Ledger
from tallystick_state.queries import Weights


@pytest.fixture(params=["workflow@1.0.0", "workflow@1.1.0"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(str(tmp_path / "state.db"), request.param) as found:
        yield found


def task(number: int, hotkey: str, quality: float, **values: Any) -> Record:  # noqa: ANN401  # of any field
    """A faultless workflow of a quality: 0.5 · quality, and 0.1 for its reliability.

    Its budget and its time are used up, so that neither earns anything.
    """
    made = {
        "skill_type": "workflow",
        "task_id": f"t{number:04}",
        "round": number,
        "epoch": 0,
        "validator": "val-1",
        "miner": {"uid": 1, "hotkey": hotkey},
        "role": "primary",
        "task": {"max_budget_tao": 1, "max_latency_seconds": 1},
        "submission": {"error_handling": {}},
        "checks": {
            "output_quality": quality,
            "steps_completed": 1,
            "total_steps": 1,
            "actual_tao": 1,
            "actual_seconds": 1,
            "actual_retries": 0,
            "timeouts": 0,
            "hard_failures": 0,
        },
    }
    return made | values


def score(quality: str) -> Fraction:
    return Fraction(quality) / 2 + Fraction("0.1")


def registered(ledger: Ledger, count: int) -> None:
    for uid in range(count):
        ledger.register(f"hk-{uid}", 100 - uid, ["workflow"])


def weights(ledger: Ledger) -> Weights:
    with ledger.queries() as queries:
        return queries.weights()


def nano(*shares: Fraction) -> tuple[Fraction, ...]:
    return tuple(published(share) for share in shares)


def test_records_of_any_epoch_are_taken_and_epochs_only_count(ledger: Ledger) -> None:
    registered(ledger, 1)
    ledger.import_events([task(1, "hk-0", 1, epoch=2_147_483_647)])
    with ledger.queries() as queries:
        before = queries.state
    ledger.close_epoch()
    ledger.close_epoch()
    with ledger.queries() as queries:
        assert (queries.state.epoch, queries.state.miners) == (2, before.miners)
    assert weights(ledger).uids == (100,)


def test_the_window_is_the_last_hundred_tasks_across_rounds_and_epochs(ledger: Ledger) -> None:
    """hk-0: 20 tasks at 0.2 fall out of the window but for one by one; hk-1 always has 0.5."""
    registered(ledger, 2)
    low = [task(n, "hk-0", 0.2) for n in range(20)]
    high = [task(n, "hk-0", 0.8) for n in range(20, 119)]
    ledger.import_events([*high[::-1], *low, task(1, "hk-1", 0.6)])
    ledger.close_epoch()
    other = score("0.6")

    def shares(mean: Fraction) -> tuple[Fraction, ...]:
        """By ascending slot: hk-1 has 99."""
        mean = published(mean)
        return nano(other / (mean + other), mean / (mean + other))

    # 119 tasks: one of the low ones is left
    found = weights(ledger)
    assert found.uids == (99, 100)
    assert found.weights == nano(*(Fraction(1, 2),) * 2)  # the cap of two miners is 1/2
    registered(ledger, 2)
    for uid in range(2, 10):
        ledger.register(f"hk-{uid}", 100 - uid, ["workflow"])
        ledger.import_events([task(500 + uid, f"hk-{uid}", 0.6)])
    mean = (99 * score("0.8") + score("0.2")) / 100
    total = published(mean) + 9 * other
    assert weights(ledger).weights[-1] == nano(published(mean) / total)[0]
    assert shares(mean)[1] > Fraction(1, 2)
    ledger.import_events([task(900, "hk-0", 0.8)])
    total = score("0.8") + 9 * other
    assert weights(ledger).weights[-1] == nano(score("0.8") / total)[0]


def test_there_is_no_emission_no_round_score_and_no_group(ledger: Ledger) -> None:
    registered(ledger, 1)
    rounds, recorded = ledger.close_round([task(3, "hk-0", 1)])
    assert (recorded.events, rounds[0].round, rounds[0].scores) == (1, 3, {})
    with ledger.queries() as queries, pytest.raises(StateError, match=r"found no \["):
        queries.board("workflow")
    with pytest.raises(StateError, match=r"found no \[groups\]"):
        ledger.select_group("workflow", 1, "seed")
