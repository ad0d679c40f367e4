"""Outputs are whole or not there, of one run or known not to be, and lead nowhere else."""

import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli.command import message_of, run, start
from crash.counted import apart
from crash.harness import kills_of_scoring
from state.subnet import record, written

from tallystick import Ledger, load
from tallystick.errors import OutputError, StoreError
from tallystick.io.atomic import atomic_files, atomic_folder
from tallystick_state.transfer import export_state

OUTPUTS = ("out.jsonl", "out.jsonl.rejects.jsonl", "out.jsonl.receipt.json")
RULES = ("--rules", "skills@1.0.0")
Call = Callable[[], None]


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def contents(folder: Path) -> Mapping[str, bytes]:
    """What has a name that is no temporary one."""
    found = (path for path in folder.iterdir() if not path.name.startswith("."))
    return {path.name: path.read_bytes() for path in found if path.is_file()}


# links


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with records, facts and a state."""
    monkeypatch.chdir(tmp_path)
    written(Path("records.jsonl"), [record("t1")])
    assert run("facts", "records.jsonl", "-o", "facts.parquet").status == 0
    assert run("state", "init", *RULES, "--state", "state.db").status == 0
    return tmp_path


BACKTEST = ("backtest", "facts.parquet", *RULES, "--rules", "skills@1.1.0")
SWEEP = ("--sweep", "axes.policy.beta=0.5:0.6:0.1", "--bootstrap", "0", "-o", "swept")
WRITERS: Mapping[str, tuple[str, ...]] = {
    "score -o": ("score", "records.jsonl", *RULES, "--format", "jsonl", "-o", "link"),
    "score --rejects": ("score", "records.jsonl", *RULES, "-o", "o.jsonl", "--rejects", "link"),
    "score --receipt": ("score", "records.jsonl", *RULES, "-o", "o.jsonl", "--receipt", "link"),
    "facts -o": ("facts", "records.jsonl", "-o", "link"),
    "facts --rejects": ("facts", "records.jsonl", "-o", "o.parquet", "--rejects", "link"),
    "rules set": ("rules", "set", "workflow@1.1.0", "axes.cost.gate=0.6", "-o", "link"),
    "rules prove": (
        *("rules", "prove", "workflow@1.1.0", "--property", "composite-monotone"),
        *("--save", "link"),
    ),
    "records generate": ("records", "generate", "--seed", "1", "--count", "2", "-o", "link"),
    "records generate --miner-list": (
        *("records", "generate", "--seed", "1", "--count", "2", "-o", "o.jsonl"),
        *("--miner-list", "link"),
    ),
    "state export": ("state", "export", "link", "--state", "state.db"),
    "backtest": (*BACKTEST, "--bootstrap", "0", "-o", "link"),
    "backtest --write-best": (*BACKTEST, *SWEEP, "--write-best", "link"),
    "plugins new": ("plugins", "new", "acme", "-o", "link"),
}
"""Every command that writes a file, and the option that names it."""


DEAR = {"rules prove", "backtest", "backtest --write-best", "plugins new"}


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(words, marks=pytest.mark.nightly if name in DEAR else (), id=name)
        for name, words in WRITERS.items()
    ],
)
def test_a_link_is_written_through_on_demand_alone(folder: Path, command: tuple[str, ...]) -> None:
    target = folder / "target"
    (folder / "link").symlink_to(target)
    found = run(*command)
    assert "found a link to" in message_of(found)
    assert not os.path.lexists(target)
    done = run(*command, "--follow-links")
    assert done.status == 0, done
    assert (folder / "link").is_symlink()
    assert target.exists()
    assert not target.is_symlink()


def test_python_asks_for_links_too(folder: Path) -> None:
    target, link = folder / "target.jsonl", folder / "link.jsonl"
    link.symlink_to(target)
    scorer = load("skills@1.0.0")
    with Ledger.open("state.db") as ledger:
        for write in (
            lambda **how: scorer.score_file("records.jsonl", link, **how),
            lambda **how: export_state(ledger, link, **how),
        ):
            with pytest.raises(OutputError, match="found a link to"):
                write()
            write(follow_links=True)
            assert link.is_symlink()
            target.unlink()


@pytest.mark.parametrize("moment", ["while it is written", "as it is committed"])
def test_a_link_that_comes_later_is_not_followed(
    tmp_path: Path, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, path = tmp_path / "target", tmp_path / "out"
    target.write_text("mine")
    replace = os.replace

    def planted(*names: str, **folders: int) -> None:
        path.symlink_to(target)
        replace(*names, **folders)

    with atomic_files(path) as (file,):
        file.write(b"new")
        if moment == "while it is written":
            path.symlink_to(target)
        else:
            monkeypatch.setattr(os, "replace", planted)
    assert target.read_text() == "mine"
    assert not path.is_symlink()
    assert path.read_bytes() == b"new"


def test_a_folder_that_is_swapped_changes_nothing(tmp_path: Path) -> None:
    inner, other = tmp_path / "inner", tmp_path / "other"
    inner.mkdir()
    other.mkdir()
    with atomic_files(inner / "out") as (file,):
        inner.rename(tmp_path / "moved")
        inner.symlink_to(other)
        file.write(b"new")
    assert not [*other.iterdir()]
    assert (tmp_path / "moved" / "out").read_bytes() == b"new"


def test_a_temporary_name_that_is_taken_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, names = tmp_path / "target", iter(["planted", "planted", "free"])
    target.write_text("mine")
    (tmp_path / ".out.planted.part").symlink_to(target)
    monkeypatch.setattr("secrets.token_hex", lambda _: next(names))
    with atomic_files(tmp_path / "out") as (file,):
        file.write(b"new")
    assert target.read_text() == "mine"
    assert (tmp_path / "out").read_bytes() == b"new"


def test_a_folder_whose_name_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with (
        pytest.raises(OutputError, match="found a link to"),
        atomic_folder(tmp_path / "link", ()),
    ):
        pytest.fail("the block ran")


# streams


@pytest.mark.nightly
def test_the_name_of_a_stream_that_a_shell_has_led_to_a_file_is_no_link(folder: Path) -> None:
    score = ("score", "records.jsonl", *RULES, "-o")
    assert run(*score, "out.jsonl").status == 0
    with (folder / "stdout").open("w+b") as stream:
        assert start(*score, "/dev/stdout", stdout=stream).status == 0
        stream.seek(0)
        assert stream.read() == (folder / "out.jsonl").read_bytes()


def test_a_stream_that_is_not_there_is_told(folder: Path) -> None:
    assert folder
    said = message_of(run("score", "records.jsonl", *RULES, "-o", "/dev/fd/999999"))
    assert said.startswith("/dev/fd/999999: found no such stream")


# permissions


def test_outputs_follow_the_umask_and_keep_what_they_replace(folder: Path) -> None:
    score = ("score", "records.jsonl", *RULES, "-o", "out.jsonl")
    with umask(0o027):
        assert run(*score).status == 0
        assert {mode(folder / name) for name in OUTPUTS} == {0o640}
    (folder / "out.jsonl").chmod(0o600)
    with umask(0o022):
        assert run(*score).status == 0
    assert [mode(folder / name) for name in OUTPUTS] == [0o600, 0o640, 0o640]


def test_a_new_store_is_its_owners_alone(folder: Path) -> None:
    with umask(0):
        assert run("state", "init", *RULES, "--state", "new.db").status == 0
        assert run("state", "export", "log.jsonl", "--state", "new.db").status == 0
        assert run("state", "import", "log.jsonl", "--state", "copy.db").status == 0
        with Ledger.open("new.db") as ledger, ledger.store.writing():
            beside = {path.name: mode(path) for path in folder.glob("new.db*")}
    assert beside == {"new.db": 0o600, "new.db-shm": 0o600, "new.db-wal": 0o600}
    assert mode(folder / "copy.db") == 0o600
    # it is for others
    assert mode(folder / "log.jsonl") == 0o666


def test_a_store_keeps_the_permissions_that_it_was_given(folder: Path) -> None:
    (folder / "state.db").chmod(0o640)
    assert run("state", "init", *RULES, "--state", "state.db").status == 2
    assert run("epoch", "close", "--epoch", "0", "--state", "state.db").status == 0
    assert mode(folder / "state.db") == 0o640


def test_an_empty_file_becomes_its_owners_alone(folder: Path) -> None:
    (folder / "left.db").touch(0o644)
    assert run("state", "init", *RULES, "--state", "left.db").status == 0
    assert mode(folder / "left.db") == 0o600


def test_a_new_store_follows_no_link(folder: Path) -> None:
    (folder / "link.db").symlink_to(folder / "target.db")
    with pytest.raises(StoreError, match="found a link"):
        Ledger.create("link.db", "skills@1.0.0")
    assert not (folder / "target.db").exists()
    # one that is there may be named by a link
    (folder / "link.db").unlink()
    (folder / "link.db").symlink_to(folder / "state.db")
    assert run("state", "info", "--state", "link.db").status == 0


# the commit point


def state_of(folder: Path, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> str:
    """What a reader finds, who holds the files to the receipt."""
    found = contents(folder)
    if OUTPUTS[2] not in found:
        return "no receipt"
    said = json.loads(found[OUTPUTS[2]])
    for name, key in zip(OUTPUTS, ("output_digest", "rejects_digest"), strict=False):
        if said[key] != f"sha256:{hashlib.sha256(found[name]).hexdigest()}":
            return "no valid receipt"
    whole = {name: found[name] for name in OUTPUTS}
    return "old" if whole == old else "new" if whole == new else "neither"


@pytest.mark.parametrize(
    "has_old",
    [
        pytest.param(True, marks=pytest.mark.process),
        pytest.param(False, marks=pytest.mark.nightly),
    ],
)
def test_whoever_is_killed_leaves_a_set_that_is_whole_or_known_not_to_be(
    tmp_path: Path, has_old: bool
) -> None:
    sets = {}
    written(tmp_path / "records.jsonl", [record("t1"), {"not": "a record"}])
    written(tmp_path / "other.jsonl", [record("t2"), {"nor": "this"}])
    scorer = load("skills@1.0.0")
    for name in ("records", "other"):
        made = tmp_path / name
        made.mkdir()
        scorer.score_file(tmp_path / f"{name}.jsonl", made / OUTPUTS[0])
        sets[name] = contents(made)
    old, new = sets["records"], sets["other"]
    folders = [tmp_path / f"at-{number}" for number in range(100)]
    for folder in folders:
        folder.mkdir()
        for name, content in old.items() if has_old else ():
            (folder / name).write_bytes(content)
    outputs = [each / OUTPUTS[0] for each in folders]
    kills = apart(kills_of_scoring, tmp_path / "other.jsonl", outputs)
    found = [state_of(folder, old, new) for folder in folders[: kills + 1]]
    assert found[-1] == "new"
    assert {*found} == ({"old", "no receipt", "new"} if has_old else {"no receipt", "new"})
    # from the first instant at which a set is not whole, to the last
    assert found == sorted(found, key=["old", "no receipt", "new"].index)


def write_all(paths: Sequence[Path], data: bytes) -> None:
    with atomic_files(*paths) as files:
        for each in files:
            each.write(data)


class RefusedError(PermissionError):
    """What a rename raises in a folder whose files may be replaced by their owners alone."""


@pytest.mark.parametrize("failing", [0, 1, 2, 3])
def test_a_name_that_cannot_be_taken_leaves_no_set_that_seems_whole(
    tmp_path: Path, failing: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / name for name in OUTPUTS]
    for path in paths:
        path.write_text("old")
    before, replace, count = contents(tmp_path), os.replace, iter(range(100))

    def refuse(*names: str, **folders: int) -> None:
        if next(count) == failing:
            raise RefusedError(1, "Operation not permitted")
        replace(*names, **folders)

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(OutputError, match="operation not permitted"):
        write_all(paths, b"new")
    # the receipt first, then the results: nothing has changed
    assert (contents(tmp_path) == before) is (failing < 2)
    if failing >= 2:
        assert OUTPUTS[2] not in contents(tmp_path)
        assert b"new" not in contents(tmp_path).values()
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]


# who reads an output


@pytest.mark.nightly
def test_facts_without_their_receipt_are_told(folder: Path) -> None:
    score = ("score", "facts.parquet", *RULES, "-o", "out.jsonl")
    assert run(*score).err == ""
    receipt = folder / "facts.parquet.receipt.json"
    said = receipt.read_bytes()
    receipt.unlink()
    found = run(*score)
    assert found.status == 0
    assert found.err.startswith("warning: facts.parquet: found no receipt")
    assert "found no receipt" in run(*score, "--log-json").err
    receipt.write_bytes(said)
    written(folder / "records.jsonl", [record("t2")])
    assert run("facts", "records.jsonl", "-o", "facts.parquet").status == 0
    receipt.write_bytes(said)
    found = run(*BACKTEST, "--bootstrap", "0", "-o", "report")
    assert found.status == 0
    assert found.err.startswith("warning: facts.parquet: found the receipt of another file")
    assert len(found.err.splitlines()) == 1
    receipt.write_text("nonsense")
    assert "found no receipt that can be read" in run(*score).err


def test_a_folder_of_facts_has_their_receipts_too(folder: Path) -> None:
    history = folder / "history"
    history.mkdir()
    for name in ("facts.parquet", "facts.parquet.receipt.json"):
        (folder / name).rename(history / name)
    found = run("score", "history", *RULES, "-o", "out.jsonl")
    assert (found.status, found.err) == (0, "")
    # a receipt of nothing that is there is no file of records
    (history / "facts.parquet").unlink()
    assert "receipt.json" in message_of(run("score", "history", *RULES, "-o", "out.jsonl"))
