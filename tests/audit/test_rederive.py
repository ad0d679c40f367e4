"""Every row of a history follows from earlier rows, also where the rules change on the way."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from state.chronicle import feed, history
from state.subnet import written
from state.test_lines import EPOCHS as EPOCHS_OF_LINES
from state.test_lines import SKILLS, WORKFLOW
from state.test_lines import lived as lived_in_lines
from state.test_workflow_state import task

from tallystick.numbers.nano import to_text
from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit import rederive
from tallystick_state.audit.judgement import Agreed
from tallystick_state.audit.side import Side, opened_side
from tallystick_state.audit.step_rows import read_row
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import Key, LeafRow, RootedStep, row_data, row_key

EPOCHS, ADOPTED = 4, 2


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adopting")
    with Ledger.create(str(folder / "state.db"), "skills@1.0.0") as ledger:
        ledger.adopt("skills@1.2.0", ADOPTED, major=True)
        for epoch in history(23, epochs=EPOCHS, plain=True):
            feed(ledger, epoch, folder)
            records = [line for line in epoch.lines if "event" not in line]
            ledger.close_round(written(folder / "again.jsonl", records))
            ledger.close_epoch()
    return folder / "state.db"


def agreed(side: Side) -> Agreed:
    def rows(epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        found = side.rows(epoch)[step]
        assert found is not None
        low, high = found.span(prefix)
        return [found.row(place) for place in range(low, high)]

    leaves = dict(enumerate(side.leaves))
    return Agreed(leaves, side.rule_texts, installed_plugins(), rows)


@pytest.mark.nightly
def test_every_row_follows_from_earlier_rows(store: Path) -> None:
    with opened_side(store) as side:
        known = agreed(side)
        assert [bool(leaf.adopted) for leaf in side.leaves] == [
            epoch + 1 == ADOPTED for epoch in range(EPOCHS)
        ]
        for epoch in range(EPOCHS):
            check_rows(known, epoch, side)


@pytest.mark.nightly
def test_every_row_of_several_lines_follows_from_those_of_its_own(tmp_path: Path) -> None:
    """One of them adopts rules on the way, and the closed rounds are of both."""
    store = tmp_path / "state.db"
    with Ledger.create(str(store), [WORKFLOW, SKILLS]) as ledger:
        lived_in_lines(ledger, tmp_path, "skills", "workflow")
    with opened_side(store) as side:
        known = agreed(side)
        for epoch in range(EPOCHS_OF_LINES):
            check_rows(known, epoch, side)
            weights = side.rows(epoch)["weights"]
            assert weights is not None
            lines = {row_key(read_row(data))[1] for data in weights.data}
            assert lines == {"skills", "workflow"}
        assert {*side.leaves[0].rules} == {"skills", "workflow"}
        assert [{*leaf.adopted} for leaf in side.leaves] == [set(), {"skills"}, set(), set()]


def check_rows(known: Agreed, epoch: int, side: Side) -> None:
    steps = side.rows(epoch)
    for step, derive in (
        ("deltas", rederive.delta),
        ("reputations", rederive.reputation),
        ("thresholds", rederive.threshold),
    ):
        found = steps[step]  # type: ignore[index]  # one of the steps
        assert found is not None
        assert found.data, step
        for data in found.data:
            derived = derive(known, epoch, row_key(read_row(data)))
            assert derived is not None
            assert row_data(derived) == data, (epoch, step)
    _check_weights(known, epoch, side)


def _check_weights(known: Agreed, epoch: int, side: Side) -> None:
    found = side.rows(epoch)["weights"]
    assert found is not None
    rows = [*map(read_row, found.data)]
    assert rows
    for row in rows:
        value, key = row[-1], row_key(row)
        found = rederive.standing(known, epoch, key, value, rows)
        weight = rederive.weight(known, epoch, key, value, rows)
        assert value["score"] == (None if found.score is None else to_text(found.score))
        carry = {name: to_text(nano) for name, nano in found.carry.items()}
        assert value.get("carry", {}) == carry
        assert value["weight"] == (None if weight is None else to_text(weight))


def test_the_next_epoch_begins_with_something_else_where_rules_change(store: Path) -> None:
    with opened_side(store) as side:
        differ = {
            epoch
            for epoch in range(EPOCHS)
            for step in ("reputations", "thresholds")
            for data in side.rows(epoch)[step].data  # type: ignore[index, union-attr]  # is there
            if (value := read_row(data)[-1])["after"] != value["next"]
        }
    assert differ == {ADOPTED - 1}


def test_weights_over_a_window_follow_from_all_results_of_a_miner(tmp_path: Path) -> None:
    store, number = tmp_path / "state.db", 0
    with Ledger.create(str(store), "workflow@1.2.0") as ledger:
        for uid in range(3):
            ledger.register(f"hk-{uid}", uid, ["workflow"])
        for epoch in range(2):
            lines = []
            for uid in range(3):
                for _ in range(2 + uid):
                    lines.append(task(number, f"hk-{uid}", 0.3 + 0.1 * uid + 0.01 * number))
                    number += 1
            ledger.import_events(written(tmp_path / "lines.jsonl", lines))
            ledger.close_epoch()
            with ledger.queries() as queries:
                weights = queries.weights()
            with opened_side(store) as side:
                _check_weights(agreed(side), epoch, side)
                rows = side.rows(epoch)["weights"]
                assert rows is not None
                values = {read_row(data)[-1]["uid"]: read_row(data)[-1] for data in rows.data}
            assert weights.uids == tuple(sorted(values))
            shown = [values[uid]["weight"] for uid in weights.uids]
            assert shown == [*map(to_text, weights.weights)]
            assert {each["round"] for each in values.values()} == {None}
