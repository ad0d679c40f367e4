"""Rules that change: each record is scored by those of its epoch, whatever stands beside it."""

import json
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pyarrow.parquet as pq
import pytest
from generators import SKILL_TYPES, lines
from scoring.executors.elsewhere import Pickled

import tallystick
from tallystick.errors import RecordError
from tallystick.io.sources import ItemSource
from tallystick.records.rejects import Reject
from tallystick.rules.timeline import Timeline
from tallystick.scoring.bound_rules import BoundRules, bound_over
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import EventDecoder

Scorers = dict[str, Scorer]
OLD, NEW, NEWEST = "skills@1.0.0", "skills@1.1.0", "skills@1.2.0"
SECOND, THIRD, END = 20, 40, 60
SPANS = ((OLD, range(SECOND)), (NEW, range(SECOND, THIRD)), (NEWEST, range(THIRD, END)))
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
GONE = "mcp_server"


def changing(scorers: Scorers) -> Scorer:
    """The three versions, one after the other."""
    first: Timeline[BoundRules] = Timeline(scorers[OLD])
    line = first.extended(SECOND, scorers[NEW]).extended(THIRD, scorers[NEWEST])
    return Scorer.of(bound_over([line]))


def without(rules: BoundRules, name: str) -> BoundRules:
    """The rules without a skill type."""
    types = {each: bound for each, bound in rules.types.items() if each != name}
    return attrs.evolve(rules, types=types)


def records(count: int = 300) -> list[bytes]:
    """Seeded records of every type in mixed epochs; some miss their deadline, some are none."""
    random, found = Random(count), list[bytes]()
    for line in lines(11, count, SKILLS):
        whole = json.loads(line) | {"epoch": random.randrange(END)}
        if random.random() < 0.05:
            whole = {name: value for name, value in whole.items() if name != "submission"}
            whole["events"] = ["missed_deadline"]
        found.append(json.dumps(whole).encode())
    found[7::97] = [b"{", *[b'{"skill_type": "none"}'] * (len(found[7::97]) - 1)]
    return found


def epoch_of(line: bytes) -> int:
    try:
        return int(json.loads(line).get("epoch", 0))
    except ValueError:
        return 0


def span_by_span(scorers: Scorers, data: list[bytes]) -> list[Result | Reject]:
    """What each version alone says of the records of its epochs, in the order of all."""
    found = dict[int, Result | Reject]()
    for name, epochs in SPANS:
        own = [number for number, line in enumerate(data, 1) if epoch_of(line) in epochs]
        for number in own:
            (said,) = scorers[name].score_many([data[number - 1]])
            place = "record" if isinstance(said, Result) else "line"
            found[number] = attrs.evolve(said, **{place: number})
    return [found[number] for number in sorted(found)]


def test_a_chunk_of_mixed_epochs_is_scored_span_by_span(scorers: Scorers) -> None:
    data = records()
    batch = changing(scorers).score_lines(data)
    expected = span_by_span(scorers, data)
    assert list(batch.results()) == [each for each in expected if isinstance(each, Result)]
    assert list(batch.rejects) == [each for each in expected if isinstance(each, Reject)]
    assert batch.rejects


def test_snapshots_are_completed_by_the_rules_of_their_epochs(scorers: Scorers) -> None:
    data = records(300)
    pinned = {
        epoch: ThresholdSnapshot({name: {"baseline": 310_000_000} for name in SKILLS}, f"{epoch}")
        for epoch in (3, 25, 50)
    }
    found = changing(scorers).with_snapshots(pinned).score_lines(data)
    alone = {name: scorers[name].with_snapshots(pinned) for name, _ in SPANS}
    expected = span_by_span(alone, data)
    assert list(found.results()) == [each for each in expected if isinstance(each, Result)]
    assert list(found.rejects) == [each for each in expected if isinstance(each, Reject)]
    assert found.snapshots == {epoch for epoch in map(epoch_of, data) if epoch in pinned}


def test_a_threshold_that_earlier_rules_could_reach_is_carried(scorers: Scorers) -> None:
    # 1.5 times the baseline under 1.0.0, never above 1 under 1.1.0
    pinned = {SECOND: ThresholdSnapshot({"executable_python": {"novel": 1_400_000_000}}, "")}
    whole = next(r for line in records(60) if (r := as_record(line, "executable_python")))
    record = whole | {"epoch": SECOND}
    with pytest.raises(tallystick.TallystickError, match="the threshold novel to be"):
        scorers[NEW].with_snapshots(pinned).score(record)
    found = changing(scorers).with_snapshots(pinned).explain(record)
    assert found.tier is not None
    assert {each.name: str(each.edge) for each in found.tier.thresholds}["novel"] == "1.400000000"


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", ["out.jsonl", pytest.param("out.parquet", marks=pytest.mark.nightly)]
)
def test_files_are_the_same_for_tasks_that_are_sent_and_of_facts(
    scorers: Scorers, tmp_path: Path, name: str
) -> None:
    source, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    good = [line for line in records(200) if line.startswith(b'{"') and b"none" not in line]
    source.write_bytes(b"\n".join(good))
    extract_file(source, facts, scorers[OLD].registry)
    scorer, written = changing(scorers), list[bytes]()
    for given, executor in ((source, None), (source, Pickled()), (facts, None)):
        output = tmp_path / f"{len(written)}-{name}"
        receipt = scorer.score_file(given, output, executor=executor)
        written.append(output.read_bytes())
    assert written[0] == written[1] == written[2]
    said = receipt.to_dict()["rules_by_epoch"]
    versions = ((0, OLD), (SECOND, NEW), (THIRD, NEWEST))
    digests = [{"epoch": e, "rule_set": n, "digest": scorers[n].digest} for e, n in versions]
    assert said == digests
    assert set(receipt.formulas) == {
        formula for n in (OLD, NEW, NEWEST) for formula in formulas_of(scorers[n], tmp_path)
    }


def formulas_of(scorer: Scorer, folder: Path) -> set[str]:
    found = scorer.score_file(folder / "records.jsonl", folder / "other.jsonl")
    assert "rules_by_epoch" not in found.to_dict()
    return set(found.formulas)


def test_a_type_that_the_rules_of_the_epoch_lack_is_rejected(scorers: Scorers) -> None:
    rules = Timeline(without(scorers[OLD], GONE)).extended(SECOND, scorers[NEW])
    scorer = Scorer.of(bound_over([rules]))
    whole = next(each for line in records(90) if (each := as_record(line, GONE)))
    early, late = whole | {"epoch": SECOND - 1}, whole | {"epoch": SECOND}
    batch = scorer.score_lines([json.dumps(each).encode() for each in (early, late)])
    (reject,) = batch.rejects
    assert (reject.line, reject.code, reject.path) == (1, "unknown-skill-type", "skill_type")
    assert reject.expected.startswith(f"one of the rules of epoch {SECOND - 1}: ")
    assert batch.record.tolist() == [2]
    with pytest.raises(RecordError, match="expected one of the rules of epoch"):
        scorer.score(early)
    assert scorer.score(late).quality is not None


def as_record(line: bytes, name: str) -> dict[str, Any] | None:
    if f'"{name}"'.encode() not in line:
        return None
    found: dict[str, Any] = json.loads(line)
    return found if "submission" in found else None


def test_an_explanation_names_the_rules_of_the_epoch(scorers: Scorers) -> None:
    scorer, whole = changing(scorers), json.loads(next(lines(3, 1, SKILLS)))
    for name, epochs in SPANS:
        for epoch in (epochs[0], epochs[-1]):
            record = whole | {"epoch": epoch}
            assert scorer.explain(record) == scorers[name].explain(record)


@pytest.mark.nightly
def test_events_keep_facts_where_the_rules_of_their_epoch_do(scorers: Scorers) -> None:
    data = records(300)
    found = events_of(changing(scorers), data)
    alone = {name: events_of(scorers[name], data) for name, _ in SPANS}
    for line, event in found.items():
        (own,) = (alone[name] for name, epochs in SPANS if event.epoch in epochs)
        assert event == own[line]
        keeps = event.epoch >= THIRD and event.quality is not None
        assert (event.facts is not None) == keeps
    assert len({event.facts for event in found.values()}) > 50


def events_of(scorer: Scorer, data: list[bytes]) -> dict[int, StateEvent]:
    batches = map(EventDecoder(scorer).events, ItemSource(data))
    return {line: event for batch in batches for line, event in batch.events}


def test_lines_of_rules_are_scored_side_by_side(scorers: Scorers) -> None:
    workflow: Timeline[BoundRules] = Timeline(scorers["workflow@1.0.0"])
    skills: Timeline[BoundRules] = Timeline(scorers[OLD])
    both = Scorer.of(
        bound_over([skills.extended(SECOND, scorers[NEW]), workflow.extended(30, scorers[WORK])])
    )
    for line in lines(5, 12, SKILL_TYPES):
        for epoch in (0, SECOND, 29, 30):
            record = json.loads(line) | {"epoch": epoch}
            if record["skill_type"] == "workflow":
                alone = scorers[WORK if epoch >= 30 else "workflow@1.0.0"]
            else:
                alone = scorers[NEW if epoch >= SECOND else OLD]
            (found,), (expected,) = (list(each.score_many([record])) for each in (both, alone))
            assert found == expected
            if isinstance(found, Result):
                assert both.explain(record) == alone.explain(record)


WORK = "workflow@1.1.0"


def test_the_columns_of_a_table_are_those_of_every_epoch(scorers: Scorers, tmp_path: Path) -> None:
    source = tmp_path / "records.jsonl"
    source.write_bytes(b"\n".join(records(60)))
    changing(scorers).score_file(source, tmp_path / "out.parquet")
    table = pq.read_table(tmp_path / "out.parquet")
    axes = {name for version in (OLD, NEW, NEWEST) for name in scorers[version].layout.axes}
    assert {field.name for field in table.schema.field("axes").type} == axes


def test_thresholds_of_a_caller_hold_in_every_epoch(scorers: Scorers) -> None:
    given = {"executable_python": {"baseline": "0.9"}}
    found = changing(scorers).with_thresholds(given)
    whole = next(r for line in records(60) if (r := as_record(line, "executable_python")))
    for name, epochs in SPANS:
        record = whole | {"epoch": epochs[0]}
        assert found.score(record) == scorers[name].with_thresholds(given).score(record)
    with pytest.raises(tallystick.TallystickError, match="unheard_of"):
        found.with_thresholds({"unheard_of": {}})
