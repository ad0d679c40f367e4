"""Lists of miners and their slots: CSV, JSONL or mappings, taken whole or refused line by line."""

import json
from pathlib import Path
from typing import Any

import pytest
from state.subnet import standing_of

from tallystick.errors import InputError, RefusedError
from tallystick_state.answers import Synced
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

PYTHON, RAG = "executable_python", "rag_knowledge"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "s.db", "skills@1.0.0")


def slot(uid: int, hotkey: str, *types: str) -> dict[str, Any]:
    return {"uid": uid, "hotkey": hotkey, "types": list(types or [PYTHON])}


def held(ledger: Ledger) -> dict[str, int | None]:
    with ledger.queries() as queries:
        return {each.hotkey: each.uid for each in queries.miners()}


def test_a_list_registers_moves_changes_and_retires(ledger: Ledger) -> None:
    ledger.sync_miners([slot(1, "a"), slot(2, "b"), slot(3, "c"), slot(4, "d"), slot(5, "e")])
    found = ledger.sync_miners(
        [slot(2, "a"), slot(1, "b"), slot(3, "c", PYTHON, RAG), slot(4, "new"), slot(5, "e")]
    )
    assert found == Synced(
        registered=("new",), moved=("b", "a"), changed=("c",), retired=("d",), unchanged=1
    )
    assert held(ledger) == {"b": 1, "a": 2, "c": 3, "new": 4, "e": 5, "d": None}
    verify(ledger)


def test_the_same_list_again_writes_nothing(ledger: Ledger) -> None:
    slots = [slot(uid, f"hk-{uid}") for uid in range(256)]
    assert len(ledger.sync_miners(slots).registered) == 256
    before = standing_of(ledger)
    assert ledger.sync_miners(reversed(slots)) == Synced((), (), (), (), 256)
    assert standing_of(ledger) == before


@pytest.mark.parametrize(
    "text",
    [
        f"uid,hotkey,types\n1,a,{PYTHON} {RAG}\n2,b,{PYTHON}\n",
        f"\ufefftypes, hotkey ,uid\r\n{RAG}  {PYTHON},a,1\r\n\r\n{PYTHON},b,2",
        f'uid,hotkey,types\n1,"a","{PYTHON} {RAG}"\n2,b,{PYTHON}\n',
        "\n".join(json.dumps(each) for each in (slot(1, "a", RAG, PYTHON), slot(2, "b"))),
    ],
    ids=["csv", "as a spreadsheet saves it", "quoted", "jsonl"],
)
def test_files_of_every_kind_say_the_same(ledger: Ledger, tmp_path: Path, text: str) -> None:
    path = tmp_path / "miners"
    path.write_bytes(text.encode())
    assert ledger.sync_miners(str(path)).registered == ("a", "b")
    with ledger.queries() as queries:
        assert [(m.uid, m.hotkey, m.types) for m in queries.miners()] == [
            (1, "a", (PYTHON, RAG)),
            (2, "b", (PYTHON,)),
        ]


def test_a_line_of_json_ends_at_a_line_feed_alone(ledger: Ledger, tmp_path: Path) -> None:
    path, hotkeys = tmp_path / "miners.jsonl", ("a\u2028b", "a\x85b")
    lines = [json.dumps(slot(n, each), ensure_ascii=False) for n, each in enumerate(hotkeys)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert ledger.sync_miners(path).registered == hotkeys


def test_a_list_with_bad_lines_changes_nothing_and_tells_all(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.register("old", 9, [PYTHON])
    path = tmp_path / "miners.csv"
    lines = [
        "uid,hotkey,types",
        f"1,a,{PYTHON}",
        f"70000,b,{PYTHON}",
        f"one,c,{PYTHON}",
        "4,d,levitation",
        "5,e,",
        f"6,a,{PYTHON}",
        f"1,f,{PYTHON}",
        f"8,{'h' * 65},{PYTHON}",
        "9,g",
    ]
    path.write_text("\n".join(lines))
    with pytest.raises(RefusedError) as caught:
        ledger.sync_miners(path)
    assert [(each.line, each.code, each.path) for each in caught.value.refusals] == [
        (3, "out-of-range", "uid"),
        (4, "wrong-type", "uid"),
        (5, "unknown-skill-type", "types[0]"),
        (6, "invalid-record", "types"),
        (7, "duplicate-miner", "hotkey"),
        (8, "duplicate-miner", "uid"),
        (9, "too-long", "hotkey"),
        (10, "missing-field", ""),
    ]
    assert held(ledger) == {"old": 9}


def test_bad_lines_of_json_and_bad_mappings_are_told(ledger: Ledger, tmp_path: Path) -> None:
    path = tmp_path / "miners.jsonl"
    path.write_text(json.dumps(slot(1, "a")) + '\n{"uid": 2}\n{"uid"\n')
    with pytest.raises(RefusedError) as caught:
        ledger.sync_miners(path)
    assert [(e.line, e.code) for e in caught.value.refusals] == [
        (2, "missing-field"),
        (3, "invalid-json"),
    ]
    with pytest.raises(RefusedError, match="miners:2: unknown-field: stake"):
        ledger.sync_miners([slot(1, "a"), {**slot(2, "b"), "stake": 5}])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "found the header ''"),
        (b"uid,hotkey\n1,a\n", "found the header 'uid,hotkey', expected uid,hotkey,types"),
        (b"uid,hotkey,types\n", "found no miners"),
        (b"uid,hotkey,types\n1,\xff,x\n", "expected text in UTF-8"),
    ],
)
def test_what_is_no_list_is_told(ledger: Ledger, tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "miners").write_bytes(content)
    with pytest.raises(InputError, match=said):
        ledger.sync_miners(tmp_path / "miners")
