"""Scoring with the snapshots of a state: a record is scored by what its epoch pins."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from examples import examples
from generators import SKILL_TYPES, lines
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.resources import schema_path
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
PYTHON = "executable_python"
FIRST, SECOND = (f"sha256:{digit * 64}" for digit in "12")

Scorers = dict[str, tallystick.Scorer]


def example(epoch: int = 12) -> dict[str, Any]:
    """The bundled record of a script in Python, whose quality is 0.826978007."""
    record: dict[str, Any] = json.loads(EXAMPLES.read_text(encoding="utf-8").splitlines()[2])
    return record | {"epoch": epoch}


def pinned(digest: str = FIRST, **nano: int) -> ThresholdSnapshot:
    return ThresholdSnapshot({PYTHON: nano}, digest)


def snapshots() -> dict[int, ThresholdSnapshot]:
    """Of some epochs, of some types in each; epochs 1 and 3 pin the same."""
    same = {name: {"baseline": 250_000_000, "novel": 500_000_001} for name in SKILLS}
    return {
        0: ThresholdSnapshot({name: {"baseline": 100_000_000} for name in SKILLS[:3]}, FIRST),
        1: ThresholdSnapshot(same, FIRST),
        3: ThresholdSnapshot(same, SECOND),
        9: ThresholdSnapshot(same, SECOND),
    }


def test_snapshots_stand_over_thresholds_whatever_comes_first(scorers: Scorers) -> None:
    scorer, snapshot = scorers["skills@1.0.0"], {12: pinned(baseline=720_000_000)}
    other = {PYTHON: {"baseline": "0.9"}}
    for both in (
        scorer.with_snapshots(snapshot).with_thresholds(other),
        scorer.with_thresholds(other).with_snapshots(snapshot),
    ):
        assert both.score(example(12)).tier == "tier_1_reference"
        assert both.score(example(13)).tier == "below_reference"


LEVELS = st.fixed_dictionaries(
    {"baseline": st.integers(0, 666_666_666)},
    optional={"novel": st.integers(800_000_000, 1_000_000_000)},
)


@examples(15)
@given(
    st.dictionaries(st.integers(0, 5), LEVELS, min_size=1),
    st.lists(st.integers(0, 7), min_size=1, max_size=12),
)
def test_each_record_scores_as_if_its_snapshot_were_the_only_one(
    scorers: Scorers, levels: dict[int, dict[str, int]], epochs: list[int]
) -> None:
    scorer = scorers["skills@1.0.0"]
    many = scorer.with_snapshots({epoch: pinned(**each) for epoch, each in levels.items()})
    found = many.score_lines([json.dumps(example(epoch)).encode() for epoch in epochs])
    for epoch, result in zip(epochs, found.results(), strict=True):
        own = levels.get(epoch, {"baseline": 500_000_000})
        exact = {name: Decimal(nano).scaleb(-9) for name, nano in own.items()}
        alone = scorer.with_thresholds({PYTHON: exact})
        assert result == alone.score(example(epoch), line=result.record)
    assert found.snapshots == set(epochs) & set(levels)


class Recorder(dict[int, ThresholdSnapshot]):
    """Snapshots that note which of them are read."""

    def __init__(self, snapshots: dict[int, ThresholdSnapshot]) -> None:
        super().__init__(snapshots)
        self.read: list[int] = []

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        found = super().__getitem__(epoch)
        self.read.append(epoch)
        return found


def test_a_snapshot_is_read_once_and_only_if_a_record_needs_it(scorers: Scorers) -> None:
    stored = Recorder(snapshots())
    scorer = scorers["skills@1.0.0"].with_snapshots(stored)
    assert stored.read == []
    data = [json.dumps(example(epoch)).encode() for epoch in (3, 5, 3, 1)]
    scorer.score_lines(data)
    scorer.score_lines(data)
    scorer.score(example(3))
    assert sorted(stored.read) == [1, 3]


@pytest.mark.parametrize(
    ("thresholds", "message"),
    [
        ({"nothing": {}}, "skill type 'nothing'"),
        ({PYTHON: {"best": 1}}, "the thresholds .*best"),
        ({PYTHON: {"baseline": 1_000_000_001}}, "baseline to be 1.000000001"),
        ({PYTHON: {"novel": -1}}, "novel to be"),
    ],
)
def test_a_snapshot_of_another_rule_set_is_refused(
    scorers: Scorers, thresholds: dict[str, dict[str, int]], message: str
) -> None:
    with pytest.raises(tallystick.TallystickError, match=message):
        scorers["skills@1.0.0"].with_snapshots({12: ThresholdSnapshot(thresholds, FIRST)}).score(
            example()
        )


def test_a_type_without_tiers_pins_nothing(scorers: Scorers) -> None:
    data = [line.strip() for line in lines(3, 60, ["workflow"])]
    wrong = scorers["workflow@1.0.0"].with_snapshots(
        {0: ThresholdSnapshot({"workflow": {}}, FIRST)}
    )
    with pytest.raises(tallystick.TallystickError, match="no tiers for workflow"):
        wrong.score_lines(data)
    scorer = scorers["workflow@1.0.0"].with_snapshots({0: ThresholdSnapshot({}, FIRST)})
    plain = scorers["workflow@1.0.0"].score_lines(data)
    assert list(scorer.score_lines(data).results()) == list(plain.results())


def test_the_receipt_names_the_snapshots_of_the_epochs_of_the_records(
    scorers: Scorers, tmp_path: Path
) -> None:
    schema = json.loads(schema_path("receipt-1").read_text(encoding="utf-8"))
    raw, scorer = tmp_path / "raw.jsonl", scorers["skills@1.0.0"].with_snapshots(snapshots())
    for scored, epochs, named in (
        (scorer, (3, 0, 3, 4), {"0": FIRST, "3": SECOND}),
        (scorer, (4,), {}),
        (scorers["skills@1.0.0"], (0,), None),
    ):
        raw.write_text("\n".join(json.dumps(example(epoch)) for epoch in epochs), encoding="utf-8")
        receipt = scored.score_file(raw, tmp_path / "out.jsonl").to_dict()
        jsonschema.validate(receipt, schema)
        assert receipt["snapshots"] == named
