"""A living state that adopts other rules: what it refuses, what its epochs and answers go by."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from rules.documents import with_section
from state.chronicle import digest_of
from state.subnet import (
    Record,
    begun,
    event,
    hotkeys,
    missed,
    record,
    rules_of,
    standing_of,
    task,
    under,
    weights_of,
)
from state.variants import put, variant, without_type

from tallystick.errors import RefusedError, StateError
from tallystick.numbers.nano import NANO
from tallystick.rules.timeline import Timeline
from tallystick_state.adoption import LAST_EPOCH
from tallystick_state.ledger import Ledger
from tallystick_state.replay import Verified, verify
from tallystick_state.rules import StateRules, epoch_of, first_block
from tallystick_state.sections.epochs import EPOCHS

PYTHON, RAG = "executable_python", "rag_knowledge"
OLD, NEW, NEWEST = "skills@1.0.0", "skills@1.1.0", "skills@1.2.0"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with begun(str(tmp_path / "state.db"), OLD) as found:
        yield found


def closed(ledger: Ledger, epoch: int) -> None:
    """Every epoch before this one is closed."""
    while ledger.open_epoch() < epoch:
        ledger.close_epoch()


def references(ledger: Ledger, epochs: int) -> list[str]:
    in_force = ledger.in_force
    return [in_force.at(epoch).only().rule_set.reference for epoch in range(epochs)]


def kinds(ledger: Ledger) -> list[str]:
    with ledger.store.reading() as transaction:
        return [entry.kind for entry in transaction.entries()]


def test_an_epoch_has_the_rules_that_were_adopted_for_it(ledger: Ledger) -> None:
    adoption = ledger.adopt(NEW, 2)
    assert (adoption.value.line, adoption.epoch, adoption.sequence) == ("skills", 2, 1)
    assert adoption.previous == ledger.in_force.at(0).digest
    ledger.adopt(NEWEST, 4)
    assert references(ledger, 6) == [OLD, OLD, NEW, NEW, NEWEST, NEWEST]
    for epoch, expected in enumerate([OLD, OLD, NEW, NEW, NEWEST]):
        closed(ledger, epoch)
        assert ledger.rules.rule_set.reference == expected
        with ledger.queries() as queries:
            assert queries.epoch(epoch).snapshot.rule_set == ledger.rules.digest
    assert verify(ledger) == Verified(entries=8, snapshots=5)


def test_a_scheduled_adoption_can_be_withdrawn_until_it_begins(ledger: Ledger) -> None:
    before = digest_of(ledger)
    ledger.adopt(NEW, 1)
    ledger.adopt(NEWEST, 3)
    assert ledger.withdraw().value.rule_set.reference == NEWEST
    assert ledger.withdraw("skills").epoch == 1
    assert digest_of(ledger) == before
    # what was withdrawn cannot be sent again: every change of rules has a number of its own
    assert ledger.adopt(NEW, 1).sequence == 5
    ledger.close_epoch()
    with pytest.raises(StateError, match="holds since epoch 1") as refused:
        ledger.withdraw()
    assert refused.value.code == "not-scheduled"
    assert kinds(ledger) == [
        *("genesis", "miner", "rules", "rules", "withdraw", "withdraw", "rules", "epoch")
    ]
    verify(ledger)


def refusals(folder: Path) -> dict[str, tuple[str, Any, int]]:
    """By code, what is adopted and from when."""
    return {
        "epoch-begun": ("found the epoch 1, expected one after 1", NEWEST, 1),
        "epoch-order": ("found the epoch 4, expected one after 4, from which skills@1", NEWEST, 4),
        "other-line": ('the line "workflow", expected one of skills', "workflow@1.0.0", 9),
        "same-rules": ("found skills@1.1.0 sha256:", NEW, 9),
        "major-change": (
            f"found skills@1.1.7 without skill_types.{PYTHON}, expected what skills@1.1.0 has",
            variant(folder, NEW, "1.1.7", without_type(PYTHON)),
            9,
        ),
        "major-change ": (
            "found skills@2.0.0 as a new major version",
            variant(folder, NEW, "2.0.0"),
            9,
        ),
    }


def test_what_a_state_does_not_allow_is_refused_and_changes_nothing(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.close_epoch()
    ledger.adopt(NEW, 4)
    before = standing_of(ledger)
    for code, (message, rules, epoch) in refusals(tmp_path).items():
        with pytest.raises(StateError, match=message) as refused:
            ledger.adopt(rules, epoch)
        assert refused.value.code == code.strip()
    with pytest.raises(StateError, match=r'found the line "none", expected one of skills'):
        ledger.withdraw("none")
    with pytest.raises(StateError, match="expected at most 2147483647"):
        ledger.adopt(NEWEST, 2**31)
    for epoch in (True, 2.0, "9", None):
        with pytest.raises(StateError, match="for epoch, expected a whole number"):
            ledger.adopt(NEWEST, epoch)  # type: ignore[arg-type]
    assert standing_of(ledger) == before


def test_a_type_with_another_record_format_is_refused(ledger: Ledger, tmp_path: Path) -> None:
    rules = rules_of(NEW)
    kind = rules.registry.skill_types[PYTHON]
    schema = json.loads(kind.schema.read_text("utf-8"))
    schema["properties"]["more"] = {"type": "boolean"}
    other = tmp_path / "other.schema.json"
    other.write_text(json.dumps(schema), encoding="utf-8")
    types = {**rules.registry.skill_types, PYTHON: attrs.evolve(kind, schema=other)}
    plugins = attrs.evolve(rules.registry, skill_types=types)
    changed = StateRules(attrs.evolve(rules.loaded, registry=plugins))
    with pytest.raises(StateError) as refused:
        ledger.in_force.check_beside(changed)
    assert refused.value.code == "schema-conflict"


def late(number: int, name: str, epoch: int, **values: Any) -> Record:  # noqa: ANN401  # of any field
    return event(f"e{number}", name, f"t{number}", round=epoch, epoch=epoch, **values)


def test_an_event_that_the_rules_no_longer_have_is_left_out_late_and_refused_new(
    tmp_path: Path,
) -> None:
    with begun(str(tmp_path / "state.db"), NEW) as ledger:
        ledger.adopt(OLD, 1, major=True)
        ledger.close_epoch()
        found = ledger.import_events([late(1, "parse_failure", 0), late(2, "rerun_fail", 1)])
        assert (found.events, dict(found.left_out), found.is_whole) == (
            2,
            {"parse_failure": 1},
            True,
        )
        (told,) = found.told
        assert (told.line, told.code, told.value) == (1, "event-left-out", '"parse_failure"')
        with pytest.raises(RefusedError) as refused:
            ledger.import_events([late(3, "parse_failure", 1)])
        assert [each.code for each in refused.value.refusals] == ["unknown-event"]
        # known already: nothing is left out once more
        assert not ledger.import_events([late(1, "parse_failure", 0)]).left_out
        ledger.close_epoch()
        with ledger.queries() as queries:
            # 0.9 · 0.5 + 0.1 · mean(0, 0.7 · 0.5 − 0.5) of the two records
            assert queries.state.miners["hk-1"].reputation[PYTHON] == 442_500_000
        verify(ledger)


def test_a_missed_deadline_is_recorded_whatever_the_rules_make_of_it(
    ledger: Ledger, tmp_path: Path
) -> None:
    def without_event(document: Any) -> None:  # noqa: ANN401  # a table of any keys
        document["reputation"]["events"].remove("missed_deadline")

    ledger.adopt(variant(tmp_path, OLD, "1.0.7", without_event), 1, major=True)
    ledger.close_epoch()
    found = ledger.import_events([missed("t", epoch=1), missed("late", epoch=0)])
    # of the late record alone: the rules of the other never had it
    assert (found.events, found.left_out) == (2, {"missed_deadline": 1})
    verify(ledger)


def test_a_type_that_is_gone_is_not_declared_or_drawn_until_it_returns(tmp_path: Path) -> None:
    fewer = variant(tmp_path, NEW, "1.1.1", without_type(RAG))
    with begun(str(tmp_path / "state.db"), NEW, types=[PYTHON, RAG]) as ledger:
        ledger.adopt(fewer, 1, major=True)
        ledger.adopt(NEW, 2)
        ledger.close_epoch()
        with pytest.raises(StateError, match='found the skill type "rag_knowledge"'):
            ledger.register("hk-2", 2, [RAG])
        with pytest.raises(StateError, match='found the skill type "rag_knowledge"'):
            ledger.select_group(RAG, 1, "seed")
        with ledger.queries() as queries, pytest.raises(StateError):
            queries.board(RAG)
        with ledger.queries() as queries:
            assert queries.profile("hk-1").rank == {PYTHON: 1, RAG: None}
        with pytest.raises(RefusedError) as refused:
            ledger.import_events([late(2, "rerun_fail", 1, skill_type=RAG)])
        assert [each.code for each in refused.value.refusals] == ["unknown-skill-type"]
        # a late event of it counts: being late is no way out of a penalty
        ledger.import_events([late(3, "rerun_fail", 0, skill_type=RAG)])
        ledger.close_epoch()
        with ledger.queries() as queries:
            # 0.5 + 0.1 · (0.7 · 0.5 − 0.5)
            assert queries.state.miners["hk-1"].reputation[RAG] == 485_000_000
        assert ledger.select_group(RAG, 1, "seed").primaries == ("hk-1",)
        verify(ledger)


def test_a_group_is_selected_by_the_rules_of_its_epoch(tmp_path: Path) -> None:
    stricter = variant(tmp_path, NEW, "1.1.1", put(0.6, "groups", "minimum_reputation"))
    with begun(str(tmp_path / "state.db"), NEW) as ledger:
        ledger.adopt(stricter, 1)
        ledger.close_epoch()
        assert ledger.select_group(PYTHON, 1, "seed", 0).primaries == ("hk-1",)
        assert ledger.select_group(PYTHON, 1, "seed").primaries == ()


def test_rules_without_epochs_take_no_record_of_rules_to_come(tmp_path: Path) -> None:
    name, newer = "workflow@1.0.0", "workflow@1.1.0"
    with begun(str(tmp_path / "state.db"), name, types=["workflow"]) as ledger:
        ledger.import_events([workflow(0, 5), workflow(3, 4)])
        for epoch in (3, 5):
            told = 'claim of "val-1" that names the epoch 5.*choose one after 5'
            with pytest.raises(StateError, match=told) as refused:
                ledger.adopt(newer, epoch)
            assert refused.value.code == "epoch-named"
        ledger.adopt(newer, 6)
        ledger.import_events([workflow(1, 5)])
        with pytest.raises(RefusedError) as found:
            ledger.import_events([workflow(2, 6)])
        assert [each.code for each in found.value.refusals] == ["future-epoch"]
        ledger.withdraw()
        ledger.import_events([workflow(2, 6)])
        verify(ledger)
        ledger.import_events([workflow(4, LAST_EPOCH)])
        with pytest.raises(StateError, match="no later one is left"):
            ledger.adopt(newer, LAST_EPOCH)


def test_rules_of_windows_have_no_round_score_no_board_and_no_group(tmp_path: Path) -> None:
    with begun(str(tmp_path / "state.db"), "workflow@1.1.0", types=["workflow"]) as ledger:
        rounds, recorded = ledger.close_round([workflow(3, 0)])
        assert (recorded.events, rounds[0].round, rounds[0].scores) == (1, 3, {})
        with ledger.queries() as queries, pytest.raises(StateError, match=r"found no \["):
            queries.board("workflow")
        with pytest.raises(StateError, match=r"found no \[groups\] .*: adopt a version"):
            ledger.select_group("workflow", 1, "seed")


def workflow(number: int, epoch: int) -> Record:
    return task(number, "hk-1", 0.5, epoch=epoch)


def test_weights_follow_the_rules_of_the_last_closed_round(tmp_path: Path) -> None:
    """In one of two epochs the cap is a half, in the other there is none to speak of."""
    half = put(0.5, "allocation", "steps", 2, "share")
    capped = variant(tmp_path, "workflow@1.0.0", "1.0.1", half)
    with begun(str(tmp_path / "state.db"), "workflow@1.0.0", hotkeys(3), ["workflow"]) as ledger:
        ledger.adopt(capped, 1)
        ledger.close_round([task(0, f"hk-{uid}", uid / 2) for uid in range(3)])
        before = weights_of(ledger, "workflow")
        ledger.close_epoch()
        assert weights_of(ledger, "workflow") == before
        ledger.close_round([task(1, f"hk-{uid}", uid / 2, epoch=1) for uid in range(3)])
        assert max(weights_of(ledger, "workflow").values()) == NANO // 2 != max(before.values())


def blocks(*lengths: tuple[int, int | None]) -> Timeline[StateRules]:
    """A timeline of epochs of some lengths, None for rules without epochs."""
    rules = rules_of(NEW)

    def of(length: int | None) -> StateRules:
        epochs = None if length is None else attrs.evolve(rules.epochs, blocks=length)
        return under(rules, with_section(rules.rule_set, EPOCHS, epochs))

    (_, first), *later = lengths
    return Timeline(of(first), tuple((start, of(length)) for start, length in later))


def test_the_clock_counts_blocks_through_changes_of_the_length_of_epochs() -> None:
    clock = blocks((0, 100), (2, 10), (5, 7))
    begins = [0, 100, 200, 210, 220, 230, 237, 244]
    assert [first_block(epoch, clock) for epoch in range(8)] == begins
    found = [epoch_of(block, clock) for block in range(244)]
    assert found == [max(n for n, each in enumerate(begins) if each <= b) for b in range(244)]
    with pytest.raises(StateError, match="found the block -1"):
        epoch_of(-1, clock)


def test_the_clock_stands_from_rules_without_epochs_on() -> None:
    clock = blocks((0, 100), (2, None), (5, 7))
    assert [first_block(epoch, clock) for epoch in range(4)] == [0, 100, 200, None]
    assert epoch_of(199, clock) == 1
    with pytest.raises(StateError, match=r"found no \[epochs\]"):
        epoch_of(200, clock)


def test_a_round_that_is_closed_later_tells_the_epoch_that_it_goes_by(where: str) -> None:
    """The file names epoch 1; what was imported before names epoch 0."""
    with begun(where, OLD) as ledger:
        ledger.close_epoch()
        ledger.import_events([record("t0", round=1, epoch=0)])
        ledger.import_events([record("t2", round=2, epoch=1)])
        (closed,), _ = ledger.close_round([record("t1", round=1, epoch=1)])
        with ledger.queries() as queries:
            assert closed.epoch == queries.round(1).epoch == 0
            assert closed.scores == queries.round_scores(1)
            assert [each.round for each in queries.rounds(1)] == [2]
            assert queries.rounds(3) == queries.rounds() == [queries.round(n) for n in (1, 2)]


def test_a_round_of_which_nothing_is_recorded_has_the_epoch_of_its_file(where: str) -> None:
    """Both say something else of one task, so that both wait."""
    with begun(where, OLD) as ledger:
        ledger.close_epoch()
        lines = [record("t", round=1, epoch=1, consensus=each) for each in (0.5, 1.0)]
        (closed,), found = ledger.close_round(lines)
    assert (closed.epoch, closed.scores, found.events) == (1, {}, 0)
