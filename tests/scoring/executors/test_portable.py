"""Jobs that go to another process write the files of one process, or say why they would not.

The executor is `Pickled`, which sends nothing away; with real processes see `test_processes.py`.
"""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from examples import fast_rows
from scoring.executors.elsewhere import Pickled
from scoring.executors.jobs import JOBS, Inputs, files_of
from scoring.test_pinned import Recorder, pinned
from state.weighing import close_epoch

import tallystick
from tallystick.errors import EngineError, InputError
from tallystick.io.sources import FileChunk
from tallystick.numbers.nano import NANO
from tallystick.plugins.code import CodeFiles
from tallystick.scoring.executors import portable
from tallystick.scoring.executors.portable import BoundRulesSpec
from tallystick.scoring.facts.file import FactsChunk
from tallystick.scoring.facts.run import ExtractionSpec
from tallystick.scoring.output import OUTPUT_FORMATS
from tallystick.scoring.run import PortableScoring, ScoringTask
from tallystick_governance.backtest.replay import Start
from tallystick_state.model import State
from tallystick_state.rules import state_rules_of

COUNT = 150
CSV = OUTPUT_FORMATS["csv"]


@pytest.fixture(scope="module")
def inputs(
    scorer: tallystick.Scorer, records: Path, tmp_path_factory: pytest.TempPathFactory
) -> Inputs:
    return Inputs.of(scorer, records, tmp_path_factory.mktemp("inputs"))


@pytest.mark.parametrize("job", fast_rows([job for job in JOBS if job != "back-test"], 4))
def test_the_files_are_those_of_one_process(inputs: Inputs, tmp_path: Path, job: str) -> None:
    calls: list[None] = []
    there = files_of(job, inputs, tmp_path / "there", Pickled(), lambda: calls.append(None))
    assert there == files_of(job, inputs, tmp_path / "here")
    assert len(calls) > 5


@pytest.mark.nightly
def test_other_thresholds_are_sent(inputs: Inputs, tmp_path: Path) -> None:
    moved = inputs.scorer.with_thresholds({"executable_python": {"baseline": "0.2"}})
    changed = attrs.evolve(inputs, scorer=moved)
    there = files_of("score to CSV", changed, tmp_path / "there", Pickled())
    assert there == files_of("score to CSV", changed, tmp_path / "here")
    assert there != files_of("score to CSV", inputs, tmp_path / "seeds")


@pytest.mark.nightly
def test_snapshots_are_read_as_they_are_needed(inputs: Inputs, tmp_path: Path) -> None:
    """60 epochs in the records, more in the state; those from 200 on would be refused."""
    stored = Recorder(
        {
            epoch: pinned(f"sha256:{epoch:064}", baseline=5_000_000 * epoch)
            for epoch in range(10, 1000)
        }
    )
    by_state = attrs.evolve(inputs, scorer=inputs.scorer.with_snapshots(stored))
    there = files_of("score to CSV", by_state, tmp_path / "there", Pickled())
    read = set(stored.read)
    assert there == files_of("score to CSV", by_state, tmp_path / "here")
    assert there != files_of("score to CSV", inputs, tmp_path / "seeds")
    assert max(read) <= 201
    assert 49 < len(read) < 200


@pytest.mark.nightly
def test_a_back_test_goes_on_from_a_state(inputs: Inputs, tmp_path: Path) -> None:
    rules = state_rules_of(inputs.scorer)
    state = State(6, {}, {"executable_python": {"baseline": NANO // 3}})
    # rules that have closed an epoch hold generated code
    start = Start(close_epoch(state, (), rules, {}), {rules.line: rules})
    begun = attrs.evolve(inputs, start=start)
    there = files_of("back-test", begun, tmp_path / "there", Pickled())
    assert there == files_of("back-test", begun, tmp_path / "here")
    assert there != files_of("back-test", inputs, tmp_path / "new")


def test_a_facts_file_that_changes_is_refused(inputs: Inputs) -> None:
    function = PortableScoring(BoundRulesSpec.of(inputs.scorer), CSV)
    task = ScoringTask(FactsChunk(inputs.facts, 0, 0, 12345))
    with pytest.raises(InputError, match=r"facts\.parquet: found another facts file than before"):
        list(Pickled().map(function, [task]))


DIGEST = r"sha256:\w{64}"
OTHERS: dict[str, tuple[tuple[str, str], str]] = {
    "an engine": (("the engine tallystick", "0.0.1"), r"to be \S+, expected 0\.0\.1"),
    "a plugin": (("the plugin essays", "essays 1.0"), "to be missing, expected essays 1.0"),
    "a version of a plugin": (
        ("the plugin skills", "tallystick 0.0.1"),
        r"to be tallystick \S+, expected tallystick 0\.0\.1",
    ),
    "files of a plugin": (
        ("the files of the plugin skills", "sha256:1"),
        rf"to be {DIGEST}, expected sha256:1: install the same on every worker",
    ),
    "files of a section": (
        ("the files of the section allocation", "sha256:1"),
        rf"to be {DIGEST}, expected sha256:1",
    ),
    "a library": (("msgspec", "0.0.1"), r"to be \S+, expected 0\.0\.1"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_worker_of_another_kind_is_refused(inputs: Inputs, name: str) -> None:
    stated, message = OTHERS[name]
    spec = BoundRulesSpec.of(inputs.scorer)
    installation = attrs.evolve(spec.installation, certificate=(stated,))
    task = FileChunk(inputs.records, 0, 3, 1, 0)
    for function in (
        PortableScoring(attrs.evolve(spec, installation=installation), CSV),
        ExtractionSpec(installation),
    ):
        with pytest.raises(EngineError, match=f"found {stated[0]} {message}"):
            list(Pickled().map(function, [task]))


def test_a_worker_that_reads_another_rule_set_is_refused(inputs: Inputs) -> None:
    spec = BoundRulesSpec.of(inputs.scorer)
    ((_, (rule_set,)),) = spec.spans
    other = attrs.evolve(spec, spans=((0, (attrs.evolve(rule_set, digest="sha256:12"),)),))
    function = PortableScoring(other, CSV)
    with pytest.raises(EngineError, match=r"found the rule set skills@1\.0\.0 to be sha256"):
        list(Pickled().map(function, [ScoringTask(FileChunk(inputs.records, 0, 3, 1, 0))]))


def test_a_worker_with_another_back_test_is_refused(
    inputs: Inputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its code is in no closure, as it decides no score; what is sent carries its digest."""
    with monkeypatch.context() as patch:
        other = CodeFiles("acme", {})
        patch.setattr(portable, "package_files", lambda _: other)
        spec = BoundRulesSpec.of(inputs.scorer, "tallystick_governance.backtest")
    expected = rf"found the files of tallystick_governance to be .*expected {other.digest}"
    with pytest.raises(EngineError, match=expected):
        spec.rules()
