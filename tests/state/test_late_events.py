"""Events that come late, pinned rounds, several validators, flags: figures worked out by hand."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from examples import fast_rows
from state.subnet import Record, event, in_nano, missed, record

from tallystick_state.ledger import Ledger

PYTHON = "executable_python"


def begun(folder: Path, name: str) -> Ledger:
    ledger = Ledger.create(str(folder / f"{name}.db"), name)
    for uid in (1, 2, 3):
        ledger.register(f"hk-{uid}", uid, [PYTHON, "mcp_server"])
    return ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with begun(tmp_path, "skills@1.0.0") as found:
        yield found


@pytest.fixture
def corrected(tmp_path: Path) -> Iterator[Ledger]:
    with begun(tmp_path, "skills@1.1.0") as found:
        yield found


def reputation(ledger: Ledger, hotkey: str = "hk-1", skill_type: str = PYTHON) -> int:
    with ledger.queries() as queries:
        return in_nano(queries.profile(hotkey).reputation)[skill_type]


def after(ledger: Ledger, *lines: Record) -> int:
    ledger.import_events(lines)
    ledger.close_epoch()
    return reputation(ledger)


@pytest.mark.parametrize(
    ("name", "expected"),
    fast_rows(
        [
            ("rerun_pass", 452_000_000),
            ("rerun_fail", 435_000_000),
            ("digest_mismatch", 425_000_000),
            ("validity_violation", 425_000_000),
            ("probe_fail", 435_000_000),
            ("collusion_flag", 430_000_000),
            ("parse_failure", 450_000_000),
            ("early_arrival", 450_000_000),
        ],
        0,
        2,
        6,
        7,
    ),
)
def test_each_event_alone_late_or_in_its_record(
    ledger: Ledger, tmp_path: Path, name: str, expected: int
) -> None:
    """0.9 · 0.5 + 0.1 · δ; what 1.0 does not list changes nothing, but its record counts (E39)."""
    assert after(ledger, event("e1", name, "t1")) == expected
    with begun(tmp_path, "skills@1.1.0") as other:
        added = {"parse_failure": 475_000_000, "early_arrival": 485_000_000}
        drifted = added.get(name, expected + 50_000_000)
        assert after(other, record("t1", consensus=None, events=[name])) == drifted


def test_a_late_event_joins_the_record_that_it_is_about(ledger: Ledger) -> None:
    """0.5 · 0.7 + 0.02 − 0.5 = −0.13 of one record; two records would have the mean −0.065."""
    ledger.import_events([record("t1")])
    assert after(ledger, event("e1", "rerun_fail", "t1")) == 437_000_000


def test_an_event_of_another_validator_is_a_record_of_its_own(ledger: Ledger) -> None:
    lines = [record("t1"), event("e1", "rerun_fail", "t1", validator="val-2")]
    assert after(ledger, *lines) == 443_500_000


def test_a_late_event_of_a_closed_epoch_counts_in_the_open_one(ledger: Ledger) -> None:
    """It multiplies the reputation of the epoch that it is pinned to: 0.5 · −0.3, not 0.452."""
    assert after(ledger, record("t1")) == 452_000_000
    late = event("e1", "rerun_fail", "t1")
    assert after(ledger, late) == 391_800_000  # 0.9 · 0.452 − 0.1 · 0.15


def test_a_missed_deadline_has_no_part_in_the_mean(ledger: Ledger, corrected: Ledger) -> None:
    for each, other in ((ledger, 452_000_000), (corrected, 502_000_000)):
        assert after(each, missed("t1")) == 500_000_000
        assert after(each, missed("t2", round=1, epoch=1)) == 500_000_000
        line = record("t3", round=1, epoch=1)
        assert after(each, missed("t4", round=1, epoch=1), line) == other


def test_the_mean_is_over_records_or_over_validators(ledger: Ledger, corrected: Ledger) -> None:
    """Three of one validator that pass, one of another that fails by 0.025 (E29)."""
    lines = [record(f"t{n}") for n in range(3)]
    lines.append(record("t1", validator="val-2", consensus=0.1))
    assert after(ledger, *lines) == 450_875_000  # (3 · 0.02 − 0.025) / 4
    assert after(corrected, *lines) == 499_750_000  # (0.02 − 0.025) / 2


def pinned_scores(ledger: Ledger, line: Record) -> dict[str, int]:
    rounds, _ = ledger.close_round([line])
    return in_nano(rounds[0].scores)


def test_a_round_keeps_its_snapshot_after_the_boundary(ledger: Ledger) -> None:
    """Five perfect results make the baseline 1 and the novel threshold 1.5: tier 3 becomes tier 1.

    A record of epoch 0 keeps its 2 · 1.15 · 0.8 all the same (E40).
    """
    ledger.import_events(record(f"t{n}", f"hk-{1 + n % 3}") for n in range(5))
    ledger.close_epoch()
    with ledger.queries() as queries:
        assert queries.state.thresholds[PYTHON] == {"baseline": 10**9, "novel": 15 * 10**8}
    old = pinned_scores(ledger, record("t8", round=8, epoch=0, consensus=0.8))
    assert old == {"hk-1": 1_840_000_000}
    new = pinned_scores(ledger, record("t9", round=9, epoch=1, consensus=0.8))
    assert new == {"hk-1": 920_000_000}


def test_the_reputation_of_a_round_score_is_that_of_its_snapshot(corrected: Ledger) -> None:
    """1.1: Σ(emission · reputation) / Σ base weight, so 2.3 · 0.5 and 2.3 · 0.502."""
    corrected.import_events([record("t1")])
    corrected.close_epoch()
    old = pinned_scores(corrected, record("t2", round=1, epoch=0))
    new = pinned_scores(corrected, record("t3", round=2, epoch=1))
    assert (old["hk-1"], new["hk-1"]) == (1_150_000_000, 1_154_600_000)


def test_flags_eject_at_once_and_clearing_returns(ledger: Ledger) -> None:
    def group() -> tuple[str, ...]:
        return ledger.select_group(PYTHON, 1, "seed").primaries

    def flagged(number: int, skill_type: str = PYTHON) -> Record:
        return event(f"e{number}", "collusion_flag", f"t{number}", skill_type=skill_type)

    ledger.import_events([flagged(1), flagged(2, "mcp_server")])
    assert group() == ("hk-1", "hk-2", "hk-3")
    ledger.import_events([flagged(3), flagged(3)])
    assert group() == ("hk-2", "hk-3")
    with ledger.queries() as queries:
        assert queries.profile("hk-1").rank == {PYTHON: None, "mcp_server": None}
        assert [each.hotkey for each in queries.board(PYTHON)] == ["hk-2", "hk-3"]
    assert ledger.clear("hk-1") == 3
    assert group() == ("hk-1", "hk-2", "hk-3")
    assert ledger.clear("hk-1") == 0


def test_a_flag_in_a_record_counts_as_one_that_came_alone(ledger: Ledger) -> None:
    ledger.import_events([record("t1", events=["collusion_flag"]), record("t2")])
    ledger.import_events([record("t1", events=["collusion_flag"])])
    with ledger.queries() as queries:
        assert queries.state.miners["hk-1"].flags == 1
