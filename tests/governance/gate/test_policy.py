"""A policy is read strictly, and its digest is of what it says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from cli.command import message_of, run
from governance.gate.worlds import HEAD

from tallystick.resources import folder
from tallystick_governance.gate.clauses import KINDS
from tallystick_governance.gate.policy import read

CLAUSE = "[weight.moved_at_most]\nshare = 0.1\n"
WHOLE = """\
summary = "all of it"

[measure]
seeds = [1, 2]
epochs = 5
proof_steps = 3
proof_seconds = 9

[emission.growth_at_most]
factor = 1.25
reason = "it is enough"
skill_types = { workflow = 1.5 }

[weight]
moved_at_most = { share = 0.1, optional = true }
nobody_at_most = { share = 0 }
floor = { share = 0.5 }

[lint.new_findings]
errors = 0
warnings = 1
notes = 2
except = [{ code = "cliff", path = "skill_types.*", reason = "it is meant" }]

[lint.forbidden]
codes = ["free-points"]

[lint.new_silences]

[prove]
new_undecided = { at_most = 3 }
new_refuted = {}

[diff]
version = {}
not_analysed = {}

[simulation.deviation_gain_at_most]
times = 1
more = 0.1
"""


def digest_of(path: Path, text: str) -> str:
    path.write_text(HEAD + text, encoding="utf-8")
    return read(str(path)).digest


def test_every_kind_of_clause_can_be_written_and_is_told(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(HEAD + WHOLE, encoding="utf-8")
    policy = read(str(path))
    assert {clause.name for clause in policy.clauses} == {*KINDS}
    assert (policy.measure.seeds, policy.measure.epochs) == ((1, 2), 5)
    told = run("rules", "gate", path, "--json").json()
    assert (told["name"], told["digest"]) == ("council", policy.digest)
    limits = {each["clause"]: each["limit"] for each in told["clauses"]}
    assert limits["emission.growth_at_most"] == "at most 1.25 ×"
    assert (
        limits["lint.new_findings"]
        == "at most 0 new errors, at most 1 new warning, at most 2 new notes"
    )
    assert [e["clause"] for e in told["clauses"] if e["optional"]] == ["weight.moved_at_most"]
    assert "why: it is enough" in run("rules", "gate", path).out


def test_the_schema_is_sound_and_knows_every_clause() -> None:
    schema = json.loads((folder("schemas") / "gate-policy-1.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    listed = {
        f"{section}.{name}"
        for section, table in schema["properties"].items()
        for name in table.get("properties", {})
        if section != "measure"
    }
    assert listed == {*KINDS}


def test_the_digest_is_of_what_a_policy_says(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    first = digest_of(path, CLAUSE)
    same = ("# a comment\n" + CLAUSE, "weight = { moved_at_most = { share = 0.100 } }")
    assert {digest_of(path, text) for text in same} == {first}
    others = (
        CLAUSE.replace("0.1", "0.2"),
        CLAUSE + 'reason = "because"\n',
        CLAUSE + "optional = true\n",
        "[measure]\nepochs = 3\n" + CLAUSE,
    )
    assert len({first, *(digest_of(path, text) for text in others)}) == 1 + len(others)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (HEAD + "[weight.moved_at_mots]\nshare = 0.1\n", "did you mean 'moved_at_most'?"),
        (HEAD + "[wieght.floor]\nshare = 0.1\n", "did you mean 'weight'?"),
        (HEAD + "[weight.floor]\nshre = 0.1\n", "did you mean 'share'?"),
        (HEAD + "[weight.floor]\n", "share: expected the least"),
        (HEAD + "[weight.floor]\nshare = 1.5\n", "from 0 to 1"),
        (HEAD + '[weight.floor]\nshare = "a tenth"\n', "from 0 to 1"),
        (HEAD + "[weight.floor]\nshare = nan\n", "nan"),
        (HEAD + "[weight.floor]\nshare = 0.0000000001\n", "nine decimal places"),
        (HEAD + "[weight.floor]\nshare = 2026-01-01\n", "the least that is left"),
        (HEAD + CLAUSE + 'reason = ""\n', "why the clause is as it is"),
        (HEAD + CLAUSE + 'optional = "yes"\n', "true where"),
        (HEAD + "[lint.new_findings]\nerrors = 0.0\n", "a whole number"),
        (HEAD + "[lint.forbidden]\ncodes = []\n", "1 to 256 codes"),
        (
            HEAD + '[lint.new_findings]\nexcept = [{ code = "cliff" }]\n',
            "reason: expected why it is excused",
        ),
        (HEAD + "[measure]\nseeds = [1, 1]\n" + CLAUSE, "each once"),
        (HEAD + "[simulation.deviation_gain_at_most]\n", "neither times nor more"),
        (HEAD, "found no clause"),
        ('name = "x"\n' + CLAUSE, "format: expected the version of this format, which is missing"),
        ('format = 2\nname = "x"\n' + CLAUSE, "format"),
        ('format = 1\nname = "a b"\n' + CLAUSE, "letters, digits"),
        (HEAD + "[weight\n", "TOML"),
        ("\ud800", "cannot be read"),
        (HEAD + "x" * 300_000, "more than"),
    ],
)
def test_a_policy_that_is_none_is_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    for words in ((path,), (path, "skills@1.2.0", "skills@1.2.0")):
        message = message_of(run("rules", "gate", *words))
        assert message.startswith(f"{path}:")
        assert told in message


def test_a_policy_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "did you mean 'default'?" in message_of(run("rules", "gate", "defualt"))
    assert "cannot be read" in message_of(run("rules", "gate", tmp_path / "none.toml"))
    assert "cannot be read" in message_of(run("rules", "gate", f"{tmp_path}/"))


def test_the_policy_that_ships_is_named_without_a_path() -> None:
    told = run("rules", "gate", "default", "--json").json()
    assert told["name"] == "default"
    assert all(each["reason"] for each in told["clauses"])
    assert {each["clause"] for each in told["clauses"] if each["optional"]} <= {
        "prove.new_refuted",
        "prove.new_undecided",
    }
