"""What fixed inputs come to is what the corpus has, and the corpus is what was declared of it."""

import json
from pathlib import Path

import pytest
from frozen.declared import BEFORE, Declaration, digests, reduced
from frozen.generate import EXPECTED, differences, generate


@pytest.mark.process
def test_the_corpus_is_as_it_was_but_for_what_is_declared(tmp_path: Path) -> None:
    texts = generate(EXPECTED.parents[2], tmp_path)
    found = differences(EXPECTED, tmp_path)
    assert not found, "".join(f"\n=== {name}\n{lines}" for name, lines in found.items())
    before, now = json.loads(BEFORE.read_text(encoding="utf-8")), digests(texts)
    assert {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)} == (
        set()
    )


def test_what_is_not_declared_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    declared = Declaration("a*.json", "told", keys=("new",), pattern=r"(x)\d")
    monkeypatch.setitem(reduced.__globals__, "DECLARED", (declared,))
    assert reduced("a.json", '{"old": 1, "in": [{"new": 2}]}') == '{"old": 1, "in": [{}]}'
    assert reduced("a.json", '{"old": 1}') != reduced("a.json", '{"old": 2}')
    assert reduced("a.json", "x1 2") == reduced("a.json", "x3 2") != reduced("a.json", "x1 3")
    assert reduced("b.json", '{"new": 2}') == '{"new": 2}'
