"""Choosing a front: found by itself, asked for, absent, damaged, of another version; and told."""

import hashlib
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from cli.command import SKILLS, WORKFLOWS, run
from generators import lines
from native.fronts import native

import tallystick
from tallystick.errors import EngineError
from tallystick.lock.lock_file import parse
from tallystick.lock.write import lock_of
from tallystick.plugins import entries
from tallystick.plugins import front as fronts
from tallystick.plugins.front import NativeFront, front_of
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.local import Local
from tallystick.scoring.facts.run import extract_file

INSTALL = "run pip install 'tallystick[native]'"
RULE_SETS = (
    *("skills@1.0.0", "skills@1.1.0", "skills@1.2.0"),
    *("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0"),
)
RULES = ("--rules", "skills@1.2.0")


@pytest.fixture
def fresh() -> Iterator[None]:
    """Let the front be looked for anew, before and after."""
    for each in (fronts._installed, fronts._loaded):
        each.cache_clear()
    yield
    for each in (fronts._installed, fronts._loaded):
        each.cache_clear()


Offer = Callable[..., None]


@pytest.fixture
def offer(fresh: None, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Make a package the one that is installed as the native front, or let there be none."""
    del fresh
    others = entries.installed_entries

    def offered(package: object | None = None, distribution: str = "tallystick-native") -> None:
        entry = mock.Mock(load=lambda: package, dist=mock.Mock(version="0.1.0"))
        entry.name = "native"
        entry.dist.read_text.return_value = f"Name: {distribution}"
        found = [] if package is None else [entry]
        monkeypatch.setattr(
            entries,
            "installed_entries",
            lambda group: found if group == fronts.GROUP else others(group),
        )

    return offered


def package(path: Path, digest: str | None = None) -> object:
    """A package that holds a library."""
    found = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return SimpleNamespace(library=lambda: path, DIGEST=digest or found)


def test_python_is_the_front_where_no_library_is(offer: Offer) -> None:
    offer()
    assert front_of("auto") is None
    assert front_of("python") is None
    with pytest.raises(EngineError) as refused:
        front_of("native")
    assert str(refused.value).endswith(INSTALL)


def test_the_environment_chooses_where_nobody_else_does(
    offer: Offer, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer()
    monkeypatch.setenv("TALLYSTICK_FRONT", "native")
    with pytest.raises(EngineError, match="found no tallystick_native"):
        front_of()
    assert front_of("python") is None
    monkeypatch.setenv("TALLYSTICK_FRONT", "rust")
    with pytest.raises(EngineError, match="found the front 'rust', expected one of auto, python"):
        front_of()
    monkeypatch.delenv("TALLYSTICK_FRONT")
    assert front_of() is None


def test_without_a_library_the_command_says_how_to_install_it(offer: Offer, tmp_path: Path) -> None:
    offer()
    out = tmp_path / "out.jsonl"
    for words in (("score", SKILLS, *RULES), ("facts", SKILLS)):
        refused = run(*words, "--front", "native", "-o", out)
        assert refused.status == 2
        assert INSTALL in refused.err
        assert not out.exists()
        assert run(*words, "--front", "rust", "-o", out).status == 2
    where = ("--state", tmp_path / "subnet.db")
    assert run("state", "init", *RULES, *where).status == 0
    for command in (("round", "close"), ("events", "import")):
        refused = run(*command, SKILLS, *where, "--front", "native")
        assert refused.status == 2
        assert INSTALL in refused.err


@pytest.fixture
def damaged(tmp_path: Path) -> Iterator[object]:
    """Packages that cannot be used."""
    whole = tmp_path / "whole.so"
    whole.write_bytes(b"no library")
    return iter(
        (
            (package(whole), "cannot be loaded"),
            (package(whole, "sha256:" + "0" * 64), "expected sha256:000"),
            (package(tmp_path / "gone.so"), "without its files"),
            (SimpleNamespace(), "without its files"),
        )
    )


def test_a_damaged_library_is_passed_over_with_one_line(
    offer: Offer,
    damaged: Iterator[tuple[object, str]],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "tallystick")
    for number, (broken, reason) in enumerate(damaged):
        fronts._installed.cache_clear()
        fronts._loaded.cache_clear()
        offer(broken)
        caplog.clear()
        assert front_of("auto") is None
        (line,) = [each for each in caplog.records if each.name == fronts.__name__]
        assert reason in line.reason  # type: ignore[attr-defined]  # an extra field
        with pytest.raises(EngineError, match=reason):
            front_of("native")
        out = tmp_path / f"{number}.jsonl"
        told = run("score", SKILLS, *RULES, "-o", out, "--front", "auto", "-v")
        assert told.status == 0
        assert told.err.count("the native front is passed over") == 1
        assert "front" not in json.loads(Path(f"{out}.receipt.json").read_text("utf-8"))


@pytest.mark.usefixtures("fresh")
def test_a_library_for_other_programs_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    native()
    fronts._installed.cache_clear()
    fronts._loaded.cache_clear()
    monkeypatch.setattr(fronts, "PROGRAM", 2)
    assert front_of("auto") is None
    with pytest.raises(EngineError, match="found programs of version 1, expected 2"):
        front_of("native")


def test_a_front_of_another_distribution_is_none(offer: Offer, tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(b"")
    offer(package(library), distribution="acme-native")
    assert front_of("auto") is None
    with pytest.raises(EngineError, match="found no tallystick_native"):
        front_of("native")


@pytest.fixture(scope="module")
def front() -> NativeFront:
    return native()


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good and bad records of all types, with requirements that some do not meet."""
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    every = [*lines(41, 800), *(part.read_bytes() for part in (SKILLS, WORKFLOWS))]
    bad = [b"\n", b"{}\n", b'{"skill_type": "mcp_server"}\n', b"\xff\n", b" \n"]
    early = SKILLS.read_bytes().replace(b'"latency_ms": ', b'"latency_ms": 1')
    path.write_bytes(b"".join([*every[:300], *bad, early, *every[300:], b"{"]))
    return path


def files_of(output: Path) -> tuple[dict[str, bytes], dict[str, Any]]:
    """The bytes of results and rejects, and the receipt."""
    names = (output, output.with_name(f"{output.name}.rejects.jsonl"))
    receipt = json.loads(output.with_name(f"{output.name}.receipt.json").read_bytes())
    return {path.suffixes[-1]: path.read_bytes() for path in names}, receipt


@pytest.mark.parametrize("name", RULE_SETS)
def test_files_are_the_same_but_for_the_name_of_the_front(
    name: str, front: NativeFront, records: Path, tmp_path: Path
) -> None:
    scorer, made = tallystick.load(name), {}
    for chosen in ("python", "native"):
        output = tmp_path / chosen / "out.parquet"
        output.parent.mkdir()
        scorer.score_file(records, output, front=chosen)
        made[chosen] = files_of(output)
    receipt = made["native"][1]
    assert receipt.pop("front") == str(front)
    assert receipt["counts"]["rejected"] > 5
    assert made["native"] == made["python"]


def test_facts_files_are_the_same(front: NativeFront, records: Path, tmp_path: Path) -> None:
    made = {}
    for chosen in ("python", "native"):
        output = tmp_path / chosen / "facts.parquet"
        output.parent.mkdir()
        extract_file(records, output, installed(), front=chosen)
        made[chosen] = files_of(output)
    assert made["native"][1].pop("front") == str(front)
    assert made["native"] == made["python"]


def test_a_front_that_reads_no_lines_is_not_named(
    front: NativeFront, records: Path, tmp_path: Path
) -> None:
    del front
    facts, output = tmp_path / "facts.parquet", tmp_path / "out.jsonl"
    extract_file(records, facts, installed(), front="native")
    receipt = tallystick.load(RULES[1]).score_file(facts, output, front="native")
    assert receipt.front is None


@pytest.mark.slow
def test_workers_have_the_front_of_the_process_that_begins_them(
    front: NativeFront, records: Path, tmp_path: Path
) -> None:
    scorer = tallystick.load(RULES[1])
    alone, shared = tmp_path / "alone.jsonl", tmp_path / "shared.jsonl"
    scorer.score_file(records, alone, front="python")
    receipt = scorer.score_file(records, shared, front="native", executor=Local(2))
    assert receipt.front == str(front)
    assert shared.read_bytes() == alone.read_bytes()


def test_a_worker_without_the_same_library_refuses(front: NativeFront) -> None:
    assert fronts.same_front(None) is None
    assert fronts.same_front(str(front)) == front
    with pytest.raises(EngineError, match="install the same on every worker"):
        fronts.same_front("native 9.9.9 sha256:" + "0" * 64)


def test_a_lock_covers_the_front_where_it_is_used(
    front: NativeFront, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, covering = tmp_path / "plain.lock", tmp_path / "covering.lock"
    scorers = [tallystick.load(RULES[1])]
    monkeypatch.setenv("TALLYSTICK_FRONT", "python")
    plain.write_text(lock_of(scorers, tmp_path).to_text(), encoding="utf-8")
    monkeypatch.setenv("TALLYSTICK_FRONT", "auto")
    lock = lock_of(scorers, tmp_path)
    covering.write_text(lock.to_text(), encoding="utf-8")
    assert lock.native == str(front)
    assert parse(covering.read_bytes(), "") == lock

    def scored(chosen: str, held: Path) -> tuple[int, str]:
        out = tmp_path / "out.jsonl"
        done = run("score", SKILLS, *RULES, "-o", out, "--front", chosen, "--lock", held)
        return done.status, done.err

    assert scored("python", plain)[0] == 0
    assert scored("python", covering)[0] == 0
    assert scored("native", covering)[0] == 0
    for chosen in ("auto", "native"):
        status, told = scored(chosen, plain)
        assert status == 1
        assert f"the native front: found {front}, locked nothing" in told
    covering.write_text(lock.to_text().replace(front.digest, "sha256:" + "0" * 64), "utf-8")
    status, told = scored("native", covering)
    assert status == 1
    assert f"locked native {front.version} sha256:000" in told
    assert run("lock", "--check", covering).status == 1
    assert run("weights", "--help").status == 0
