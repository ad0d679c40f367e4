"""A state of several lines is for each of them what a state of this line alone is."""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import attrs
import pytest
from cli.command import Finished, message_of, run
from oracle.tiers import BASELINES
from state.chronicle import snapshots_of
from state.subnet import Record, event, record, task, written
from state.variants import Change, put, variant, without_type

from tallystick.canonical import digest
from tallystick.errors import StateError
from tallystick_state.answers import ClosedRound
from tallystick_state.groups import is_ejected
from tallystick_state.ledger import Ledger
from tallystick_state.quotas import Limits
from tallystick_state.replay import verify
from tallystick_state.sections.claims import Claims

SKILLS, WORKFLOW = "skills@1.0.0", "workflow@1.0.0"
PYTHON, RAG = "executable_python", "rag_knowledge"
MINERS = ("hk-0", "hk-1", "hk-2")
EPOCHS = 4


def skills_of(epoch: int) -> list[Record]:
    """Records and a flag of one epoch, with what 1.0.0 and 1.1.0 score and count otherwise."""
    about = {"round": epoch, "epoch": epoch}
    records = [
        record(f"s{epoch}-{n}", MINERS[n % 3], validator=f"val-{n % 2}", **about)
        | {"events": ["rerun_fail"] if n == epoch else ["parse_failure"] if n == 5 else []}
        for n in range(8)
    ]
    records[1]["submission"]["verdict"] = "REVIEW"
    return [*records, event(f"e{epoch}", "collusion_flag", f"s{epoch}-2", MINERS[2], **about)]


def workflows_of(epoch: int) -> list[Record]:
    about = {"round": epoch, "epoch": epoch}
    return [task(10 * epoch + n, MINERS[n % 3], 0.3 + n / 10, **about) for n in range(5)]


LINES = {"skills": (PYTHON, skills_of), "workflow": ("workflow", workflows_of)}


@attrs.frozen
class Life:
    """The result of the life of a line in a state."""

    reputations: Sequence[tuple[str, str, int]]
    thresholds: Mapping[str, Any]
    rounds: Sequence[Any]
    weights: Any


def lived(ledger: Ledger, at: Path, *lines: str, interleaved: bool = False) -> dict[str, Life]:
    """Four epochs; the skills adopt 1.1.0 at the third."""
    for uid, hotkey in enumerate(MINERS):
        ledger.register(hotkey, uid, [LINES[line][0] for line in lines])
    rounds: dict[str, list[Any]] = {line: [] for line in lines}
    for epoch in range(EPOCHS):
        if epoch == 1 and "skills" in lines:
            ledger.adopt("skills@1.1.0", 2)
        given = [LINES[line][1](epoch) for line in lines]
        for each in [[*chain.from_iterable(given)][::-1]] if interleaved else given:
            ledger.import_events(written(at / "lines.jsonl", each))
        (closed,), _ = ledger.close_round(written(at / "again.jsonl", [g[0] for g in given]))
        for line in lines:
            rounds[line].append(closed.lines[line])
        ledger.close_epoch(epoch)
    lives = {}
    with ledger.queries() as queries:
        assert set(queries.profile("hk-1").rank) == {LINES[line][0] for line in lines}
        for line in lines:
            types = queries.in_force.lines[line].first.rule_set.skill_types
            miners = queries.state.miners.items()
            lives[line] = Life(
                sorted((h, n, r) for h, m in miners for n, r in m.reputation.items() if n in types),
                {n: found for n, found in queries.state.thresholds.items() if n in types},
                rounds[line],
                queries.weights(line=line),
            )
    return lives


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(tmp_path / "both.db", [WORKFLOW, SKILLS]) as found:
        yield found


def test_each_line_is_what_it_is_alone(both: Ledger, tmp_path: Path) -> None:
    found = lived(both, tmp_path, "skills", "workflow")
    for line, reference in (("skills", SKILLS), ("workflow", WORKFLOW)):
        with Ledger.create(tmp_path / f"{line}.db", reference) as ledger:
            assert lived(ledger, tmp_path, line) == {line: found[line]}
    assert len({each for _, _, each in found["skills"].reputations}) == 3
    assert found["skills"].thresholds
    assert found["skills"].weights != found["workflow"].weights


def test_a_round_of_one_line_leaves_the_weights_of_the_others(both: Ledger) -> None:
    for uid, hotkey in enumerate(MINERS):
        both.register(hotkey, uid, [PYTHON, "workflow"])
    both.close_round(skills_of(0))
    with both.queries() as queries:
        before = queries.weights(line="skills")
    both.close_round([task(0, MINERS[0], 0.9, round=1, epoch=0)])
    both.close_epoch()
    with both.queries() as queries:
        assert queries.weights(line="skills") == before
        assert queries.weights(line="workflow").uids == (0,)
    with both.epoch_log() as log:
        rows = [json.loads(row) for row in log.rows(0)["weights"] or ()]
    assert {row[1] for row in rows} == {"skills", "workflow"}
    shares = {row[0]: row[-1] for row in rows if row[1] == "skills"}
    assert {each["round"] for each in shares.values()} == {0}
    assert sorted(each["uid"] for each in shares.values()) == [*before.uids]


@pytest.mark.nightly
def test_order_does_not_matter_and_the_log_leads_to_it(
    both: Ledger, database: str, tmp_path: Path
) -> None:
    expected = lived(both, tmp_path, "skills", "workflow")
    assert verify(both).snapshots == EPOCHS + 1
    with Ledger.create(database, [SKILLS, WORKFLOW]) as other:
        assert lived(other, tmp_path, "workflow", "skills", interleaved=True) == expected
        assert verify(other).snapshots == EPOCHS + 1
        assert snapshots_of(other) == snapshots_of(both)
        assert other.in_force.genesis == both.in_force.genesis


def test_a_snapshot_names_the_rules_of_every_line(both: Ledger) -> None:
    with both.queries() as queries:
        rules = {each.line: each.digest for each in queries.rules.lines}
        assert list(rules) == ["skills", "workflow"]
        assert queries.epoch(0).snapshot.rule_set == digest(rules)
    both.adopt("skills@1.1.0", 1)
    both.close_epoch()
    with both.queries() as queries:
        changed = {each.line: each.digest for each in queries.rules.lines}
        assert changed["workflow"] == rules["workflow"]
        assert changed["skills"] != rules["skills"]
        assert queries.epoch(1).snapshot.rule_set == digest(changed)


def test_what_asks_for_the_only_line_is_refused(both: Ledger) -> None:
    with both.queries() as queries:
        for ask in (queries.weights, lambda: queries.round_scores(0), lambda: both.rules):
            with pytest.raises(StateError, match="found a state of the lines skills, workflow"):
                ask()
        with pytest.raises(StateError, match='found the line "other"') as caught:
            queries.weights(line="other")
        assert caught.value.code == "other-line"
    with pytest.raises(ValueError, match="too many values"):
        _ = ClosedRound(0, 0, {"skills": {}, "workflow": {}}).scores


def made_up(
    folder: Path, name: str, skill_type: str, *changes: Change, version: str = "1.0.0"
) -> Path:
    """A rule set of one skill type, under another name."""
    of_type = put([skill_type], "emission", "factors", "bootstrap_bonus", "skill_types")
    others = map(without_type, BASELINES.keys() - {skill_type})
    named = put(name, "rule_set", "name")
    return variant(folder, SKILLS, version, named, of_type, *others, *changes)


OTHER_CLOCK = put(99, "epochs", "blocks")
MISTAKES: tuple[tuple[str, str, str, tuple[Change, ...]], ...] = (
    ("types-overlap", "two", PYTHON, ()),
    ("clock-differs", "two", RAG, (OTHER_CLOCK,)),
)


@pytest.mark.parametrize(
    ("code", "name", "skill_type", "changes"),
    [("same-line", "one", RAG, (put("other", "rule_set", "summary"),)), *MISTAKES],
)
def test_lines_that_do_not_go_together_begin_no_state(
    code: str, name: str, skill_type: str, changes: Sequence[Change], tmp_path: Path
) -> None:
    one = made_up(tmp_path, "one", PYTHON)
    two = made_up(tmp_path, name, skill_type, *changes, version="1.0.1")
    with pytest.raises(StateError) as caught:
        Ledger.create(tmp_path / "state.db", [one, two])
    assert caught.value.code == code
    assert not (tmp_path / "state.db").exists()


@pytest.mark.parametrize(("code", "name", "skill_type", "changes"), MISTAKES)
def test_a_line_adopts_nothing_that_does_not_go_with_the_others(
    code: str, name: str, skill_type: str, changes: Sequence[Change], tmp_path: Path
) -> None:
    lines = [made_up(tmp_path, "one", PYTHON), made_up(tmp_path, name, RAG)]
    later = made_up(tmp_path, name, skill_type, *changes, version="1.1.0")
    with Ledger.create(tmp_path / "state.db", lines) as ledger:
        with pytest.raises(StateError) as caught:
            ledger.adopt(later, 1, major=True)
        assert caught.value.code == code


def test_lines_that_ask_for_a_quorum_from_one_epoch_on_know_who_gave_the_flags(
    tmp_path: Path,
) -> None:
    types = {"one": PYTHON, "two": RAG}
    quorum = put(2, "reputation", "collusion", "quorum")
    with Ledger.create(
        tmp_path / "state.db", [made_up(tmp_path, name, own) for name, own in types.items()]
    ) as ours:
        ours.register("hk-0", 0, [*types.values()])
        ours.import_events(
            event(f"e{n}", "collusion_flag", "t", "hk-0", validator=f"val-{n % 2}")
            for n in range(3)
        )
        for name, own in types.items():
            ours.adopt(made_up(tmp_path, name, own, quorum, version="1.1.0"), 1)
        ours.close_epoch()
        with ours.queries() as queries:
            miner = queries.state.miners["hk-0"]
            assert (miner.flags, dict(miner.flagged_by)) == (3, {"val-0": 2, "val-1": 1})
            assert all(is_ejected(rules, miner) for rules in queries.rules.lines)
        verify(ours)


def test_no_line_begins_no_state(tmp_path: Path) -> None:
    with pytest.raises(StateError, match="found no rule set"):
        Ledger.create(tmp_path / "state.db", [])


def test_limits_of_lines_are_taken_together() -> None:
    one, two = Claims("any", 10, 20, 3), Claims("recorded", 1, 2, 30)
    assert Limits.of([one]) == Limits(10, 20, 3)
    assert Limits.of([one, two]) == Limits(11, 22, 30)
    assert Limits.of([one, Claims(), two]) == Limits()


def test_the_commands_show_every_line(tmp_path: Path) -> None:
    def do(*command: str | Path) -> Finished:
        found = run(*command, "--state", tmp_path / "state.db")
        assert found.status == 0, found
        return found

    begun = do("state", "init", "--rules", WORKFLOW, "--rules", SKILLS, "--json").json()
    assert list(begun["lines"]) == ["skills", "workflow"]
    assert begun["lines"]["skills"]["rule_set"] == SKILLS
    do("miner", "register", "hk-0", "--uid", "0", "--types", f"{PYTHON},workflow")
    lines = [record("t1", "hk-0"), task(0, "hk-0", 0.9)]
    closed = do("round", "close", written(tmp_path / "lines.jsonl", lines), "--json").json()
    scores = closed["rounds"][0]["lines"]
    assert set(scores["skills"]["scores"]) == {"hk-0"}
    assert scores["workflow"]["scores"] == {}
    assert do("round", "show", "0", "--json").json()["lines"] == scores
    assert do("round", "show", "0").out.splitlines()[1] == " skills:"
    info = do("state", "info", "--json").json()
    assert info["lines"] == begun["lines"]
    assert f"rules of workflow  {WORKFLOW} sha256:" in do("state", "info").out
    weights = do("weights", "--json").json()["lines"]
    assert weights["workflow"]["uids"] == weights["skills"]["uids"] == [0]
    assert do("weights", "--line", "skills", "--json").json() == weights["skills"]
    assert [each for each in do("weights").out.splitlines() if each.endswith(":")] == [
        "skills:",
        "workflow:",
    ]
    refused = run("weights", "--line", "other", "--state", tmp_path / "state.db")
    assert message_of(refused) == 'found the line "other", expected one of skills, workflow'
    assert do("state", "show", "--as", "hk-0", "--json").json()["rank"] == {
        PYTHON: 1,
        "workflow": None,
    }
    assert "skills@1.1.0" in do("state", "adopt", "skills@1.1.0", "--at-epoch", "2").out
    assert {each["line"] for each in do("state", "rules", "--json").json()["lines"]} == {
        *begun["lines"]
    }
    do("epoch", "close", "--epoch", "0")
    do("state", "verify")
