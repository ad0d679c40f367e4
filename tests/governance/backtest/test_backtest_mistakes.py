"""``tallystick backtest`` used wrongly, over strange histories, or killed."""

import json
import os
import xml.etree.ElementTree as ET
from base64 import b64decode
from pathlib import Path

import pytest
from cli.command import message_of, run
from generators import lines
from governance.backtest.histories import few_epochs, made
from governance.backtest.test_report import QUICK, Told
from markup import Markup

from tallystick.io.text import short, visible
from tallystick_governance.backtest import plots

BOTH = ("--rules", "skills@1.0.0", "--rules", "skills@1.1.0")
ONE = BOTH[:2]


@pytest.fixture(scope="module")
def records() -> bytes:
    return b"".join(few_epochs(lines(3, 150, ["mcp_server", "declarative"])))


@pytest.fixture
def history(records: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "history.jsonl"
    path.write_bytes(records)
    return path


SWEEPS = [
    ("axes.polcy.weight=0:1:0.5", "found the path axes.polcy"),
    ("axes.policy.wait=0:1:0.1", "did you mean 'axes.policy.weight'"),
    ("rule_set.name=0:1:0.5", "found the path rule_set.name, expected a number"),
    ("axes.policy=0:1:0.5", "found the path axes.policy, expected a value"),
    ("axes.policy.beta.x=0:1:1", "found the path axes.policy.beta.x"),
    ("tiers.levels[99].multiplier=0:1:1", "[99]"),
    ("axes.policy.weight=0.0001:1:0.1", "three decimals"),
    ("axes.policy.weight=0.5:1.5:0.5", "expected 0 to 1"),
    (
        "axes.policy.beta=9:12:3",
        "skills@1.0.0[axes.policy.beta=12]: axes.policy.beta: found 12",
    ),
    ("axes.policy.beta=0:1:0", "found the step 0"),
    ("axes.policy.beta=1:0:0.1", "found 1:0 for"),
    ("axes.policy.beta=0:1", "expected PATH=START:STOP:STEP"),
    ("axes.policy.beta=٠:١:١", "expected PATH="),
    (f"axes.policy.beta=0:{'9' * 500}:1", "expected PATH="),
    ("axes.policy.beta=0:1:0.0000001", "at most 64"),
    ("axes.policy.beta=0:1:0.02 axes.policy.weight=0:1:0.02", "at most 64"),
    ("axes.policy.beta=0:1:1 axes.policy.beta=0:1:1", "found two sweeps of axes.policy.beta"),
    (
        "axes.policy.weight=0:0.2:0.1 skill_types.mcp_server.weights.policy=0:0.2:0.1",
        "beside another change of the weight of policy in mcp_server",
    ),
    ("axes.policy.beta=0.5:0.5:1", "1 candidate"),
]
"""Sweeps of one rule set, apart by spaces, and what is said of them."""
WRONG = [
    (ONE, "found 1 candidate, expected 2 to 64"),
    ((*ONE, *ONE), "which are the same rule set skills@1.0.0"),
    ((*ONE, "--rules", "workflow@1.0.0"), "found no skill type that both"),
    ((*ONE, "--rules", "skills@9.9.9"), "skills@9.9.9"),
    ((*ONE, "--rules", "/dev/null"), "/dev/null"),
    ((), "Missing option '--rules'"),
    ((*BOTH, "--state", "s"), "found --state without --with-state, expected both"),
    ((*ONE, "--adopt", "skills@1.1.0@2"), "found --adopt without --with-state, expected both"),
    ((*BOTH, "--yuma", "subnet.json"), "found --yuma without --validators, expected both"),
    (
        (*BOTH, "--write-best", "best.toml"),
        "found --write-best without --sweep, expected one to choose from",
    ),
    *(
        ((*ONE, *(f"--sweep={sweep}" for sweep in sweeps.split())), message)
        for sweeps, message in SWEEPS
    ),
]


@pytest.mark.parametrize(("words", "message"), WRONG)
def test_wrong_use_is_told_and_leaves_nothing(
    history: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    found = run("backtest", history, *words, "-o", tmp_path / "out")
    assert found.status == 2, found
    assert message in found.err
    assert "Traceback" not in found.err
    assert list(tmp_path.iterdir()) == [history]


HISTORIES = {
    "empty": ("history.jsonl", b"", "the file is empty"),
    "of other types": (
        "history.jsonl",
        b"".join(lines(3, 20, ["workflow"])),
        "found workflow, expected records of",
    ),
    "of no records": ("history.jsonl", b"[]\n{}\n", "found no good record, expected records of"),
    "no Parquet": ("history.parquet", b"PAR1 and more", "the file cannot be read as Parquet"),
}


@pytest.mark.parametrize("workers", ["1", pytest.param("2", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("case", HISTORIES)
def test_a_history_that_holds_nothing_is_named(tmp_path: Path, case: str, workers: str) -> None:
    name, content, message = HISTORIES[case]
    path = tmp_path / name
    path.write_bytes(content)
    words = (*BOTH, "-o", tmp_path / "out", "--workers", workers)
    said = message_of(run("backtest", path, *words))
    assert said.startswith(f"{path}: {message}")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["absent.jsonl", "absent.parquet", "x" * 300])
def test_a_history_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    said = message_of(run("backtest", tmp_path / name, *BOTH, "-o", tmp_path / "out"))
    assert said.startswith(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """Its digest would be that of nothing, and its epochs could not be replayed."""
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    said = message_of(run("backtest", pipe, *BOTH, "-o", tmp_path / "out"))
    assert said.startswith(f"{pipe}: found a pipe or a device, expected a file or a folder")


@pytest.mark.usefixtures("undrawn")
def test_rejects_are_counted_and_the_status_is_1(history: Path, tmp_path: Path) -> None:
    history.write_bytes(b"{}\n" + history.read_bytes() + b"nonsense\n")
    found = run("backtest", history, *BOTH, "--json", "-o", tmp_path / "out")
    assert found.status == 1
    assert found.json()["lines"] == 152
    assert sum(found.json()["rejects"].values()) == 2


def test_outputs_that_cannot_be_are_refused(history: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    before = sorted(tmp_path.rglob("*"))
    for output in ("mine", "file", "pipe", "link", "absent/out", "file/out", "."):
        said = message_of(run("backtest", history, *BOTH, "-o", tmp_path / output))
        assert said.startswith(str(tmp_path))
        assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "mine" / "notes.txt").read_text() == "mine"


def test_a_back_test_is_not_written_into_its_history(history: Path, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    history.rename(folder / "a.jsonl")
    message_of(run("backtest", folder, *BOTH, "-o", folder))
    assert [path.name for path in folder.iterdir()] == ["a.jsonl"]


STRANGE = {
    "beyond the plane": "\U0001f600" * 64,
    "half way beyond": "aaaaaaaaa" + "\U0001f600" * 55,
    "leftward": "\u05d0\u05d1" * 32,
    "turned": "\u202e21 diu",
    "nothing": "a\x00b",
    "controls": "\x01\x1b[31m\x7f\x9f",
    "line ends": "a\nb\r\u2028c\u2029",
    "no characters": "\ufffe\uffff\U0001fffe\U0010ffff",
    "markup": "</td><script>alert(1)</script><img src=x onerror=alert(2)>",
    "quotes": "\"'`&quot;\\u0041\\",
    "data": "]]>--><!--${datum.x}",
    "blank": " ",
    "marks": "e" + "\u0301" * 63,
}


@pytest.mark.nightly
def test_strange_hotkeys_go_through_a_whole_back_test(records: bytes, tmp_path: Path) -> None:
    """One record in ten is of a stranger, so that all of them are among the largest miners."""
    history, output, keys = tmp_path / "history.jsonl", tmp_path / "out", list(STRANGE.values())
    found = [json.loads(line) for line in records.splitlines()]
    for number, each in enumerate(found):
        each["miner"] = {"uid": number % 13, "hotkey": keys[number % 13]}
    history.write_text("".join(json.dumps(each) + "\n" for each in found), "utf-8")
    done = run("backtest", history, *BOTH, "--with-state", "-o", output)
    assert done.status == 0, done
    summary = json.loads((output / "summary.json").read_text("utf-8"))
    assert summary
    page = (output / "report.html").read_bytes().decode()
    read = Markup(page)
    assert read.every("script") == [{}]
    assert all(each["src"].startswith("data:") for each in read.every("img") if each["src"])
    assert not any(each in page for each in "\x00\x01\x1b\u202e\u2028\ufffe")
    drawn = [ET.fromstring(_svg(each["src"] or "")) for each in read.every("img")]  # noqa: S314  # ours
    texts = " ".join(each.text or "" for root in drawn for each in root.iter() if each.text)
    titles = {each.get("title") for each in read.every("code")}
    for key in keys:
        assert visible(key) in titles
        assert short(key).strip() in texts


def _svg(address: str) -> str:
    return b64decode(address.partition("base64,")[2]).decode()


def test_what_cannot_be_seen_is_shown_as_a_mark_and_stays_within_its_place() -> None:
    assert visible("5abc é ☃ \U0001f600") == "5abc é ☃ \U0001f600"
    assert visible("a\x00b\u202ec") == "a\ufffdb\ufffdc"
    assert visible("\u05d0 1") == "\u2068\u05d0 1\u2069"
    assert short("\u2066" + "x" * 40) == "\ufffd" + "x" * 9 + "…" + "x" * 6


def test_long_names_of_candidates_stay_apart_in_a_picture(tmp_path: Path) -> None:
    rules = (f"skills@1.{minor}.0" for minor in range(3))
    found = Told.of(tmp_path, made(1)[:9], *rules, **QUICK).comparisons
    face = "\U0001f600"
    names = [f"{face * 40}{number}{face * 40}" for number in range(2)]
    for picture in plots.across(found, names):
        root = ET.fromstring(picture.svg)  # noqa: S314  # ours
        texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
        for number in (1, 2):
            assert f"{number}. {face * 9}…{face * 13}" in texts


@pytest.mark.usefixtures("undrawn")
def test_a_history_whose_name_is_no_text_is_told_as_it_is(records: bytes, tmp_path: Path) -> None:
    history = Path(os.fsdecode(os.fsencode(tmp_path) + b"/history\xff.jsonl"))
    history.write_bytes(records)
    assert run("backtest", history, *BOTH, "-o", tmp_path / "out").status == 0
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert "history\udcff.jsonl" in json.dumps(summary, ensure_ascii=False)
    assert r"history\udcff.jsonl" in (tmp_path / "out" / "report.html").read_text("utf-8")
