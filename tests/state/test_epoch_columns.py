"""An epoch of records in columns ends, and is weighed, as one of state events."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial

import attrs
import numpy as np
import pytest
from examples import fast_rows
from msgspec.structs import replace
from rules.documents import with_section
from state.random_epochs import HOTKEYS, Events, late, random_records, random_state
from state.steps import window_steps, with_steps
from state.subnet import rules_of, under
from state.weighing import Made, close_epoch

from tallystick.errors import StateError
from tallystick_allocation.rules import ALLOCATION, AllocationRules
from tallystick_allocation.steps.collect import Collect
from tallystick_allocation.steps.memory import Average, Hold
from tallystick_allocation.steps.mix import Mix, Pools
from tallystick_allocation.steps.select import Filter
from tallystick_allocation.steps.share import Equal, Share
from tallystick_state.adoption import adopt
from tallystick_state.collusion import TASK
from tallystick_state.epoch_columns import NOTHING_YET, close
from tallystick_state.event import StateEvent
from tallystick_state.miners import ENGINE, FLAG, flag
from tallystick_state.model import Columns, State, unstructure
from tallystick_state.record_columns import (
    Coded,
    Numbers,
    RecordColumns,
    alike,
    first_of_each,
    totals_of,
)
from tallystick_state.round_scores import round_epoch, round_scores
from tallystick_state.rules import StateRules
from tallystick_state.samples import EventRecords, Pins
from tallystick_state.sections.reputation import REPUTATION
from tallystick_state.weights import weigh

NANO = 10**9
SHIPPED = [f"{name}@1.{minor}.0" for name in ("skills", "workflow") for minor in range(3)]
EPOCHS_OF_A_HISTORY = 4


def collect(statistic: str, **more: object) -> Collect:
    values = {"name": "score", "value": "quality", **more}
    return Collect(do="collect", statistic=statistic, **values)  # type: ignore[arg-type]  # keys of it


def weight(of: str = "score") -> Share:
    return Share(name="weight", do="share", of=of, zero="zero", publish=True)


def grouped(rules: StateRules, group: str, names: Sequence[str], *steps: object) -> StateRules:
    """The rules with other steps, in groups of equal shares."""
    part = Decimal(1) / len(names)
    found = AllocationRules(steps, group, dict.fromkeys(names, part))  # type: ignore[arg-type]  # steps
    return under(rules, with_section(rules.rule_set, ALLOCATION, found))


def average(of: str, leaver: str = "keep") -> Average:
    return Average(name="average", do="average", of=of, new=Decimal("0.3"), leaver=leaver)  # type: ignore[arg-type]  # of two


VARIANTS: Mapping[str, Callable[[], StateRules]] = {
    **{reference: (lambda reference=reference: rules_of(reference)) for reference in SHIPPED},
    **{
        f"{name}, {records}": (
            lambda step=step, records=records: with_steps(
                rules_of("skills@1.2.0"), attrs.evolve(step, records=records), weight()
            )
        )
        for records in ("round", "window")
        for name, step in {
            "sum": collect("sum"),
            "sum of tasks": collect("sum", tasks="mean", missed="zero"),
            "mean": collect("mean", missed="zero"),
            "mean of the last": collect("mean", last=3, missed="zero"),
            "mean of those in time": collect("mean", last=2),
            "count": collect("count"),
            "last": collect("last", empty=Decimal("0.5")),
            "weighted": collect("weighted_mean", times=("reputation",), over=("reputation",)),
            "weighted tasks": collect(
                "weighted_mean",
                value="emission",
                times=("reputation",),
                over=("base_weight",),
                tasks="mean",
                missed="zero",
            ),
            "exact measure": collect("mean", value="ratio"),
            "sum of a measure": collect("sum", value="points"),
            "median": collect("median", missed="zero"),
            "winsorised": collect("winsorised_mean", cut=Decimal("0.2")),
            "third best": collect("kth_best", k=3, empty=Decimal(0)),
            "rounds": collect("rounds"),
            "newest rounds": collect("mean", within_rounds=2, missed="zero"),
            "newest epochs": collect("sum", within_epochs=2),
            "weighted by age": collect("mean", half_life=2, publish=True),
            "newest weighted": collect(
                "weighted_mean", times=("reputation",), over=("reputation",), within_rounds=3
            ),
        }.items()
    },
    "a first place": lambda: with_steps(
        rules_of("skills@1.2.0"),
        collect("mean", within_epochs=2, publish=True),
        Hold(name="king", do="hold", of="score", margin=Decimal("0.05"), last=3),
        attrs.evolve(weight(), of="king"),
    ),
    "workflow@1.2.0 in short": lambda: with_steps(rules_of("workflow@1.2.0"), *window_steps(4)),
    "window carried": lambda: with_steps(
        rules_of("skills@1.2.0"),
        collect("mean", last=2),
        average("score", "drop"),
        weight("average"),
    ),
    "types in groups": lambda: grouped(
        rules_of("skills@1.2.0"),
        "skill_type",
        sorted(rules_of("skills@1.2.0").rule_set.skill_types)[:5],
        collect("mean", last=3),
        Pools(name="weight", do="pools", of="score", publish=True),
    ),
    "groups of records": lambda: grouped(
        rules_of("skills@1.2.0"),
        "track",
        ["north", "south"],
        collect("weighted_mean", records="round", times=("reputation",), over=("reputation",)),
        Pools(name="pooled", do="pools", of="score", idle="proportional"),
        average("pooled"),
        weight("average"),
    ),
    "nobody": lambda: with_steps(
        rules_of("skills@1.1.0"),
        collect("mean", records="round"),
        Filter(name="kept", do="filter", of="score", above=Decimal(10)),
        weight("kept"),
    ),
    "half is equal": lambda: with_steps(
        rules_of("workflow@1.2.0"),
        collect("mean", last=5, empty=Decimal(0)),
        Share(name="part", do="share", of="score", zero="zero"),
        Equal(name="same", do="equal", of="score"),
        Mix(
            name="weight",
            do="mix",
            of={"part": Decimal("0.5"), "same": Decimal("0.5")},
            publish=True,
        ),
    ),
}


def columns_of(events: Iterable[StateEvent]) -> list[RecordColumns]:
    """Records in columns, by skill type."""
    by_type = defaultdict[str, list[StateEvent]](list)
    for event in events:
        by_type[event.skill_type].append(event)
    return [column_of(name, own) for name, own in by_type.items()]


def numbers_of(values: Sequence[int | Fraction | None]) -> Numbers:
    filled = [0 if value is None else value for value in values]
    exact = any(isinstance(value, Fraction) for value in filled)
    present = np.array([value is not None for value in values], np.bool_)
    return Numbers(np.array(filled, np.object_ if exact else np.int64), present)


def column_of(name: str, own: Sequence[StateEvent]) -> RecordColumns:
    measures = {measure for event in own for measure in event.measures}
    return RecordColumns(
        name,
        Coded.of(event.validator for event in own),
        Coded.of(event.hotkey for event in own),
        Coded.of(event.task_id for event in own),
        Coded.of(str(event.role) for event in own),
        Coded.of(event.events for event in own),
        np.array([event.round for event in own]),
        np.array([event.epoch for event in own]),
        np.array([event.missed for event in own]),
        np.array([event.quality is not None for event in own]),
        {
            name: numbers_of([event.value(name) for event in own])
            for name in ("quality", "emission", *measures)
        },
        Coded.of(event.group or "" for event in own),
    )


def flags_of(rng: random.Random, records: Events) -> Events:
    """Flags that the engine gives some of the miners, of a round each at most one."""
    some = rng.sample(records, min(rng.randrange(4), len(records)))
    flagged = {(each.hotkey, each.skill_type, each.round): each for each in some}
    return [
        replace(late(about, FLAG, place), validator=ENGINE, task_id=TASK)
        for place, about in enumerate(flagged.values())
    ]


def anew(state: State, hotkey: str) -> State:
    """The state after a hotkey registered again at a later block."""
    miner = attrs.evolve(state.miners[hotkey], anew=state.epoch)
    carry = {
        line: {
            name: {key: nano for key, nano in column.items() if key != hotkey}
            for name, column in columns.items()
        }
        for line, columns in state.carry.items()
    }
    return attrs.evolve(state, miners={**state.miners, hotkey: miner}, carry=carry)


def check_agreement(seed: int, rules_at: Callable[[int], StateRules]) -> None:
    """Every epoch of a random history ends in columns as it does of state events."""
    rng, memory = random.Random(seed), NOTHING_YET
    state, every, counted = random_state(rng, rules_at(0), 0), Events(), Events()
    pinned, carry = dict[int, State](), dict[str, Columns]()
    pins = Pins(pinned.__getitem__, rules_at)
    later = {rules_at(epoch).digest: rules_at(epoch) for epoch in range(EPOCHS_OF_A_HISTORY)}
    for epoch in range(EPOCHS_OF_A_HISTORY):
        rules = rules_at(epoch)
        pinned[epoch] = state
        if rng.random() < 0.4:
            again = rng.choice(HOTKEYS)
            state = anew(state, again)
            counted = [event for event in counted if event.hotkey != again]
        own = random_records(rng, rules, epoch)
        has_reputation = rules.rule_set.section(REPUTATION) is not None
        alone = flags_of(rng, own) if has_reputation else []
        every, counted = every + own, counted + own
        newest = Made(rules, tuple(counted)).newest
        after = close_epoch(
            state, [*own, *alone], rules, pinned, base_rules=rules_at, newest=newest
        )
        flags = Counter(
            (e.hotkey, e.validator) for e in (*own, *alone) for name in e.events if name == FLAG
        )
        after = flag(after, rules.quorum, flags)
        carry[rules.digest] = after.carry.get(rules.line, {})
        # weights are of the last round, by the rules that it is pinned to
        number = max((event.round for event in every), default=None)
        pin = round_epoch(event for event in every if event.round == number)
        weighing = rules_at(epoch if pin is None else pin)
        of_round = [event for event in counted if event.round == number]
        expected = weigh(
            weighing,
            partial(EventRecords(of_round, newest).samples, pins),
            [m.hotkey for m in after.miners.values() if m.uid is not None],
            number,
            epoch,
            carry=carry.get(weighing.digest, {}),
        )
        rounds = {n: [e for e in own if e.round == n] for n in {e.round for e in own}}
        scores = {
            n: found
            for n, events in rounds.items()
            if (found := round_scores(events, rules_at(round_epoch(events) or 0), pins))
        }
        outcome = close(
            state,
            columns_of(rng.sample(own, len(own))),
            rules,
            pinned,
            base_rules=rules_at,
            alone=alone,
            memory=memory,
            later=later.values(),
        )
        assert unstructure(outcome.state) == unstructure(after)
        assert outcome.weighed.weights == expected.weights
        assert outcome.weighed.refused == expected.refused
        assert (outcome.round_scores, outcome.flags) == (scores, flags)
        state, memory = after, outcome.memory
        if rules_at(epoch + 1) is not rules:
            state = adopt(state, rules, rules_at(epoch + 1), flagged_by={})


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 120), marks=pytest.mark.nightly)], ids=str
)
@pytest.mark.parametrize(
    "name", fast_rows(VARIANTS, 2, 5, 6, 8, 10, 12, 14, 16, 26, 28, 41, 42, 44)
)
def test_columns_end_as_state_events(name: str, seeds: range) -> None:
    rules = VARIANTS[name]()
    for seed in seeds:
        check_agreement(seed, lambda _: rules)


@pytest.mark.parametrize("line", ["skills", "workflow"])
@pytest.mark.parametrize(
    "seeds", [range(3), pytest.param(range(3, 200), marks=pytest.mark.nightly)]
)
def test_columns_end_as_state_events_where_rules_change(line: str, seeds: range) -> None:
    versions = [rules_of(f"{line}@1.{minor}.0") for minor in (0, 1, 2, 2, 2)]
    for seed in seeds:
        check_agreement(seed, versions.__getitem__)


@pytest.mark.parametrize("large", [1, 2**62, NANO])
def test_sums_are_exact(large: int) -> None:
    rng = random.Random(large)
    values = [rng.randint(-large, large) for _ in range(500)]
    keys = [rng.randrange(7) for _ in values]
    order, starts = alike(np.array(keys))
    found = totals_of(np.array(values), order, starts)
    assert found == [
        sum(v for v, k in zip(values, keys, strict=True) if k == key) for key in range(7)
    ]


@pytest.mark.parametrize("span", [3, 2**40, 2**62])
def test_rows_are_grouped_by_all_columns(span: int) -> None:
    rng = random.Random(span)
    rows = [tuple(rng.choice([0, 1, span, -span]) for _ in range(4)) for _ in range(300)]
    order, starts = alike(*np.array(rows).T)
    groups = [[rows[row] for row in own] for own in np.split(order, starts[1:])]
    assert [group[0] for group in groups] == sorted({*rows})
    assert all(len({*group}) == 1 for group in groups)


def test_the_first_of_equal_records_counts() -> None:
    rng, rules = random.Random(1), rules_of("skills@1.2.0")
    own = [e for e in random_records(rng, rules, 1) if e.skill_type == "declarative"]
    (both,) = columns_of([*own, *own])
    assert [*first_of_each(both)] == [*range(len(own))]
    assert both.take(first_of_each(both)).hotkey.values() == [event.hotkey for event in own]


def test_what_cannot_be_is_refused() -> None:
    rng, rules = random.Random(3), rules_of("skills@1.2.0")
    state = random_state(rng, rules, 0)
    columns = columns_of(random_records(rng, rules, 0))
    with pytest.raises(StateError, match="pinned to epoch 0, expected one whose state is kept"):
        close(state, columns, rules, {})
    without = [attrs.evolve(part, values={"quality": part.values["quality"]}) for part in columns]
    with pytest.raises(StateError, match="without an emission"):
        close(state, without, rules, {0: state})


def test_nobody_has_a_weight_for_the_reason_that_a_step_has() -> None:
    rules = VARIANTS["nobody"]()
    state = random_state(random.Random(5), rules, 0)
    outcome = close(
        state, columns_of(random_records(random.Random(5), rules, 0)), rules, {0: state}
    )
    assert outcome.weighed.weights == {}
    assert outcome.weighed.reason.startswith("kept: ")
    assert close(state, [], rules_of("skills@1.2.0"), {}).weighed.reason == (
        "average: no score above 0 so far"
    )
