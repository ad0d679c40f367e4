"""Who was told something else of a round than another is not wrong: nobody can derive that."""

from pathlib import Path

from state.test_attributes import begun, rules, said, sent

from tallystick.scoring.scorer import Scorer
from tallystick_state.audit.dispute import dispute, dispute_bytes, read_dispute
from tallystick_state.audit.side import opened_side
from tallystick_state.transfer import export_state

__all__ = ["rules"]


def test_weights_of_other_attributes_are_told_and_nobody_is_wrong(
    rules: tuple[Path, Scorer], tmp_path: Path
) -> None:
    registry = rules[1].registry
    for side, salt in (("a", "seed-0"), ("b", "other")):
        with begun(tmp_path / f"{side}.db", rules) as ledger:
            ledger.import_events(sent(0))
            ledger.close_epoch(round=said(0, salt=salt))
            export_state(ledger, tmp_path / f"{side}.jsonl")
    with (
        opened_side(tmp_path / "a.jsonl", registry) as a,
        opened_side(tmp_path / "b.jsonl", registry) as b,
    ):
        found = dispute(a, b, registry)
    assert (found.verdict.kind, found.verdict.step, found.verdict.wrong) == (
        "membership",
        "weights",
        "undecided",
    )
    assert "depends on miner.helper, round.reserved, round.salt" in found.verdict.reason
    read_dispute(dispute_bytes(found), "dispute.json").check(registry)
