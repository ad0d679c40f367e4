"""No text of a stranger acts on a terminal, a page, Markdown or a log, whoever shows it."""

import json
import logging
import os
import pty
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from cli.command import Finished, run
from cli.stores import PYTHON, RAG
from examples import fast_rows
from state.subnet import record, written

from tallystick.errors import StoreError
from tallystick.io.text import MOST_MASKED, json_pieces, json_text, masked, printable, visible
from tallystick_state.ledger import Ledger

FORGED = "FORGED"
HOSTILE = f"a\x1b[2J\x1b]0;t\x07\x9b\x7f\u202e\u2066\u200b\ufeff\x85\r\n{FORGED}"
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
HOTKEYS = (HOSTILE, f"b{HOSTILE}")
RULES = "hostile.toml"
BROKEN = f"broken{HOSTILE}.toml"
RECORDS = f"records{HOSTILE}.jsonl"
THEIRS = f"theirs{HOSTILE}.jsonl"
FACTS = f"facts{HOSTILE}.parquet"
GIVEN = ("records", "theirs", "round")
STATE = ("--state", f"state{HOSTILE}.db")
STEPS: tuple[tuple[tuple[str, ...], int], ...] = (
    # one function writes lines, tables and errors, one JSON, one whole texts: a few of each
    (("rules", "show", RULES), 0),
    (("rules", "check", BROKEN), 1),
    (("rules", "digest", HOSTILE), 2),
    (("rules", "paths", RULES), 0),
    (("rules", "diff", "workflow@1.1.0", RULES), 0),
    (("rules", "diff", "workflow@1.1.0", RULES, "--markdown"), 0),
    *(
        (("rules", "lint", *given), status)
        for rules, status in ((RULES, 0), (BROKEN, 1))
        for given in ((rules,), (rules, "--markdown"), (rules, "--sarif"))
    ),
    (("rules", "prove", RULES, "--property", "composite-monotone"), 0),
    (("rules", "prove", RULES, "--property", "composite-monotone", "--markdown"), 0),
    (("weights", f"--{HOSTILE}", *STATE), 2),
    (("score", RECORDS, "--rules", "skills@1.1.0", "-o", f"r{HOSTILE}.jsonl"), 1),
    (("audit", "records", RECORDS, "--rules", "skills@1.1.0", "--results", THEIRS), 1),
    (("explain", RECORDS, "--rules", "skills@1.1.0"), 0),
    (("explain", RECORDS, "--rules", "skills@1.1.0", "--line", "3"), 1),
    (("facts", RECORDS, "-o", FACTS), 1),
    (
        ("backtest", FACTS, "--rules", "skills@1.0.0", "--rules", "skills@1.1.0", "-o", "report"),
        0,
    ),
    (("state", "init", "--rules", "skills@1.1.0", *STATE), 0),
    *(
        (("miner", "register", hotkey, "--uid", str(uid), "--types", f"{PYTHON},{RAG}", *STATE), 0)
        for uid, hotkey in enumerate(HOTKEYS)
    ),
    (("round", "close", f"round{HOSTILE}", *STATE), 0),
    (("round", "close", RECORDS, *STATE), 1),
    (("state", "show", HOSTILE, *STATE), 0),
    (("state", "show", f"{HOSTILE}?", *STATE), 2),
    (("state", "board", PYTHON, *STATE), 0),
)


def unseen(text: str) -> set[str]:
    """Every character that would act, or that nobody sees, by its code."""
    return {ascii(c) for c in text if unicodedata.category(c) in UNSEEN and c not in "\n\t"}


def held(found: Finished, step: Sequence[str]) -> None:
    """That nothing of a stranger acts in what a command wrote."""
    for text in (found.out, found.err):
        assert not unseen(text), step
        assert not re.search(rf"(?m)^{FORGED}", text), (step, text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files of strangers: rule sets, records, results."""
    monkeypatch.chdir(tmp_path)
    shipped = Path(__file__).resolve().parents[2] / "rules" / "workflow" / "1.1.0.toml"
    text = shipped.read_text()
    said = json.dumps(HOSTILE)
    head = f"summary = {said}\nsource = {said}\n"
    changed = re.sub(r"(?m)^(summary|source) = .*\n", "", text)
    changed = changed.replace('version = "1.1.0"\n', f'version = "1.1.1"\n{head}')
    assert changed != text
    silence = f'\n[[lint.silence]]\ncode = "unused-axis"\nreason = {said}\n'
    Path(RULES).write_text(changed + silence)
    wrong = f"\n[skill_types.{said}]\ncomposite = {said}\nweights = {{ {said} = 1.0 }}\n"
    Path(BROKEN).write_text(changed.replace('"arithmetic"', said) + wrong)
    good = [record(HOSTILE, hotkey, validator=HOSTILE) for hotkey in HOTKEYS]
    bad = [
        record("t", HOSTILE, validator=HOSTILE) | {HOSTILE: HOSTILE, "role": HOSTILE},
        record("u") | {"skill_type": HOSTILE},
    ]
    written(Path(RECORDS), [*good, *bad])
    written(Path(f"round{HOSTILE}"), good)
    scores = {
        "skill_type": HOSTILE,
        "tier": HOSTILE,
        "quality": HOSTILE,
        "axes": {HOSTILE: HOSTILE},
    }
    written(Path(THEIRS), [{"record": 1, "task_id": HOSTILE, **scores}])
    return tmp_path


@pytest.mark.usefixtures("solved_here")
@pytest.mark.parametrize(
    "mode",
    [
        pytest.param((), marks=pytest.mark.smoke),
        *(
            pytest.param((each,), marks=pytest.mark.nightly)
            for each in ("--json", "--log-json", "-v")
        ),
    ],
    ids=str,
)
def test_no_command_lets_text_of_strangers_act(folder: Path, mode: tuple[str, ...]) -> None:
    for step, status in STEPS:
        if "--json" in mode and {"--markdown", "--sarif"} & {*step}:
            continue
        if "-v" in mode and {"lint", "prove"} & {*step}:
            continue
        found = run(*step, *mode)
        assert found.status == status, (step, found)
        held(found, step)
    assert not unseen((folder / "report" / "report.html").read_text())
    # validators agree about every byte of a row: JSON escapes there only what it must
    results = folder / f"r{HOSTILE}.jsonl"
    assert results.exists()
    for path in folder.glob("*.json*"):
        if path == results or path.name.startswith(GIVEN):
            continue
        assert not unseen(path.read_text()), path


@pytest.mark.parametrize(
    ("form", "part"),
    [
        ("csv", r"a\x1b[2J"),
        ("jsonl", r"a\u001b[2J"),
    ],
)
def test_results_on_a_terminal_do_not_act(form: str, part: str, folder: Path) -> None:
    assert folder
    terminal, end = pty.openpty()
    shown = bytearray()

    def watch() -> None:
        with suppress(OSError):  # nobody writes to the terminal any more
            while part := os.read(terminal, 1 << 16):
                shown.extend(part)

    watching = threading.Thread(target=watch)
    watching.start()
    run("score", RECORDS, "--rules", "skills@1.1.0", "-o", f"/dev/fd/{end}", "--format", form)
    os.close(end)
    watching.join()
    os.close(terminal)
    assert not unseen(shown.decode().replace("\r\n", "\n"))
    assert part in shown.decode()


def test_json_says_exactly_what_was_written(folder: Path) -> None:
    assert folder
    run("state", "init", "--rules", "skills@1.1.0", *STATE)
    run("miner", "register", HOSTILE, "--uid", "1", "--types", PYTHON, *STATE)
    assert run("miner", "list", "--json", *STATE).json()["miners"][0]["hotkey"] == HOSTILE
    run("score", RECORDS, "--rules", "skills@1.1.0", "-o", "results.jsonl")
    results = [json.loads(line) for line in Path("results.jsonl").read_bytes().splitlines()]
    assert [(each["task_id"], each["miner_hotkey"]) for each in results] == [
        (HOSTILE, hotkey) for hotkey in HOTKEYS
    ]


def test_a_name_that_is_no_text_is_shown_by_its_bytes(folder: Path) -> None:
    name = os.fsdecode(os.fsencode(folder) + b"/\xff\x1b.jsonl")
    assert "\\udcff\\x1b.jsonl: no such file" in run("explain", name, "--rules", "skills@1.0.0").err


def test_text_that_runs_leftward_moves_nothing_beside_it() -> None:
    name = "\u05d0\u05d1 1"
    assert printable(f"{name} (uid 7)") == "\u2068\u05d0\u05d1\u2069 1 (uid 7)"
    assert printable(f"{visible(name)} (uid 7)") == f"\u2068{name}\u2069 (uid 7)"
    # an end that a stranger wrote ends nothing
    assert printable(visible(f"{name}\u2069")) == f"\u2068{name}\ufffd\u2069"
    for text in (HOSTILE, f"{name}\u2068{name}", "\u2068a", "\u2069\u05d0\u2068"):
        assert printable(printable(text)) == printable(text)


def test_json_escapes_what_is_not_seen() -> None:
    for text in (HOSTILE, "\ud800", "\U000e0001", "é☃😀", "\x7f"):
        for indent in (None, 2):
            shown = json_text({text: [text]}, indent=indent)
            assert not unseen(shown.replace("\n", ""))
            assert json.loads(shown) == {text: [text]}
    assert json_text("é☃😀") == '"é☃😀"'


@pytest.mark.parametrize("ascii_only", fast_rows([True, False], 0))
def test_json_in_pieces_is_json(ascii_only: bool) -> None:
    for value in ({}, [], 1, {"a": [{HOSTILE: HOSTILE}] * 9000, "b": None, "c": [[], {}, True]}):
        whole = json_text(value, indent=2, ascii_only=ascii_only)
        pieces = list(json_pieces(value, indent=2, ascii_only=ascii_only))
        assert "".join(pieces) == whole
        assert all(len(piece) <= len(whole) / 2 for piece in pieces) == (len(whole) > 9000)


URLS = (
    "postgresql://me:hunter2@127.0.0.1:1/x",
    "postgresql://me:p@ss/hunter2@127.0.0.1:1/x",
    "postgresql://127.0.0.1:1/x?user=me&password=hunter2",
    "postgresql://127.0.0.1:1/x?sslpassword=hunter2&connect_timeout=1",
    "postgresql://127.0.0.1:1/x?pass%77ord=hunter2",
    "postgresql://me:hunter2@127.0.0.1:port/x",
    "postgresql://127.0.0.1:1/x?token=hunter2",
    "mysql://me:hunter2@127.0.0.1:1/x?passwd=hunter2",
    "postgresql://me:12/hunter2@127.0.0.1/x",
    "sqlite:///x.db?api_key=hunter2",
    "postgresql:/me:hunter2@127.0.0.1/x",
    "host=127.0.0.1 port=1 password=hunter2",
    "host=127.0.0.1 port=1 password='hunter2 hunter2'",
    "postgresql:me:hunter2@127.0.0.1/x",
    "postgresql+psycopg:me:hunter2@127.0.0.1/x",
    "postgresql//me:hunter2@127.0.0.1/x",
    "postgresql:hunter2@127.0.0.1/x",
    "//me:hunter2@127.0.0.1/x",
    "me:hunter2@127.0.0.1/x",
    "postgresql://me:/hunter2@127.0.0.1:1/x",
    "postgresql:me:/hunter2@127.0.0.1:1/x",
    "me:/hunter2@127.0.0.1/x",
    "me:/hunter2:more@127.0.0.1/x",
    "postgresql://me:hun ter hunter2@127.0.0.1:1/x",
    "postgresql:/me:hun hunter2@127.0.0.1/x",
    "host=127.0.0.1 password=hun'hunter2",
    "host=127.0.0.1 password=hun&hunter2",
    "host=127.0.0.1 password='hun\\'hunter2'",
    "host=127.0.0.1 password='hun hunter2",
    "host=127.0.0.1 options='-c password=hunter2'",
    "postgresql://127.0.0.1:1/x?options=password=hunter2",
    "https://127.0.0.1:1/x?api-key=hunter2",
)


@pytest.mark.parametrize("url", fast_rows(URLS, 0, 6, 9, 11, 20))
def test_no_password_of_a_url_is_shown(
    url: str, caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    for command in (("state", "info"), ("state", "init", "--rules", "skills@1.0.0")):
        for mode in ((), ("--json",), ("-v",), ("--log-json",)):
            found = run(*command, "--state", url, *mode)
            assert found.status == 2
            assert "hunter2" not in found.out + found.err, found
    # where no URL belongs, too
    for command in (("state", "info", url), ("rules", "show", url), ("explain", url)):
        found = run(*command, "--log-json", *(("--rules", url) if len(command) == 2 else ()))
        assert "hunter2" not in found.out + found.err, found
    assert "hunter2" not in caplog.text
    # nor in an exception or behind it
    with pytest.raises(StoreError) as caught:
        Ledger.open(url)
    assert "hunter2" not in "\n".join(map(str, _chain(caught.value)))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def test_what_is_no_password_is_not_masked() -> None:
    for text in (
        "skills@1.0.0",
        "skills@1.0.0@sha256:abc",
        "tcp://host:8786",
        "tcp://host:8786: found a@b, expected c@d",
        "tcp://[::1]:8786/ of a@b",
        "/a/b@c:d/e.db",
        "postgresql://me@host:1/x",
        "records.jsonl:3: found skills@1.0.0, expected workflow@1.0.0",
        "password of a@b: found none",
    ):
        assert masked(text) == text


@pytest.mark.parametrize(
    ("around", "shown"),
    [
        ("found 'password={}', expected none", "found 'password=***', expected none"),
        ("x?password={}&port=1", "x?password=***&port=1"),
        ("state=me:{}@host: found none", "state=me:***@host: found none"),
        ("(token={}): gone", "(token=***): gone"),
    ],
)
def test_what_stands_around_a_password_is_kept(around: str, shown: str) -> None:
    assert masked(around.format("hunter2")) == shown


def test_a_long_text_is_cut_before_it_is_masked_and_shows_no_half_of_a_password() -> None:
    # the cut goes through every part of a secret, one after the other
    secrets = (
        "postgresql://me:hunter2hunter2@host/x",
        "postgresql://me:hunter2 hunter2 hunter2@host/x",
        "password='hunter2 hunter2 hunter2'",
        "password = hunter2hunter2",
        "me:hunter2hunter2@host",
    )
    for secret in secrets:
        for shift in range(0, len(secret) + 80, 13):
            text = "word " * (MOST_MASKED // 5 - 20) + "x" * shift + " " + secret + " word" * 1000
            assert len(text) > MOST_MASKED
            shown = masked(text)
            assert "hunt" not in shown
            assert "more characters)" in shown[-40:]
            assert len(shown) <= MOST_MASKED
    assert masked("x" * 10**6) == "… (1000000 more characters)"
    short = "word " * 100
    assert masked(short) == short
