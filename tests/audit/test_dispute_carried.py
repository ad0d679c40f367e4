"""Disputes of states that moved over: the first epoch follows from what was carried."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audit.planted import at, nano_more, planted
from examples import fast_rows
from state.test_carry_file import BEFORE, ROUNDS, SKILLS, WORKFLOW, carry_of, lived, written

from tallystick.errors import TrustError
from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import Dispute, dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.side import opened_side
from tallystick_state.ledger import Ledger

PLANTED: list[tuple[str, str, Callable[[list[Any]], object]]] = [
    (SKILLS, "deltas", at(2, nano_more("delta"))),
    (SKILLS, "reputations", at(1, nano_more("after"))),
    (SKILLS, "thresholds", at(0, nano_more("after"))),
    (SKILLS, "weights", at(3, nano_more("score"))),
    (WORKFLOW, "weights", at(3, nano_more("score"))),
]


def moved(folder: Path, rules: str) -> Path:
    """A state that moved over, with two epochs of its own."""
    carry = written(folder, carry_of(lived(folder / "old.db", rules)))
    with Ledger.create(folder / "a.db", rules, carry=carry) as ledger:
        for number in range(2):
            ledger.close_round(ROUNDS[rules][1](BEFORE + number, number))
            ledger.close_epoch()
        write_evidence(ledger, folder / "a.jsonl")
    return folder / "a.db"


def disputed(a: Path, b: Path) -> Dispute:
    with opened_side(a) as mine, opened_side(b) as theirs:
        return dispute(mine, theirs, installed_plugins())


@pytest.mark.parametrize(("rules", "step", "change"), fast_rows(PLANTED, -1))
@pytest.mark.parametrize("epoch", [0, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_liar_of_a_moved_state_is_found(
    tmp_path: Path, rules: str, step: str, change: Callable[[list[Any]], object], epoch: int
) -> None:
    store = moved(tmp_path, rules)
    liar = planted(tmp_path / "a.jsonl", tmp_path / "b.jsonl", epoch, step, change)
    for honest in (store, tmp_path / "a.jsonl"):
        for a, b, wrong in ((honest, liar, "b"), (liar, honest, "a")):
            found = disputed(a, b)
            verdict = found.verdict
            assert (verdict.epoch, verdict.step, verdict.wrong) == (epoch, step, wrong)
            again = read_dispute(dispute_bytes(found), "the dispute")
            again.check(installed_plugins())
            assert again.carried == found.carried is not None


def test_other_carried_values_in_a_dispute_are_refused(tmp_path: Path) -> None:
    moved(tmp_path, SKILLS)
    change = at(1, nano_more("after"))
    liar = planted(tmp_path / "a.jsonl", tmp_path / "b.jsonl", 0, "reputations", change)
    value = json.loads(dispute_bytes(disputed(tmp_path / "a.jsonl", liar)))
    miner = value["carried"]["state"]["miners"]["hk-0"]
    for broken in ("other", "none"):
        if broken == "other":
            miner["reputation"] = dict.fromkeys(miner["reputation"], "0.100000000")
        else:
            del value["carried"]
        data = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        with pytest.raises(TrustError, match="carried values"):
            read_dispute(data.encode() + b"\n", "it").check(installed_plugins())
    header, _, rest = (tmp_path / "a.jsonl").read_text().partition("\n")
    said = json.loads(header)
    said["carried"]["state"]["miners"]["hk-0"]["uid"] = 77
    text = json.dumps(said, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    (tmp_path / "c.jsonl").write_text(f"{text}\n{rest}")
    with pytest.raises(TrustError, match="carried values of another digest"):
        disputed(tmp_path / "a.jsonl", tmp_path / "c.jsonl")
