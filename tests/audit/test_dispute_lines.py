"""Disputes between states of two lines: what is planted in one of them is judged by its rules."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from audit.planted import at, nano_more, other_digit, planted
from examples import fast_rows
from state.subnet import written
from state.test_lines import EPOCHS, PYTHON, SKILLS, WORKFLOW, lived, skills_of, workflows_of

from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import dispute, dispute_bytes, read_dispute
from tallystick_state.audit.evidence import write_evidence
from tallystick_state.audit.judgement import records_of
from tallystick_state.audit.side import opened_side
from tallystick_state.ledger import Ledger
from tallystick_state.transfer import export_state

EPOCH = EPOCHS - 1
PLANTED: dict[str, Callable[[Any], Any]] = {
    "inputs": other_digit,
    "results": nano_more("quality"),
    "deltas": nano_more("delta"),
    "reputations": nano_more("after"),
    "thresholds": nano_more("after"),
    "weights": nano_more("score"),
}


@attrs.frozen
class Both:
    """A state of two lines."""

    store: Path
    export: Path
    evidence: Path
    records: Path


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    folder = tmp_path_factory.mktemp("both")
    found = Both(*(folder / name for name in ("state.db", "export.jsonl", "a.jsonl", "all.jsonl")))
    with Ledger.create(str(found.store), [WORKFLOW, SKILLS]) as ledger:
        lived(ledger, folder, "skills", "workflow")
        export_state(ledger, found.export)
        write_evidence(ledger, found.evidence)
    lines = (each for n in range(EPOCHS) for each in (*skills_of(n), *workflows_of(n)))
    written(found.records, (each for each in lines if "event" not in each))
    return found


@pytest.mark.nightly
def test_a_state_of_two_lines_its_export_and_its_evidence_are_one_side(both: Both) -> None:
    for other in (both.export, both.evidence):
        with opened_side(both.store) as a, opened_side(other) as b:
            assert dispute(a, b, installed_plugins()).verdict.kind == "equal"


def _of_line(step: str, line: str) -> Callable[[list[Any]], None]:
    """A change of the first row of a step that is of a line."""
    owner = {"weights": line}.get(step, PYTHON if line == "skills" else "workflow")
    column = 0 if step == "thresholds" else 1

    def changed(rows: list[Any]) -> None:
        own = [n for n, row in enumerate(rows) if row[column] == owner]
        if step == "results":
            own = [n for n in own if rows[n][-1]["quality"] is not None]
        if step == "inputs":
            own = [n for n in own if not rows[n][6]]
        at(own[0], PLANTED[step])(rows)

    return changed


WHERE = [(step, "skills") for step in PLANTED]
WHERE += [(step, "workflow") for step in ("inputs", "results", "weights")]
"""The steps of each line that have rows: a workflow of this version has neither reputations nor
thresholds."""


@pytest.mark.parametrize(("step", "line"), fast_rows(WHERE, 2, 5, 8))
def test_what_is_planted_in_a_line_is_judged_by_its_rules(
    step: str, line: str, both: Both, tmp_path: Path
) -> None:
    other = planted(both.evidence, tmp_path / "b.jsonl", EPOCH, step, _of_line(step, line))
    for side in (both.store, both.evidence):
        with opened_side(side) as a, opened_side(other) as b:
            found = dispute(a, b, installed_plugins(), records_of(both.records))
        verdict = found.verdict
        assert (verdict.epoch, verdict.step, verdict.wrong) == (EPOCH, step, "b")
        data = dispute_bytes(found)
        again = read_dispute(data, "dispute.json")
        again.check(installed_plugins())
        assert {each.reference for each in again.rules} == {SKILLS, "skills@1.1.0", WORKFLOW}
        if verdict.explanation is not None:
            rules = {"skills": "skills@1.1.0", "workflow": WORKFLOW}
            assert verdict.explanation["rule_set"] == rules[line]


def test_another_adoption_of_one_line_is_told(tmp_path: Path) -> None:
    stores = [tmp_path / "a.db", tmp_path / "b.db"]
    for store in stores:
        with Ledger.create(str(store), [WORKFLOW, SKILLS]) as ledger:
            if store == stores[1]:
                ledger.adopt("workflow@1.1.0", 1)
            ledger.close_epoch()
    with opened_side(stores[0]) as a, opened_side(stores[1]) as b:
        found = dispute(a, b, installed_plugins())
    assert (found.verdict.kind, found.verdict.epoch) == ("rules", 0)
    read_dispute(dispute_bytes(found), "dispute.json").check(installed_plugins())
