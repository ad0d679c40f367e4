"""What a state of one line prints and exports, byte for byte, in words and in JSON.

Each file of `one_line` is one history. Take it again only where a change is meant, with the reason
in the commit message::

    TALLYSTICK_RECORD=1 pytest tests/cli/test_one_line.py
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from cli.command import run
from state.subnet import Record, event, missed, record, written
from state.test_workflow_state import task

RECORDED = Path(__file__).parent / "one_line"
STATE = ("--state", "subnet.db")
AT = ("--at", "2026-01-31T12:00:00Z")
PYTHON, RAG = "executable_python", "rag_knowledge"
Steps = Sequence[tuple[str, ...]]


def skills(rules: str) -> Steps:
    """Two epochs: scores, events, flags, a claim of another in the validator's name, a group."""
    return (
        ("state", "init", "--rules", rules, "--validator", "val-1", "--hear", "val-2"),
        ("state", "info"),
        ("weights",),
        ("round", "list"),
        *(("miner", "register", f"hk-{n}", "--uid", f"{n}", "--types", PYTHON) for n in range(4)),
        ("miner", "register", "hk-1", "--uid", "1", "--types", f"{PYTHON},{RAG}"),
        ("events", "import", "peer.jsonl"),
        ("round", "close", "own.jsonl", "--round", "0", *AT),
        ("quarantine", "list"),
        ("quarantine", "drop", "--round", "0"),
        ("groups", "select", PYTHON, "--round", "1", "--seed", "a"),
        ("epoch", "close", "--epoch", "0", *AT),
        ("events", "import", "late.jsonl"),
        ("events", "import", "late.jsonl"),
        ("quarantine", "accept", "--round", "1"),
        ("quarantine", "drop", "--round", "1"),
        ("round", "show", "0"),
        ("round", "show", "1"),
        ("miner", "clear", "hk-3"),
        ("miner", "sync", "miners.jsonl"),
        ("state", "board", PYTHON),
        ("state", "board", RAG),
        ("state", "show", "hk-0"),
        ("state", "show", "--as", "hk-1"),
        *ENDED,
        ("explain", "own.jsonl", "--rules", rules),
        ("score", "own.jsonl", "--rules", rules, "-o", "results.jsonl"),
    )


def workflows(rules: str) -> Steps:
    """Epochs that only count, a window of tasks, and the cap."""
    return (
        ("state", "init", "--rules", rules),
        *(("miner", "register", f"hk-{n}", "--uid", f"{n}", "--types", "workflow") for n in (0, 1)),
        ("round", "close", "tasks.jsonl", *AT),
        ("epoch", "close", "--epoch", "0", *AT),
        ("state", "show", "hk-1"),
        ("state", "board", "workflow"),
        ("round", "show", "1"),
        ("weights", "--immune", "hk-1"),
        *ENDED,
    )


ENDED: Steps = (
    ("miner", "list"),
    ("round", "list"),
    ("epoch", "close", "--epoch", "1"),
    ("epoch", "list"),
    ("epoch", "show", "1"),
    ("weights",),
    ("state", "info"),
    ("state", "digest"),
    ("state", "verify"),
    ("state", "export", "export.jsonl"),
    ("state", "import", "export.jsonl", "--state", "copy.db"),
)
HISTORIES: Mapping[str, Steps] = {
    "skills@1.0.0": skills("skills@1.0.0"),
    "workflow@1.1.0": workflows("workflow@1.1.0"),
}
WRITES = (
    *("init", "register", "import", "close", "drop", "accept", "clear", "sync", "select"),
    *("export", "score"),
)
"""Words of commands that do something, and so run once."""
LONG = 5000
"""Characters from which on the digest of an output is kept."""
FILES = ("export.jsonl", "results.jsonl", "results.jsonl.rejects.jsonl")


def files() -> None:
    """What the commands read."""
    written(Path("own.jsonl"), [record("t1"), record("t2", "hk-2", consensus=0.5), missed("t3")])
    peer: list[Record] = [
        record("t1", validator="val-2", events=["rerun_pass"]),
        record("t1", consensus=0.1),
        record("t9", "hk-3", validator="val-2", latency_ms=250_000, role="auditor"),
        record("t9", "hk-3", validator="val-3"),
        record("t8", "hk-2", validator="val-2"),
        record("t8", "hk-2", validator="val-2", consensus=0.0),
    ]
    written(Path("peer.jsonl"), peer)
    about = {"round": 1, "epoch": 0, "validator": "val-2"}
    late = [
        event("e1", "collusion_flag", "t7", "hk-3", **about),
        event("e2", "parse_failure", "t7", "hk-1", **about),
        record("t7", "hk-1", RAG, **about),
        record("t6", "hk-1", RAG, **about | {"epoch": 1, "round": 2}),
        record("t5", "hk-0", **about),
        record("t5", "hk-0", **about, consensus=0.6),
    ]
    written(Path("late.jsonl"), late)
    slots = [{"uid": n, "hotkey": f"hk-{n + 1}", "types": [PYTHON, RAG]} for n in range(3)]
    written(Path("miners.jsonl"), slots)
    done = [task(n, f"hk-{n % 2}", 0.3 + n / 10, round=n // 3) for n in range(6)]
    written(Path("tasks.jsonl"), done)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def told(steps: Steps) -> Iterator[str]:
    """What each step says, in words and as JSON; in one of them by turns where it runs once."""
    for number, step in enumerate(steps):
        stated = step if "--state" in step else (*step, *STATE)
        turns = [(), ("--json",)]
        # a receipt, which is the JSON of scores, names the code
        turn = 0 if step[0] == "score" else number % 2
        for more in [turns[turn]] if {*step[:2]} & {*WRITES} else turns:
            done = run(*stated, *more)
            said = done.out + done.err
            shown = said if len(said) < LONG else f"{digest(said.encode())}\n"
            yield f"$ {' '.join((*step, *more))}\n{done.status}\n{shown}"
    for name in filter(os.path.exists, FILES):
        yield f"{name}: {digest(Path(name).read_bytes())}\n"


@pytest.mark.parametrize("name", HISTORIES)
def test_a_state_of_one_line_prints_what_it_did(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files()
    found = "".join(told(HISTORIES[name]))
    expected = RECORDED / f"{name}.txt"
    if os.environ.get("TALLYSTICK_RECORD"):
        expected.write_text(found, encoding="utf-8")
    assert found == expected.read_text(encoding="utf-8")
