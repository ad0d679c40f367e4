"""The plugins of real subnets are whole projects: public names, sources, releases, the kit."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
from cli.command import run
from third_party.environment import Environment
from third_party.real_projects import VECTORS, cases_of, module, project, rules

import tallystick
from tallystick.plugins.registry import Registry, namespace, with_modules
from tallystick_conformance.testing.history import history_of

SUBNETS = "phylax", "chutes"
PUBLIC = {"tallystick", "tallystick.plugins.author", "tallystick_state.audit.export"}
"""Modules that a stranger's plugin needs."""


def package(name: str) -> Path:
    return project(name) / f"tallystick_{name}"


def rule_file(name: str) -> Path:
    return package(name) / "rules" / name / "1.0.0.toml"


def registry(name: str) -> Registry:
    module(name, "plugin")
    return with_modules({name: f"tallystick_{name}.plugin"}).of([name])


@pytest.mark.parametrize("name", SUBNETS)
def test_a_plugin_imports_public_names_alone(name: str) -> None:
    for path in package(name).glob("*.py"):
        imported = re.findall(
            r"^\s*(?:from|import) (tallystick\S*)", path.read_text(), re.MULTILINE
        )
        assert {each for each in imported if not each.startswith(f"tallystick_{name}")} <= PUBLIC


@pytest.mark.parametrize("name", SUBNETS)
def test_released_formulas_are_as_they_were(name: str) -> None:
    released = json.loads((package(name) / "released.json").read_text())["formulas"]
    own = [each for each in registry(name).formulas.values() if namespace(each.name) == name]
    assert released == {each.name: each.digest for each in own}


@pytest.mark.parametrize("name", SUBNETS)
def test_examples_of_every_type_score(name: str) -> None:
    lines = (package(name) / "examples.jsonl").read_text().splitlines()
    found = [rules(name).score(line) for line in lines]
    assert {each.skill_type for each in found} == set(rules(name).types)
    assert all(each.quality is None and each.measures for each in found)


# ----------------------------------------------------------------------------- files and weights


def made_up(name: str, count: int = 300) -> list[bytes]:
    types = registry(name).plugins[name].skill_types
    return list(history_of(3, types, miners=12, validators=1, epochs=1, rounds=2).lines(count))


def round_of(name: str, hotkeys: set[str]) -> dict[str, Any]:
    if name == "phylax":
        said = {"salt": "seed", "reserved": "", "share": "0"}
        return {"format": 1, "round": said, "miners": {}}
    coldkeys = {hotkey: {"coldkey": hotkey[:3]} for hotkey in hotkeys}
    return {"format": 1, "round": {}, "miners": coldkeys}


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUBNETS)
def test_results_of_every_format_give_the_same_weights(name: str, tmp_path: Path) -> None:
    lines = made_up(name)
    (tmp_path / "records.jsonl").write_bytes(b"".join(lines))
    hotkeys = {json.loads(line)["miner"]["hotkey"] for line in lines}
    found = []
    for ending in ("jsonl", "csv", "parquet"):
        results = tmp_path / f"results.{ending}"
        receipt = rules(name).score_file(tmp_path / "records.jsonl", results)
        assert (receipt.counts.scored, receipt.counts.rejected) == (len(lines), 0)
        found.append(tallystick.allocate(rules(name), results, round=round_of(name, hotkeys)))
    assert [each.weights for each in found] == [found[0].weights] * 3
    assert len(found[0].weights) > 3
    assert abs(sum(found[0].weights.values()) - 10**9) <= len(hotkeys)
    with (tmp_path / "results.csv").open(newline="") as file:
        (header, *_) = csv.reader(file)
    assert "axes" not in header


def test_columns_alone_ask_no_more_of_a_round_than_they_read() -> None:
    rows = [rules("phylax").score(line).to_dict() for line in made_up("phylax", 40)]
    with pytest.raises(tallystick.AllocationError, match=r"round\.(salt|share)"):
        tallystick.allocate(rules("phylax"), rows)
    found = tallystick.allocate(rules("phylax"), rows, columns=["score", "kept"])
    assert found.columns.keys() == {"tp", "fn", "fp", "tn", "q", "f2", "score", "kept"}
    assert (found.weights, found.carry) == ({}, {})
    assert found.nano("score").keys() == {"mcp_servers", "packages", "repositories", "skills"}
    for name in ("scores", "weight"):
        with pytest.raises(tallystick.AllocationError, match=f"found the step {name}") as caught:
            found.nano(name)
        assert caught.value.code == "unknown-step"
    with pytest.raises(tallystick.AllocationError, match="found the step scores"):
        tallystick.allocate(rules("phylax"), rows, columns=["scores"])


def test_a_number_and_no_number_are_shown_too() -> None:
    found = tallystick.allocate(rules("chutes"), [{"hotkey": "a"}], columns=["median", "curve"])
    assert (found.nano("median"), found.nano("curve")) == (0, {"a": 0})


# --------------------------------------------------------------------------------------- slow


@pytest.mark.nightly
def test_both_work_as_they_are_installed(tmp_path: Path) -> None:
    environment = Environment(tmp_path / "venv")
    for name in SUBNETS:
        environment.install(copytree(project(name), tmp_path / name))
    for name in SUBNETS:
        where = environment.run("-c", f"import tallystick_{name} as p; print(p.__file__)")
        assert Path(where).is_relative_to(environment.folder)
        found = environment.run("-m", f"tallystick_{name}", str(VECTORS)).splitlines()
        answers = {each["id"]: each["exact_nano"] for each in map(json.loads, found)}
        assert answers == {key: case["exact_nano"] for key, case in cases_of(name).items()}
    environment.run(
        "-c",
        "from tallystick_chutes import made_up as m; from pathlib import Path; "
        "Path('hour').mkdir(); m.write(Path('hour'), 1)",
    )
    audited = ("audit", "folder", "hour", "--rules", "chutes@1.0.0", "--format", "chutes/hour")
    assert "this does not show" in environment.tallystick(*audited, status=1)


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUBNETS)
def test_a_plugin_passes_the_conformance_kit(name: str) -> None:
    found = run("plugins", "check", project(name))
    assert found.status == 0, found.out
    assert f"{name} passes" in found.out


def mutants(name: str) -> Iterator[tuple[str, str]]:
    """The rule set with one of its numbers changed, and which."""
    text = rule_file(name).read_text()
    start = text.index("[measures")
    for found in re.finditer(r"(?<![\w.@])\d+(?:\.\d+)?(?![\w.])", text[start:]):
        place = start + found.start()
        line = text[text.rindex("\n", 0, place) + 1 : text.index("\n", place)]
        if "#" in line[: place - text.rindex("\n", 0, place)]:
            continue  # of a comment
        old = found.group()
        new = f"{old}1" if "." in old else f"{int(old) + 1}"
        yield f"{line.strip()}: {old} as {new}", text[:place] + new + text[start + found.end() :]


UNSEEN = ('do = "statistic", of = "unique", as = "m', "empty = 0")
"""Where nobody has a unique chute, the curve is 0 whatever the median and the largest are."""
AT_THE_CUTS = {
    "scores": {
        t: {f"{t}-1": "0.5", f"{t}-2": "0.2"} for t in ("packages", "mcp_servers", "skills")
    },
    "contributors": [],
    "seeds": {},
}
FEW_CHUTES = [
    {"hotkey": f"m{count}", "coldkey": f"c{count}", "unique": [count, 1]}
    | {"invocation_count": 1, "bounty_count": 1, "compute_units": "1"}
    for count in (1, 2, 9)
]
PROBES = {
    "phylax": ("allocation", {"rounds": [AT_THE_CUTS], "reserved": {"hotkey": "", "share": "0"}}),
    "chutes": ("weights", {"miners": FEW_CHUTES}),
}


def observed(name: str, scorer: tallystick.Scorer) -> Any:  # noqa: ANN401  # compared as a whole
    """What rules make of the public cases, and of made-up records."""
    answers = module(name, "__main__").Answers(scorer)
    kind, given = PROBES[name]
    own = {"id": "own", "subnet": name, "kind": kind, "input": given}
    found = {key: answers.to(case) for key, case in (cases_of(name) | {"own": own}).items()}
    lines = made_up(name)
    rows = [scorer.score(line).to_dict() for line in lines]
    # one without a record of its own
    rows_of_few = [row for row in rows if row["skill_type"] != "chutes/unique"]
    hotkeys = {row["miner_hotkey"] for row in rows}
    weights = [
        tallystick.allocate(scorer, each, round=round_of(name, hotkeys), columns=columns)
        for each, columns in ((rows, ()), (rows_of_few, ("units", "chutes")[: name == "chutes"]))
    ]
    return (
        found,
        [row["measures"] for row in rows],
        [{step: each.nano(step) for step in each.columns} for each in weights],
    )


@pytest.mark.nightly
@pytest.mark.parametrize("name", SUBNETS)
def test_another_number_in_the_rule_set_is_seen(name: str, tmp_path: Path) -> None:
    driver = module(name, "__main__")
    before, unseen = observed(name, rules(name)), []
    for number, (told, text) in enumerate(mutants(name)):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        try:
            after = observed(name, tallystick.load(path, modules=driver.MODULES))
        except (tallystick.RuleSetError, driver.CaseError):
            continue  # such as parts that no longer sum to 1
        if after == before and not all(part in told for part in UNSEEN):
            unseen.append(told)
    assert unseen == []
