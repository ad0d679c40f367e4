"""Every public function takes a path as text or as an `os.PathLike`, and refuses the rest."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

import tallystick
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.run import extract_file
from tallystick_conformance.process import check
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.run import backtest
from tallystick_governance.lint.linting import report
from tallystick_state.transfer import export_state, import_state

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "plugins" / "tallystick_skills" / "examples.jsonl"
SHIPPED = ROOT / "rules" / "skills" / "1.0.0.toml"


@attrs.frozen
class Place:
    """A path that is neither text nor a `Path`."""

    path: str

    def __fspath__(self) -> str:
        return self.path


def score(path: Callable[[str], Any]) -> None:
    scorer = tallystick.load(path("mine.toml"))
    names = ("out.jsonl", "rejects.jsonl", "receipt.json")
    output, rejects, receipt = map(path, names)
    scorer.score_file(path("records.jsonl"), output, rejects=rejects, receipt=receipt)
    assert all(Path(name).exists() for name in names)


def keep(path: Callable[[str], Any]) -> None:
    with tallystick.Ledger.create(path("s.db"), path("mine.toml")) as ledger:
        export_state(ledger, path("s.jsonl"))
    import_state(path("s.jsonl"), path("copy.db"))
    with tallystick.Ledger.open(path("copy.db")) as ledger:
        Path("miners.csv").write_text("uid,hotkey,types\n1,a,mcp_server\n")
        assert ledger.sync_miners(path("miners.csv")).registered == ("a",)
        for take in (ledger.import_events, ledger.close_round):
            with pytest.raises(tallystick.TallystickError, match=r"records.jsonl: found . bad"):
                take(path("records.jsonl"))


def compare(path: Callable[[str], Any]) -> None:
    extract_file(path("records.jsonl"), path("facts.parquet"), installed())
    found = candidates_of([path("mine.toml"), "skills@1.1.0"], [], installed())
    backtest(path("facts.parquet"), found, path("report"))
    assert Path("report").is_dir()
    report(path("mine.toml"))


@pytest.mark.parametrize("use", [score, keep, compare])
def test_a_path_is_whatever_has_one(
    use: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(EXAMPLES, "records.jsonl")
    shutil.copy(SHIPPED, "mine.toml")
    use(Place)


def test_a_path_is_a_path_whatever_it_looks_like() -> None:
    assert tallystick.load("skills@1.0.0").rule_set.reference == "skills@1.0.0"
    with pytest.raises(tallystick.RuleSetError, match="no such file"):
        tallystick.load(Path("skills@1.0.0"))


@pytest.mark.parametrize("value", [None, 5, b"records.jsonl", ["records.jsonl"], object()])
def test_what_is_no_path_is_an_error_of_ours(value: Any, tmp_path: Path) -> None:  # noqa: ANN401  # wrong
    scorer, ledger = tallystick.load("skills@1.0.0"), tallystick.Ledger
    state = ledger.create(tmp_path / "s.db", "skills@1.0.0")
    candidates = candidates_of(["skills@1.0.0", "skills@1.1.0"], [], installed())
    uses: tuple[Callable[[], object], ...] = (
        lambda: tallystick.load(value),
        lambda: scorer.score_file(value, tmp_path / "out.jsonl"),
        lambda: scorer.score_file(EXAMPLES, value),
        lambda: scorer.score_file(EXAMPLES, tmp_path / "out.jsonl", rejects=value or 5),
        lambda: scorer.score_file(EXAMPLES, tmp_path / "out.jsonl", receipt=value or 5),
        lambda: ledger.create(value, "skills@1.0.0"),
        lambda: ledger.create(tmp_path / "new.db", value),
        lambda: ledger.open(value),
        lambda: state.import_events(value),
        lambda: state.close_round(value),
        lambda: state.sync_miners(value),
        lambda: export_state(state, value),
        lambda: import_state(value, tmp_path / "new.db"),
        lambda: import_state(tmp_path / "s.jsonl", value),
        lambda: extract_file(value, tmp_path / "facts.parquet", installed()),
        lambda: extract_file(EXAMPLES, value, installed()),
        lambda: backtest(value, candidates, tmp_path / "report"),
        lambda: backtest(EXAMPLES, candidates, value),
        lambda: candidates_of([value], [], installed()),
        lambda: report(value),
        lambda: check(value),
    )
    for use in uses:
        with pytest.raises(tallystick.TallystickError, match="expected"):
            use()
    assert not (tmp_path / "new.db").exists()
