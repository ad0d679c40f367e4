"""A submission that came late earns nothing, and moves no baseline and no threshold (E96)."""

from pathlib import Path

import pytest
from oracle import reputation as oracle
from state.subnet import record

from tallystick_state.ledger import Ledger

PYTHON = "executable_python"


@pytest.mark.parametrize("rules", oracle.RULES)
def test_a_perfect_answer_that_comes_late_raises_nobodys_bar(rules: str, tmp_path: Path) -> None:
    """With it in time the bar rises, so that the history has what it is for."""
    levels = []
    for number, events in enumerate(([], ["missed_deadline"], None)):
        with Ledger.create(tmp_path / f"{number}.db", rules) as ledger:
            for uid in range(4):
                ledger.register(f"hk-{uid}", uid, [PYTHON])
            lines = [
                record(f"t{uid}", f"hk-{uid}", latency_ms=30_000, events=events or [])
                for uid in range(3 if events is not None else 0)
            ]
            lines += [record("t9", "hk-3", latency_ms=280_000)]
            ledger.import_events(lines)
            ledger.close_epoch()
            with ledger.queries() as queries:
                levels.append(dict(queries.state.thresholds[PYTHON]))
    in_time, late, never = levels
    assert late == never
    assert in_time["novel"] > late["novel"]
