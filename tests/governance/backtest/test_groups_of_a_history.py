"""With groups, each candidate computes the consensus of the records, as the commands do."""

import json
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from examples import fast_rows
from governance.backtest.histories import (
    Records,
    by_hand,
    grouped,
    told,
    weights_of,
    written,
)
from governance.revision import shipped, with_values
from pyarrow import parquet

import tallystick
from tallystick.numbers.nano import from_decimal
from tallystick.plugins.registry import installed_plugins
from tallystick.scoring.executors.local import Local
from tallystick_governance.backtest.candidates import candidates_of
from tallystick_governance.backtest.run import backtest
from tallystick_governance.weight_effect import weight_effect

BASE = "skills@1.2.0"
DETECTION = "reputation.collusion.detection"
CHANGES: dict[str, dict[str, Decimal | str]] = {
    "agreement": {
        "consensus.components.verdict_agreement.one_step": Decimal(0),
        "consensus.finding_lines.lines": Decimal(1),
    },
    "detection": {
        f"{DETECTION}.minimum_samples": Decimal(2),
        f"{DETECTION}.primaries_above": Decimal("0.1"),
        f"{DETECTION}.auditors_below": Decimal("0.9"),
    },
}
Change = Callable[[str], str]


@pytest.fixture
def changed(tmp_path: Path) -> Change:
    """Writes the base with some values, and returns its path."""

    def write(name: str) -> str:
        path = tmp_path / f"{name}.toml"
        pairs = [*CHANGES[name].items(), ("rule_set.version", "1.3.0")]
        path.write_text(with_values(shipped(BASE), pairs))
        return str(path)

    return write


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("grouped")
    records, groups = grouped(4)
    return written(folder / "records.jsonl", records), written(folder / "groups.jsonl", groups)


def lines_of(path: Path) -> Records:
    return [json.loads(line) for line in path.read_text().splitlines()]


def filled(tmp_path: Path, history: tuple[Path, Path], reference: str) -> Path:
    """The records as the command fills them."""
    records, groups = history
    path = tmp_path / "filled.jsonl"
    words = ["consensus", str(groups), "--rules", reference, "-o", str(tmp_path / "c.jsonl")]
    told([*words, "--records", str(records), "--records-output", str(path)])
    return path


@pytest.mark.parametrize("with_state", fast_rows([False, True], 0))
def test_it_is_consensus_then_score_then_the_rest_by_hand(
    tmp_path: Path, history: tuple[Path, Path], changed: Change, with_state: bool
) -> None:
    references, out = (BASE, changed("agreement")), tmp_path / "out"
    words = ["backtest", str(history[0]), "--groups", str(history[1]), "-o", str(out)]
    words += [word for reference in references for word in ("--rules", reference)]
    text = told([*words, *(["--with-state"] if with_state else [])])
    assert f"groups  {history[1]}, whose consensus each candidate computes" in text
    summary = json.loads((out / "summary.json").read_text())
    assert summary["history"]["groups"]["source"] == str(history[1])
    names = [summary["baseline"]["name"], summary["candidates"][0]["name"]]
    paid = list[dict[str, int]]()
    for reference, name in zip(references, names, strict=True):
        folder = tmp_path / name.replace("@", "-")
        folder.mkdir()
        path = filled(folder, history, reference)
        if with_state:
            assert weights_of(out, name) == by_hand(folder / "w", reference, lines_of(path))
            continue
        told(["score", str(path), "--rules", reference, "-o", str(folder / "scores.jsonl")])
        sums = Counter[str]()
        for line in lines_of(folder / "scores.jsonl"):
            sums[line["miner_hotkey"]] += from_decimal(Decimal(line["emission"] or 0))
        paid.append(sums)
    if not with_state:
        rows = parquet.read_table(out / "miners.parquet").to_pylist()
        totals = [Counter[str](), Counter[str]()]
        for row in rows:
            if row["skill_type"] is None:
                for side, total in zip(("baseline", "candidate"), totals, strict=True):
                    total[row["miner_hotkey"]] += from_decimal(row[f"{side}_amount"])
        assert totals == paid
        assert paid[0] != paid[1]


def test_an_epoch_in_several_files_is_one(
    tmp_path: Path, history: tuple[Path, Path], changed: Change
) -> None:
    candidates = candidates_of((BASE, changed("agreement")), [], installed_plugins())
    lines, parts = history[0].read_text().splitlines(keepends=True), tmp_path / "parts"
    parts.mkdir()
    for place in range(5):
        (parts / f"{place}.jsonl").write_text("".join(lines[place::5]))
    found = []
    for records in (history[0], parts):
        out = tmp_path / f"of-{records.name}"
        backtest(records, candidates, out, with_state=True, groups=history[1])
        found.append([weights_of(out, candidate.name) for candidate in candidates])
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]


@pytest.mark.nightly
def test_flags_follow_from_the_groups_of_each_candidate(
    tmp_path: Path, history: tuple[Path, Path], changed: Change
) -> None:
    references, (records, groups) = (BASE, changed("detection")), history
    out = tmp_path / "out"
    candidates = candidates_of(references, [], installed_plugins())
    backtest(records, candidates, out, with_state=True, groups=groups)
    found = [weights_of(out, candidate.name) for candidate in candidates]
    for candidate, reference, own in zip(candidates, references, found, strict=True):
        folder = tmp_path / candidate.name.replace("@", "-")
        assert own == by_hand(folder, reference, lines_of(records), lines_of(groups))
    # the likeness of the two who always agree flags them under the candidate alone
    assert found[0] != found[1]
    effect = weight_effect(records, *map(tallystick.load, references), groups=groups)
    assert effect.share_moved


@pytest.mark.nightly
def test_without_groups_a_change_of_consensus_moves_nothing(
    tmp_path: Path, history: tuple[Path, Path], changed: Change
) -> None:
    path = filled(tmp_path, history, BASE)
    rules = [tallystick.load(reference) for reference in (BASE, changed("agreement"))]
    assert weight_effect(path, *rules).share_moved == 0
    assert weight_effect(history[0], *rules, groups=history[1]).share_moved


@pytest.mark.nightly
def test_workers_give_the_same_files(
    tmp_path: Path, history: tuple[Path, Path], changed: Change
) -> None:
    references = (BASE, changed("agreement"), changed("detection"))
    digests = []
    for name, executor in (("here", None), ("workers", Local(2))):
        candidates = candidates_of(references, [], installed_plugins())
        _, written_files = backtest(
            history[0],
            candidates,
            tmp_path / name,
            with_state=True,
            groups=history[1],
            executor=executor,
        )
        digests.append(written_files.digests)
    assert digests[0] == digests[1]


def backtested(tmp_path: Path, history: Path, groups: Path, *rules: str) -> list[str]:
    words = ["backtest", str(history), "--groups", str(groups), "-o", str(tmp_path / "o")]
    return [*words, *(word for reference in rules for word in ("--rules", reference))]


def test_mistakes_are_told(tmp_path: Path, history: tuple[Path, Path]) -> None:
    records, groups = history
    facts = tmp_path / "facts.parquet"
    told(["facts", str(records), "-o", str(facts)])
    both = (BASE, "skills@1.1.0")
    text = told(backtested(tmp_path, facts, groups, *both), 2)
    assert "found facts beside the groups" in text
    text = told(backtested(tmp_path, records, groups, "workflow@1.1.0", "workflow@1.2.0"), 2)
    assert "found groups and no [consensus] in workflow@1.1.0" in text
    bad = tmp_path / "bad.jsonl"
    bad.write_text(groups.read_text() + "{}\n")
    assert "found 1 bad line, expected groups" in told(backtested(tmp_path, records, bad, *both), 2)
    others = [{**group, "task_id": "other"} for group in lines_of(groups)[:2]]
    foreign = written(tmp_path / "foreign.jsonl", others)
    text = told(backtested(tmp_path, records, foreign, *both), 2)
    assert "found no record of any of" in text
    text = told(backtested(tmp_path, records, tmp_path / "none.jsonl", *both), 2)
    assert "none.jsonl" in text


def test_a_record_that_contradicts_its_group_counts_under_no_candidate(
    tmp_path: Path, history: tuple[Path, Path]
) -> None:
    records: list[dict[str, Any]] = lines_of(history[0])
    wrong = next(line for line in records if "submission" in line)
    wrong["submission"]["risk_score"] = 0.77
    path = written(tmp_path / "records.jsonl", records)
    told(backtested(tmp_path, path, history[1], BASE, "skills@1.1.0"), 1)
    summary = json.loads((tmp_path / "o" / "summary.json").read_text())
    assert summary["history"]["rejects"] == {"group-mismatch": 1}


@pytest.mark.nightly
def test_groups_of_a_type_that_a_candidate_lacks_are_left_out(
    tmp_path: Path, history: tuple[Path, Path]
) -> None:
    text = shipped(BASE)
    start, end = (text.index(f"[skill_types.{n}]") for n in ("declarative", "executable_python"))
    kept = (text[:start] + text[end:]).splitlines(keepends=True)
    path = tmp_path / "without.toml"
    path.write_text("".join(line for line in kept if not line.startswith("declarative.")))
    told(backtested(tmp_path, history[0], history[1], BASE, str(path)))
    rows = parquet.read_table(tmp_path / "o" / "miners.parquet").to_pylist()
    compared = {row["skill_type"] for row in rows if row["candidate_amount"] is not None}
    assert "rag_knowledge" in compared
    same = [row for row in rows if row["skill_type"] == "rag_knowledge"]
    assert all(row["baseline_amount"] == row["candidate_amount"] for row in same)
