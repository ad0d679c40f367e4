"""Registration: where a miner begins, who is left behind, and what is not possible."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from state.subnet import TYPES, in_nano, record, standing_of

from tallystick.errors import StateError
from tallystick_state.ledger import Ledger

PYTHON, RAG = "executable_python", "rag_knowledge"


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.create(str(tmp_path / "state.db"), "skills@1.0.0") as found:
        yield found


def reputation(ledger: Ledger, hotkey: str) -> dict[str, int]:
    with ledger.queries() as queries:
        return in_nano(queries.profile(hotkey).reputation)


def board(ledger: Ledger, skill_type: str = PYTHON) -> list[tuple[int, str, int | None]]:
    with ledger.queries() as queries:
        return [(each.rank, each.hotkey, each.uid) for each in queries.board(skill_type)]


def passed(ledger: Ledger, *hotkeys: str, round: int = 0) -> None:  # noqa: A002  # as the field
    """A round with a perfect record of each miner, and the end of its epoch."""
    with ledger.queries() as queries:
        epoch = queries.state.epoch
    lines = [record(f"t-{each}", each, round=round, epoch=epoch) for each in hotkeys]
    ledger.close_round(lines)
    ledger.close_epoch()


def test_a_newcomer_begins_in_the_middle_for_every_type(ledger: Ledger) -> None:
    found = ledger.register("hk-1", 1, reversed(TYPES))
    assert found.types == tuple(sorted(TYPES))
    assert reputation(ledger, "hk-1") == dict.fromkeys(TYPES, 500_000_000)
    ledger.register("hk-2", 2, [RAG])
    assert reputation(ledger, "hk-2") == {RAG: 500_000_000}


def test_a_fresh_hotkey_takes_the_slot_and_leaves_the_old_behind(ledger: Ledger) -> None:
    ledger.register("old", 1, [PYTHON])
    ledger.register("else", 2, [PYTHON])
    passed(ledger, "old", "else")
    ledger.register("new", 1, [PYTHON])
    assert reputation(ledger, "old") == {PYTHON: 452_000_000}
    assert reputation(ledger, "new") == {PYTHON: 500_000_000}
    assert board(ledger) == [(1, "new", 1), (2, "else", 2)]
    assert ledger.select_group(PYTHON, 2, "seed").primaries == ("new", "else")
    with ledger.queries() as queries:
        assert queries.profile("old").rank == {PYTHON: None}
        assert queries.weights().uids == (2,)


def test_a_dropped_type_is_kept_and_found_again(ledger: Ledger) -> None:
    ledger.register("hk-1", 1, [PYTHON, RAG])
    passed(ledger, "hk-1")
    ledger.register("hk-1", 1, [RAG])
    assert board(ledger) == []
    with ledger.queries() as queries:
        profile = queries.profile("hk-1")
    assert in_nano(profile.reputation) == {PYTHON: 452_000_000, RAG: 500_000_000}
    assert profile.rank == {RAG: 1}
    # what was dispatched before is still scored
    passed(ledger, "hk-1", round=1)
    ledger.register("hk-1", 1, [PYTHON, RAG])
    assert reputation(ledger, "hk-1") == {PYTHON: 408_800_000, RAG: 500_000_000}
    assert board(ledger) == [(1, "hk-1", 1)]


def test_the_same_registration_again_changes_nothing(ledger: Ledger) -> None:
    ledger.register("hk-1", 1, [PYTHON, RAG])
    before = standing_of(ledger)
    ledger.register("hk-1", 1, [RAG, PYTHON, RAG])
    assert standing_of(ledger) == before


@pytest.mark.parametrize(
    ("hotkey", "uid", "types", "message"),
    [
        ("", 1, [PYTHON], 'found the hotkey "" of 0 characters, expected 1 to 64'),
        ("x" * 65, 1, [PYTHON], "of 65 characters, expected 1 to 64"),
        ("hk", -1, [PYTHON], "found the uid -1, expected 0 to 65535"),
        ("hk", 65_536, [PYTHON], "found the uid 65536, expected 0 to 65535"),
        ("hk", 1, [], "found no skill type, expected some of rag_knowledge, declarative"),
        ("hk", 1, ["mcp_sever"], "did you mean 'mcp_server'?"),
        ("hk", 1, [PYTHON, "python"], 'found the skill type "python", expected some of rag_'),
    ],
)
def test_what_is_not_possible_changes_nothing(
    ledger: Ledger, hotkey: str, uid: int, types: list[str], message: str
) -> None:
    ledger.register("hk-1", 1, [PYTHON])
    before = standing_of(ledger)
    with pytest.raises(StateError, match=r"^found") as caught:
        ledger.register(hotkey, uid, types)
    assert message in str(caught.value)
    assert standing_of(ledger) == before


NOT_POSSIBLE: list[tuple[str, tuple[object, ...], str]] = [
    ("register", ("5A", 1.5, [RAG]), "1.5 for uid, expected a whole number below 2^53"),
    ("register", ("5A", True, [RAG]), "True for uid, expected a whole number below 2^53"),
    ("register", ("5A", "1", [RAG]), "'1' for uid, expected a whole number below 2^53"),
    ("register", (None, 1, [RAG]), "None for hotkey, expected text"),
    ("register", ("5A", 1, RAG), f"'{RAG}' for types, expected a list of texts"),
    ("register", ("5A", 1, None), "None for types, expected a list of texts"),
    ("register", ("5A", 1, [5]), "5 for types, expected text"),
    ("close_epoch", (0.0,), "0.0 for epoch, expected a whole number below 2^53"),
    ("close_epoch", (False,), "False for epoch, expected a whole number below 2^53"),
    ("close_epoch", (0, "now"), "'now', expected a datetime with an offset"),
    ("select_group", (RAG, None, "seed"), "None for round, expected a whole number below 2^53"),
    (
        "select_group",
        (RAG, 2**70, "seed"),
        f"{2**70} for round, expected a whole number below 2^53",
    ),
    ("select_group", (RAG, 1, None), "None for seed, expected text"),
]


@pytest.mark.parametrize(("change", "given", "said"), NOT_POSSIBLE)
def test_what_is_of_another_kind_never_enters_the_log(
    ledger: Ledger, change: str, given: tuple[object, ...], said: str
) -> None:
    before = standing_of(ledger)
    with pytest.raises(StateError, match=f"^found {re.escape(said)}$"):
        getattr(ledger, change)(*given)
    assert standing_of(ledger) == before


def test_numbers_of_numpy_register_as_those_of_python(ledger: Ledger) -> None:
    assert ledger.register("5A", np.int64(1), [RAG]).uid == 1
    ledger.sync_miners([{"uid": np.uint16(2), "hotkey": "5A", "types": [RAG]}])
    assert board(ledger, RAG) == [(1, "5A", 2)]
    assert ledger.close_epoch(np.int64(0)).epoch == 0
