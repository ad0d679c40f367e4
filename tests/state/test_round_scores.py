"""Round scores: what counts in them, and ties; their means are those of the oracle of weights."""

from fractions import Fraction
from functools import cache
from pathlib import Path

import attrs
import pytest
from oracle.decimals import count
from state.steps import round_steps, with_steps
from state.subnet import record as line_of
from state.subnet import under
from state.weighing import round_scores

import tallystick
from tallystick.errors import StateError
from tallystick.numbers.nano import to_text
from tallystick_allocation.rules import ALLOCATION
from tallystick_state.event import StateEvent
from tallystick_state.ledger import Ledger
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.store import transaction

PUBLISHED, CORRECTED = "skills@1.0.0", "skills@1.1.0"
NANO = 10**9


@cache
def rules(name: str = PUBLISHED) -> StateRules:
    return state_rules_of(tallystick.load(name))


def record(number: int, skill_type: str, emission: Fraction | None, **more: bool) -> StateEvent:
    text = None if emission is None else to_text(count(emission))
    task = f"task-{number}"
    return StateEvent("validator", "hk", skill_type, task, 4, 1, emission=text, **more)


@pytest.mark.parametrize("mode", ["twice", "once"])
def test_nothing_over_nothing_is_what_the_rule_set_says(mode: str) -> None:
    here = rounding(mode, "0.25")
    missed = record(1, "executable_python", None, missed=True)
    assert round_scores([missed], here, lambda *_: NANO) == {"hk": NANO // 4}
    assert round_scores([], here, lambda *_: NANO) == {}
    worthless = record(2, "executable_python", Fraction(1, 2))
    found = round_scores([worthless], here, lambda *_: 0)
    assert found == {"hk": NANO // 4 if mode == "twice" else 0}


def rounding(mode: str, no_tasks: str = "0") -> StateRules:
    return with_steps(rules(), *round_steps(mode == "twice", no_tasks))


def test_the_shipped_steps_are_those_of_the_tests() -> None:
    for name, steps in ((PUBLISHED, round_steps(True)), (CORRECTED, round_steps(False, zero=True))):
        shipped = rules(name).rule_set.section(ALLOCATION)
        assert shipped is not None
        assert shipped.steps == steps


def test_events_that_came_alone_do_not_count() -> None:
    alone = StateEvent(
        "validator", "other", "executable_python", "t", 4, 1, ("rerun_fail",), id="e1"
    )
    events = [record(1, "executable_python", Fraction("0.8")), alone]
    assert round_scores(events, rules(), lambda *_: NANO) == {"hk": 800_000_000}


def test_a_type_without_an_emission_does_not_count() -> None:
    here = rules()
    declarative = attrs.evolve(here.rule_set.skill_types["declarative"], base_weight=None)
    types = {**here.rule_set.skill_types, "declarative": declarative}
    other = under(here, attrs.evolve(here.rule_set, skill_types=types))
    events = [
        record(1, "executable_python", Fraction("0.8")),
        record(2, "declarative", None),
        record(3, "declarative", None, missed=True),
    ]
    assert round_scores(events, other, lambda *_: NANO) == {"hk": 800_000_000}


def test_a_record_without_an_emission_is_told() -> None:
    events = [record(1, "executable_python", None)]
    with pytest.raises(StateError, match="found a record of hk in the round 4 without an emission"):
        round_scores(events, rules(), lambda *_: NANO)


@pytest.mark.parametrize("name", ["workflow@1.0.0", "workflow@1.1.0"])
def test_a_rule_set_without_round_scores_gives_none(name: str) -> None:
    events = [StateEvent("validator", "hk", "workflow", "t", 4, 1, quality="1.000000000")]
    assert round_scores(events, rules(name), lambda *_: NANO) == {}


@pytest.mark.parametrize(
    ("emissions", "wanted"), [((1, 2), 2), ((2, 3), 2), ((0, 1), 0), ((0, 0, 2), 1), ((0, 0, 1), 0)]
)
@pytest.mark.parametrize("mode", ["twice", "once"])
def test_a_tie_goes_to_the_even_nano(mode: str, emissions: tuple[int, ...], wanted: int) -> None:
    events = [
        record(number, "executable_python", Fraction(emission, NANO))
        for number, emission in enumerate(emissions)
    ]
    assert round_scores(events, rounding(mode), lambda *_: NANO) == {"hk": wanted}


@pytest.mark.parametrize("most", [0, 3, 100])
def test_events_of_a_closed_round_are_kept_or_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(transaction, "MOST_REMEMBERED", most)
    read = list[str]()
    of_line = StateEvent.from_line
    monkeypatch.setattr(StateEvent, "from_line", lambda line: read.append(line) or of_line(line))
    with Ledger.create(tmp_path / "subnet.db", PUBLISHED) as ledger:
        for uid in range(3):
            ledger.register(f"hk-{uid}", uid, ["executable_python"])
        lines = [line_of(f"t{number}", f"hk-{number % 3}") for number in range(9)]
        ((closed,), _) = ledger.close_round(lines)
        assert len(read) == (0 if most >= len(lines) else len(lines))
        with ledger.queries() as queries:
            assert closed.lines == queries.scores_of_lines(closed.round)
    assert len(closed.lines["skills"]) == 3
