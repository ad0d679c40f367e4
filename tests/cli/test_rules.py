"""`tallystick rules`: list, show, check and digest."""

from pathlib import Path
from unittest import mock

import attrs
import pytest
from cli.command import ROOT, RULE_SETS, run

from tallystick.plugins.code import Code
from tallystick.plugins.registry import installed, installed_plugins
from tallystick.rules.loading import load

NAMED = "skills@1.0.0@{}"
FILE = ROOT / "rules" / "skills" / "1.0.0.toml"


@pytest.fixture(scope="module")
def digests() -> dict[str, str]:
    return {name: run("rules", "digest", name).out.strip() for name in RULE_SETS}


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """A copy of a shipped rule set with three mistakes in three sections."""
    text = FILE.read_text(encoding="utf-8")
    for right, wrong in (
        ('version = "1.0.0"', 'version = "one"'),
        ("review = 0.5", "review = 1.5"),
        ('formula = "skills/efficiency@1"', 'formula = "skills/efficiency@9"'),
    ):
        assert right in text
        text = text.replace(right, wrong, 1)
    path = tmp_path / "faulty.toml"
    path.write_text(text, encoding="utf-8")
    return path


MISTAKES = ("version =", "review =", "skills/efficiency@9")


def lines_of(path: Path) -> list[int]:
    """The lines of the mistakes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [next(n for n, line in enumerate(lines, 1) if part in line) for part in MISTAKES]


def test_list_tells_which_rule_set_does_not_load() -> None:
    formulas = {n: f for n, f in installed().formulas.items() if n != "skills/detection@1"}
    lacking = attrs.evolve(installed(), formulas=formulas)
    with mock.patch("tallystick.plugins.registry.installed", return_value=lacking):
        plain, machine = run("rules", "list"), run("rules", "list", "--json")
    assert plain.status == machine.status == 1
    rows = {row["name"]: row for row in machine.json()["rule_sets"]}
    assert set(rows) == set(RULE_SETS)
    assert [name for name in rows if "error" in rows[name]] == ["skills@1.0.0"]
    assert "skills/detection@1" in rows["skills@1.0.0"]["error"]
    assert f"skills@1.0.0     error: {rows['skills@1.0.0']['error']}" in plain.out


@pytest.mark.parametrize("reference", RULE_SETS)
def test_show_has_every_formula_and_skill_type(reference: str, digests: dict[str, str]) -> None:
    found, form = run("rules", "show", reference), run("rules", "show", reference, "--json").json()
    assert (found.status, found.err) == (0, "")
    assert found.out.startswith(f"{reference}  {digests[reference]}\n")
    axes = {axis["formula"] for axis in form["canonical"]["document"]["axes"].values()}
    assert axes <= set(form["canonical"]["formulas"])
    for name in axes:
        assert f"{name}  {form['canonical']['formulas'][name]}" in found.out
    for skill_type in form["canonical"]["document"]["skill_types"]:
        assert f"\n{skill_type}\n" in found.out


def test_check_reports_every_mistake_with_its_place(faulty: Path) -> None:
    plain, machine = run("rules", "check", faulty), run("rules", "check", faulty, "--json")
    assert (plain.status, plain.out) == (1, "")
    places = [line.split(": ")[0] for line in plain.err.splitlines()]
    assert places == [f"{faulty}:{number}" for number in lines_of(faulty)]
    assert all(", expected " in line for line in plain.err.splitlines())
    assert (machine.status, machine.err) == (1, "")
    said = machine.json()
    assert said.keys() == {"valid", "error", "message", "problems", "more"}
    assert (said["valid"], said["error"], said["more"]) == (False, "RuleSetError", 0)
    assert [problem["line"] for problem in said["problems"]] == lines_of(faulty)
    for problem in said["problems"]:
        assert problem.keys() == {"file", "line", "path", "value", "expected"}
        assert problem["file"] == str(faulty)


def test_check_refuses_a_device_without_an_end() -> None:
    found = run("rules", "check", "/dev/zero")
    assert found.status == 1
    assert "found a device, which may have no end" in found.err


def test_scoring_by_a_faulty_file_writes_nothing(faulty: Path, tmp_path: Path) -> None:
    found = run("score", "absent.jsonl", "--rules", faulty, "-o", tmp_path / "out.jsonl")
    assert (found.status, found.out) == (2, "")
    assert found.err.count(str(faulty)) == len(MISTAKES)
    assert list(tmp_path.iterdir()) == [faulty]


@pytest.mark.parametrize(
    "reference",
    ["skills@1.0.0", "{digest}", f"{FILE}@{{short}}"],
)
def test_a_rule_set_is_found_by_name_path_and_digest(
    reference: str, digests: dict[str, str]
) -> None:
    digest = digests["skills@1.0.0"]
    given = reference.format(digest=digest, short=digest[: len("sha256:") + 12])
    found = run("rules", "digest", given, "--json")
    assert found.status == 0
    said = found.json()
    assert (said["rule_set"], said["digest"]) == ("skills@1.0.0", digest)
    sections = load("skills@1.0.0", installed_plugins()).rule_set.sections
    code = Code.of(installed_plugins().of({"consensus", "skills"}), sections)
    assert said["code"] == attrs.asdict(code)


@pytest.mark.parametrize(
    ("command", "reference"),
    [
        (("score", "absent.jsonl", "-o", "out.csv", "--rules"), NAMED),
        (("explain", "absent.jsonl", "--rules"), "{}"),
        (("explain", "absent.jsonl", "--rules"), f"{FILE}@{{}}"),
        (("state", "init", "--state", "state.db", "--rules"), NAMED),
        (("rules", "check"), NAMED),
        (("rules", "diff", "skills@1.1.0"), NAMED),
        (("backtest", "absent.jsonl", "-o", "report", "--rules", "skills@1.1.0", "--rules"), NAMED),
    ],
)
def test_what_computes_under_a_rule_set_wants_the_whole_pin(
    command: tuple[str, ...],
    reference: str,
    digests: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    digest = digests["skills@1.0.0"]
    found = run(*command, reference.format(digest[: len("sha256:") + 63]))
    assert found.status == (1 if command == ("rules", "check") else 2)
    assert f"found a pin of 63 digits, which {digest} has, expected all 64 digits" in found.err
    assert list(tmp_path.iterdir()) == []
