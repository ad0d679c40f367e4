"""`tallystick demo`: the bundled examples under every rule set, scored as by the oracle."""

import json
from typing import Any

from cli.command import RULE_SETS, SKILLS, WORKFLOWS, run
from generators import SKILL_TYPES
from oracle import score


def expected(rule_set: str) -> list[dict[str, Any]]:
    path = WORKFLOWS if rule_set.startswith("workflow") else SKILLS
    records = [json.loads(line) for line in path.read_bytes().splitlines()]
    return [{"record": n, **score(record, rule_set)} for n, record in enumerate(records, 1)]


def test_the_demo_scores_every_example_as_the_oracle() -> None:
    said = run("demo", "--json").json()["rule_sets"]
    assert [part["rule_set"] for part in said] == list(RULE_SETS)
    for part in said:
        assert part.keys() == {"rule_set", "digest", "results"}
        assert part["results"] == expected(part["rule_set"])
        assert part["digest"] == run("rules", "digest", part["rule_set"]).out.strip()


def test_the_demo_covers_every_skill_type() -> None:
    said = run("demo", "--json").json()["rule_sets"]
    shown = {result["skill_type"] for part in said for result in part["results"]}
    assert shown == set(SKILL_TYPES)


def test_the_demo_shows_the_same_to_people() -> None:
    found, said = run("demo"), run("demo", "--json").json()["rule_sets"]
    assert (found.status, found.err) == (0, "")
    for part in said:
        assert part["rule_set"] in found.out
        assert part["digest"] in found.out
        for result in part["results"]:
            assert result["quality"] is None or result["quality"] in found.out
            assert result["emission"] is None or result["emission"] in found.out


def test_the_demo_is_the_same_every_time() -> None:
    assert run("demo") == run("demo")
    assert run("demo", "--json") == run("demo", "--json")
