"""A kind of value that the engine does not have: every executor and text has it, or names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from generators import lines
from kinds import MinOf, Opaque, before_the_gates

import tallystick
from tallystick.canonical import digest
from tallystick.cli.explanation import lines_of
from tallystick.cli.rule_text import lines_of as text_of
from tallystick.errors import FormulaError
from tallystick.formula.domain import Domain
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import installed
from tallystick.scoring import computation, value
from tallystick.scoring.computation import NotAnalysed, NotAnalysedError, in_order
from tallystick.scoring.threshold_snapshots import Thresholds
from tallystick.scoring.trees import trees_of
from tallystick.scoring.value import OneRecord, Planner, Ranges, S, Value
from tallystick_conformance import backend_equivalence
from tallystick_conformance.loading import Subject

TYPE, AXIS = "rag_knowledge", "evidence"


@pytest.fixture(scope="module")
def plain() -> tallystick.Scorer:
    return tallystick.load("skills@1.1.0")


@pytest.fixture(params=[MinOf, Opaque])
def scorer(request: pytest.FixtureRequest, plain: tallystick.Scorer) -> tallystick.Scorer:
    return before_the_gates(plain, TYPE, request.param, AXIS)


def records(count: int = 300) -> list[bytes]:
    return [line for line in lines(5, count) if json.loads(line)["skill_type"] == TYPE]


def test_rows_and_columns_score_it_alike(
    plain: tallystick.Scorer, scorer: tallystick.Scorer
) -> None:
    some = records()
    single = [result for result in scorer.score_many(some) if not is_reject(result)]
    assert list(scorer.score_lines(some).results()) == single
    before = [result for result in plain.score_many(some) if not is_reject(result)]
    lowered = 0
    for old, new in zip(before, single, strict=True):
        gates = plain.types[TYPE].gates
        assert new.axes == old.axes
        if new.axes and not any(new.axes[gate.axis] < Decimal(gate.below) / NANO for gate in gates):
            assert old.quality is not None
            assert new.quality == min(old.quality, new.axes[AXIS])
            lowered += new.quality < old.quality
    assert lowered


def is_reject(result: object) -> bool:
    return isinstance(result, tallystick.Reject)


def test_a_composite_follows_from_its_printed_lines(scorer: tallystick.Scorer) -> None:
    floor = next(value for value in scorer.types[TYPE].values if value.name == "floor")
    for record in records(60):
        explanation = scorer.explain(record)
        if explanation.composite is None:
            continue
        text = "\n".join(lines_of(explanation))
        (mean,) = explanation.operations
        assert (mean.name, mean.role, mean.kind) == ("composite", "composite", "geometric")
        assert f"composite = {mean.value:f}    [geometric]" in text
        assert explanation.composite.kind == floor.kind
        assert "composite" in explanation.composite.text
        assert AXIS in explanation.composite.text
        assert explanation.result.axes is not None
        assert mean.value is not None
        assert explanation.composite.ungated == min(mean.value, explanation.result.axes[AXIS])
        (plain,) = json.loads(json.dumps(explanation.to_dict()))["operations"]
        assert plain == {**attrs.asdict(mean), "value": f"{mean.value:f}"}


def test_an_explanation_without_one_has_no_such_key(plain: tallystick.Scorer) -> None:
    assert "operations" not in plain.explain(records(60)[0]).to_dict()


def test_a_value_after_the_gates_is_explained_after_them(plain: tallystick.Scorer) -> None:
    scorer = after_the_gates(plain)
    for record in records(60):
        explanation = scorer.explain(record)
        if explanation.composite is None:
            continue
        (last,) = explanation.operations
        assert explanation.result.quality == last.value
        text = lines_of(explanation)
        assert text.index(f"least = {last.value:f}    [min_of]") > text.index(
            f"composite = {explanation.composite.quality:f}    [geometric]"
        )


def after_the_gates(scorer: tallystick.Scorer) -> tallystick.Scorer:
    """The rule set without tiers and emission, whose quality is the least of two values."""
    bound = scorer.types[TYPE]
    axes = {value.name: value for value in bound.axes}
    gated = bound.gated
    place = bound.values.index(gated) + 1
    least = MinOf("least", "quality", (gated, axes[AXIS]), gated.domain)
    changed = attrs.evolve(bound, values=(*bound.values[:place], least), shown_factors=())
    return attrs.evolve(scorer, types={**scorer.types, TYPE: changed})


def test_the_text_of_the_rule_set_has_it(
    plain: tallystick.Scorer, scorer: tallystick.Scorer
) -> None:
    before, after = text_of(plain), text_of(scorer)
    (line,) = (line for line in after if line not in before)
    kind = next(value for value in scorer.types[TYPE].values if value.name == "floor").kind
    assert line == f'    floor: ["{kind}"] of composite, {AXIS}'
    assert [line for line in before if line not in after] == []


def test_the_export_names_it(plain: tallystick.Scorer, scorer: tallystick.Scorer) -> None:
    assert "not_analysed" not in trees_of(plain)
    floor = next(value for value in scorer.types[TYPE].values if value.name == "floor")
    assert trees_of(scorer)["not_analysed"] == [
        {
            "skill_type": TYPE,
            "value": "floor",
            "kind": floor.kind,
            "tool": "rules show --json",
            "reason": "no form of this kind is exported",
        }
    ]


def test_its_range_follows_from_primitives_or_is_its_domain(plain: tallystick.Scorer) -> None:
    bound = before_the_gates(plain, TYPE, MinOf, AXIS).types[TYPE]
    floor = next(value for value in bound.values if value.name == "floor")
    composite, axis = floor.inputs
    assert floor.range_of({composite: (5, 90), axis: (10, 20)}) == (5, 20)
    bound = before_the_gates(plain, TYPE, Opaque, AXIS).types[TYPE]
    floor = next(value for value in bound.values if value.name == "floor")
    assert floor.range_of({}) == (0, NANO)


@pytest.mark.nightly
def test_the_kit_compares_its_executors(plain: tallystick.Scorer) -> None:
    known = installed()
    scorer = before_the_gates(plain, TYPE, MinOf, AXIS)
    only = attrs.evolve(scorer, types={TYPE: scorer.types[TYPE]})
    subject = Subject(known.plugins["skills"], known, Path(), {"skills@1.1.0": only})
    assert list(backend_equivalence.check(subject)) == []


@attrs.frozen(eq=False, slots=False)
class Half(Opaque):
    """A kind whose executor of one record is wrong."""

    def nano(
        self, facts: Sequence[int], values: Mapping[Value, int | None], thresholds: Thresholds
    ) -> int | None:
        return (super().nano(facts, values, thresholds) or 0) // 2


@pytest.mark.nightly
def test_the_kit_finds_an_executor_that_differs(plain: tallystick.Scorer) -> None:
    known = installed()
    scorer = before_the_gates(plain, TYPE, Half, AXIS)
    only = attrs.evolve(scorer, types={TYPE: scorer.types[TYPE]})
    subject = Subject(known.plugins["skills"], known, Path(), {"skills@1.1.0": only})
    found = list(backend_equivalence.check(subject))
    assert {each.code for each in found} == {"readers-disagree"}


@attrs.frozen(eq=False, slots=False)
class ColumnsOnly(Value):
    """A kind that says nothing of one record, and is made of no known primitive."""

    @property
    def operation(self) -> list[Any]:
        return ["acme/columns_only"]

    def plan(self, planner: Planner[S]) -> S:
        return planner.step("acme", (), lambda _, rows: [0] * rows)


def test_a_primitive_that_a_tool_does_not_know_is_named() -> None:
    stranger = ColumnsOnly("odd", "composite", (), Domain(0, NANO))
    for tool in (OneRecord((), {}, {}), Ranges({})):
        with pytest.raises(NotAnalysedError) as raised:
            tool.interpreted(stranger)
        assert raised.value.what == NotAnalysed(
            "odd",
            "acme/columns_only",
            tool.tool,
            f"it is made of a computation of its own, which {tool.tool} does not know",
        )
        assert str(raised.value).startswith("not analysed: odd (acme/columns_only): it is made")


def test_every_executor_knows_every_primitive() -> None:
    from tallystick.scoring.planner import ColumnPlanner

    primitives = {
        name
        for name, method in vars(Planner).items()
        if callable(method) and not name.startswith("_") and name not in {"interpreted", "slot"}
    }
    assert primitives <= {*vars(ColumnPlanner)}
    assert primitives - {*vars(OneRecord)} == {"step"}
    assert primitives - {*vars(Ranges)} == {"step"}


def test_the_interpreter_of_one_record_is_that_of_each_kind(plain: tallystick.Scorer) -> None:
    some = [json.loads(line) for line in lines(23, 120)]
    for record in some:
        decoded = plain.decoder.convert(record, 1)
        if not hasattr(decoded, "skill_type") or decoded.skill_type not in plain.types:
            continue
        bound = plain.types[decoded.skill_type]
        try:
            facts = bound.facts_of(decoded)
        except (tallystick.RecordError, AttributeError):
            continue
        values: dict[Value, int | None] = {}
        for each in bound.values:
            values[each] = each.nano(facts, values, bound.seeds)
            assert OneRecord(facts, values, bound.seeds).interpreted(each) == values[each]


def test_a_digest_is_of_the_operation_and_of_what_it_reads(scorer: tallystick.Scorer) -> None:
    for each in scorer.types[TYPE].values:
        read = {value.name: value.digest for value in each.inputs}
        assert each.digest == digest([each.operation, read])
        assert each.kind == each.operation[0]


def test_values_that_read_themselves_are_refused_with_their_circle() -> None:
    with pytest.raises(FormulaError, match=r"found . → . → . → ., expected values"):
        in_order({"a": ["b"], "b": ["c"], "c": ["a"], "d": ["a"]})
    assert in_order({"a": ["b", "x"], "b": ()}) == ["b", "a"]


def test_what_is_needed_is_in_the_order_of_the_list(plain: tallystick.Scorer) -> None:
    bound = plain.types[TYPE]
    needed = computation.needed(bound.values, [bound.gated])
    assert [v for v in bound.values if v in needed] == list(needed)
    assert set(needed) >= {bound.gated, bound.composite, *bound.composite.inputs}
    assert computation.needed(bound.values, [bound.gated], {"quality"}) == ()
    assert bound.emission in computation.unread(bound.values)
    assert computation.named(bound.values, "quality") is bound.quality
    assert computation.named(bound.values, "odd") is None
    assert isinstance(value.Ranges({}), Planner)
