"""The back-test of types with measures alone: their means, and no quality that is not there."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from scoring import parcels
from scoring.parcels import EPOCHS, GROUPS, TEXT, expected
from scoring.test_measures import random_parcels

from tallystick.errors import InputError
from tallystick.numbers.nano import to_text
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick_governance.backtest import replay
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.run import backtest
from tallystick_state.epoch_columns import EpochOutcome, close
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import events_of
from tallystick_state.model import State
from tallystick_state.record_columns import RecordColumns
from tallystick_state.rules import StateRules


def published(values: list[Fraction]) -> str:
    """Their mean with nine places; `round` is half-even."""
    nano = round(sum(values) / len(values) * 10**9)
    return f"{'-' if nano < 0 else ''}{abs(nano) // 10**9}.{abs(nano) % 10**9:09d}"


def test_a_back_test_tells_the_mean_of_each_measure(tmp_path: Path) -> None:
    records = random_parcels(11, 250)
    history = tmp_path / "history.jsonl"
    history.write_text("".join(json.dumps(each) + "\n" for each in records))
    files = []
    for name, rate in (("old", "0.5"), ("new", "0.75")):
        (tmp_path / name).mkdir()
        text = TEXT.replace("rate = 0.5", f"rate = {rate}")
        scorer = parcels.load(tmp_path / name, text.replace("1.0.0", f"1.0.0-{name}"))
        files.append(tmp_path / name / "parcels.toml")
    backtest(history, candidates_of(files, (), scorer.registry), tmp_path / "out")

    summary = json.loads((tmp_path / "out" / "summary.json").read_bytes())
    (candidate,) = summary["candidates"]
    found = candidate["types"]["parcel"]
    assert (found["measure"], candidate["overall"]["measure"]) == ("none", "none")
    rows = [expected(each) for each in records if "submission" in each]
    for name, means in found["measures"].items():
        # results are published before they are added up, ratios too
        values = [Fraction(round(Fraction(row[name]) * 10**9), 10**9) for row in rows if row[name]]
        assert means["baseline_records"] == len(values)
        assert means["baseline_mean"] == published(values)
        assert (means["candidate_mean"] != means["baseline_mean"]) == (name == "units")
    report = (tmp_path / "out" / "report.html").read_text()
    assert "No type has an emission or a quality" in report
    assert "parcel, units" in report
    assert "total quality" not in report


def events_in(columns: RecordColumns) -> Iterator[StateEvent]:
    """Records in columns, as state events."""
    groups = columns.group
    measures = {
        name: [
            _text(value) if present else None
            for value, present in zip(
                numbers.values.tolist(), numbers.present.tolist(), strict=True
            )
        ]
        for name, numbers in columns.values.items()
    }
    for row in range(len(columns)):
        yield StateEvent(
            validator=columns.validator.values()[row],
            hotkey=columns.hotkey.values()[row],
            skill_type=columns.skill_type,
            task_id=columns.task_id.values()[row],
            round=int(columns.round[row]),
            epoch=int(columns.epoch[row]),
            events=columns.events.values()[row],
            role=columns.role.values()[row],  # type: ignore[arg-type]  # of two
            missed=bool(columns.missed[row]),
            group=None if groups is None else groups.values()[row],
            measures={
                name: text for name, own in measures.items() if (text := own[row]) is not None
            },
        )


def _text(value: int | Fraction) -> str:
    return to_text(value) if isinstance(value, int) else f"{value.numerator}/{value.denominator}"


def replayed(
    rules: Path, history: Path, scorer: Scorer, folder: Path
) -> dict[str, list[StateEvent]]:
    """The events that a back-test with states closes epochs with, by the digest of the rules."""
    other = folder / "other.toml"
    other.write_text(rules.read_text().replace("rate = 0.5", "rate = 0.75"))
    found = defaultdict[str, list[StateEvent]](list)

    def noting(
        state: State,
        records: Sequence[RecordColumns],
        rules: StateRules,
        *rest: Any,  # noqa: ANN401  # as it is called
        **more: Any,  # noqa: ANN401  # as it is called
    ) -> EpochOutcome:
        found[rules.digest] += [event for part in records for event in events_in(part)]
        return close(state, records, rules, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "close", noting)
        candidates = candidates_of([rules, other], (), scorer.registry)
        backtest(history, candidates, folder / "out", with_state=True)
    return found


def test_a_replay_has_the_measures_and_groups_of_a_state(tmp_path: Path) -> None:
    scorer = parcels.load(tmp_path, TEXT + GROUPS + EPOCHS)
    source = tmp_path / "records.jsonl"
    source.write_text("".join(json.dumps(each) + "\n" for each in random_parcels(13, 60)))
    (batch,) = events_of(source_of(source), scorer)
    wanted = [replace(event, record=None) for _, event in batch.events]
    found = replayed(tmp_path / "parcels.toml", source, scorer, tmp_path)
    assert found[scorer.digest] == wanted
    assert [len(events) for events in found.values()] == [len(wanted)] * 2
    assert {event.group for event in wanted} == {"slow", "fast"}
    assert any("/" in each for event in wanted for each in event.measures.values())


def test_facts_alone_have_no_groups_to_replay(tmp_path: Path) -> None:
    scorer = parcels.load(tmp_path, TEXT + GROUPS + EPOCHS)
    source, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    source.write_text("".join(json.dumps(each) + "\n" for each in random_parcels(14, 20)))
    extract_file(source, facts, scorer.registry)
    with pytest.raises(InputError, match="groups by the field track, which no facts file keeps"):
        replayed(tmp_path / "parcels.toml", facts, scorer, tmp_path)


@pytest.mark.nightly
def test_without_groups_the_weights_are_not_known_and_emission_is_the_headline(
    tmp_path: Path,
) -> None:
    scorer = parcels.load(tmp_path, TEXT + GROUPS + EPOCHS)
    source, facts = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    source.write_text("".join(json.dumps(each) + "\n" for each in random_parcels(14, 20)))
    extract_file(source, facts, scorer.registry)
    other = tmp_path / "other.toml"
    other.write_text((tmp_path / "parcels.toml").read_text().replace("rate = 0.5", "rate = 0.75"))
    candidates = candidates_of([tmp_path / "parcels.toml", other], (), scorer.registry)
    _, written = backtest(facts, candidates, tmp_path / "out")
    (compared,) = written.shown.every
    assert compared.weight is not None
    assert "groups by the field track, which no facts file keeps" in compared.weight.unknown
    assert compared.weight.distribution is None
    assert compared.headline is compared.overall
    assert "weights of the epochs are not known" in (tmp_path / "out" / "report.html").read_text()
    _, written = backtest(source, candidates, tmp_path / "out")
    assert written.shown.every[0].weight is not None
    assert written.shown.every[0].weight.unknown == ""
