"""Collecting steps of a state: what counts, and what is read; means are those of the oracle."""

from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path

import attrs
import pytest
from msgspec.structs import replace
from oracle.decimals import count
from state.steps import window_steps, with_steps
from state.subnet import begun, hotkeys, rules_of, under
from state.subnet import record as line_of
from state.weighing import Made, round_scores, tasks_of, weighed

from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick_allocation.rules import AllocationRules
from tallystick_allocation.steps.collect import Collect
from tallystick_state.event import StateEvent
from tallystick_state.samples import EventRecords, Pins
from tallystick_state.store import transaction

PUBLISHED, WORKFLOW = "skills@1.0.0", "workflow@1.0.0"
PYTHON = "executable_python"
NANO = 10**9


def record(number: int, skill_type: str, emission: Fraction | None, **more: bool) -> StateEvent:
    text = None if emission is None else to_text(count(emission))
    task = f"task-{number}"
    return StateEvent("validator", "hk", skill_type, task, 4, 1, emission=text, **more)


def test_a_type_without_an_emission_does_not_count() -> None:
    here = rules_of(PUBLISHED)
    declarative = attrs.evolve(here.rule_set.skill_types["declarative"], base_weight=None)
    types = {**here.rule_set.skill_types, "declarative": declarative}
    other = under(here, attrs.evolve(here.rule_set, skill_types=types))
    events = [
        record(1, PYTHON, Fraction("0.8")),
        record(2, "declarative", None),
        record(3, "declarative", None, missed=True),
    ]
    assert round_scores(events, other, lambda *_: NANO) == {"hk": 800_000_000}


def test_a_record_without_an_emission_is_told() -> None:
    events = [record(1, PYTHON, None)]
    with pytest.raises(StateError, match="found a record of hk in the round 4 without an emission"):
        round_scores(events, rules_of(PUBLISHED), lambda *_: NANO)


def test_a_task_that_nobody_scored_does_not_count() -> None:
    nobody = replace(tasks_of([[0]])[0], task_id="t9", quality=None)
    made = Made(
        with_steps(rules_of(WORKFLOW), *window_steps(2)), (*tasks_of([[NANO], [0]]), nobody)
    )
    assert weighed(made, ["hk"]).scores == {"hk": NANO // 2}


@pytest.mark.parametrize(("tasks", "wanted"), [(20, 100), (300, 300)])
def test_no_more_records_are_read_than_the_steps_look_back(tasks: int, wanted: int) -> None:
    read = list[StateEvent]()

    class Reading(Made):
        def newest(self, hotkey: str) -> Iterable[StateEvent]:
            for each in super().newest(hotkey):
                read.append(each)
                yield each

    here = with_steps(rules_of(WORKFLOW), *window_steps(warm=tasks))
    weighed(Reading(here, tuple(tasks_of([[NANO]] * 400))), ["hk"])
    # the first record of the next task ends the last one
    assert len(read) in {wanted, wanted + 1}


@pytest.mark.parametrize("most", [0, 3, 100])
def test_events_of_a_closed_round_are_kept_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(transaction, "MOST_REMEMBERED", most)
    read = list[str]()
    of_line = StateEvent.from_line
    monkeypatch.setattr(StateEvent, "from_line", lambda line: read.append(line) or of_line(line))
    with begun(tmp_path / "subnet.db", PUBLISHED, hotkeys(3)) as ledger:
        lines = [line_of(f"t{number}", f"hk-{number % 3}") for number in range(9)]
        ((closed,), _) = ledger.close_round(lines)
        assert len(read) == (0 if most >= len(lines) else len(lines))
        with ledger.queries() as queries:
            assert closed.lines == queries.scores_of_lines(closed.round)
    assert len(closed.lines["skills"]) == 3


def mean(*over: str) -> AllocationRules:
    step = Collect(
        name="x", do="collect", value="quality", statistic="weighted_mean", over=over, times=over
    )
    return AllocationRules((step,))


def test_a_mean_of_a_state_is_weighed_by_what_a_state_knows() -> None:
    records, pins = EventRecords(()), Pins(lambda _: None, lambda _: rules_of(PUBLISHED))
    assert not records.samples(pins, mean("base_weight", "reputation"), ["a"], 0).hotkeys
    with pytest.raises(StateError, match="weighed by stake, expected base_weight or reputation"):
        records.samples(pins, mean("reputation", "stake"), ["a"], 0)
