"""A folder of files of records scores as one input."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from generators import SKILL_TYPES, lines
from scoring.executors.elsewhere import Pickled

import tallystick
from tallystick.errors import InputError, OutputError
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.run import extract_file

Scorers = dict[str, tallystick.Scorer]
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


def plain(seed: int, count: int) -> list[bytes]:
    return list(lines(seed, count, SKILLS))


def facts(records: list[bytes], path: Path) -> None:
    path.with_suffix(".lines").write_bytes(b"".join(records))
    extract_file(path.with_suffix(".lines"), path, installed())
    path.with_suffix(".lines").unlink()
    path.with_name(f"{path.name}.rejects.jsonl").unlink()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files, whose names are not in the order in which they were made."""
    place = tmp_path / "history"
    place.mkdir()
    (place / "b.jsonl").write_bytes(b"".join(plain(2, 30)) + b"{}\n")
    facts(plain(3, 20), place / "c.parquet")
    (place / "B.JSONL").write_bytes(b"".join(plain(1, 10)).rstrip(b"\n"))
    (place / ".hidden.txt").touch()
    return place


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("executor", [None, Pickled()])
def test_a_folder_scores_as_its_records_in_one_file(
    scorers: Scorers, folder: Path, tmp_path: Path, executor: Pickled | None
) -> None:
    whole = tmp_path / "whole.jsonl"
    whole.write_bytes(b"".join([*plain(1, 10), *plain(2, 30), b"{}\n", *plain(3, 20)]))
    one = scorers["skills@1.0.0"].score_file(whole, tmp_path / "one.jsonl")
    many = scorers["skills@1.0.0"].score_file(folder, tmp_path / "many.jsonl", executor=executor)
    assert (tmp_path / "many.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()
    assert rows(tmp_path / "many.jsonl.rejects.jsonl")[0]["line"] == 41
    assert many.counts == one.counts
    assert many.counts.records == 61


def test_the_digest_is_that_of_what_sha256sum_prints(
    scorers: Scorers, folder: Path, tmp_path: Path
) -> None:
    receipt = scorers["skills@1.0.0"].score_file(folder, tmp_path / "out.jsonl")
    names = ("B.JSONL", "b.jsonl", "c.parquet")
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}
    printed = "".join(f"{digest}  {name}\n" for name, digest in digests.items())
    assert receipt.input_digest == f"sha256:{hashlib.sha256(printed.encode()).hexdigest()}"


def test_progress_is_of_all_the_files(scorers: Scorers, folder: Path, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    scorers["skills@1.0.0"].score_file(
        folder, tmp_path / "out.jsonl", progress=lambda *at: told.append(at)
    )
    assert told == sorted(told)
    assert told[-1][0] == told[-1][1] == sum(p.stat().st_size for p in folder.glob("?.*[tLl]"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("notes.txt", "found the extension '.txt'"),
        ("README", "found the extension"),
        ("out.csv", "found the extension '.csv'"),
        ("a\\b.jsonl", "found a line end or a backslash"),
    ],
)
def test_what_is_no_file_of_records_is_refused_by_name(
    scorers: Scorers, folder: Path, tmp_path: Path, name: str, message: str
) -> None:
    (folder / name).touch()
    with pytest.raises(InputError, match=message) as caught:
        scorers["skills@1.0.0"].score_file(folder, tmp_path / "out.jsonl")
    assert repr(name)[1:-1] in str(caught.value)
    assert not list(tmp_path.glob("out*"))


def test_a_folder_in_a_folder_is_refused(scorers: Scorers, folder: Path, tmp_path: Path) -> None:
    (folder / "d.jsonl").mkdir()
    with pytest.raises(InputError, match=r"d\.jsonl: found something else than a file"):
        scorers["skills@1.0.0"].score_file(folder, tmp_path / "out.jsonl")


@pytest.mark.parametrize(("name", "content"), [("d.jsonl", b""), ("d.parquet", b"PAR1")])
def test_a_bad_file_of_a_folder_is_named(
    scorers: Scorers, folder: Path, tmp_path: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=f"history/{name}: "):
        scorers["skills@1.0.0"].score_file(folder, tmp_path / "out.jsonl", executor=Pickled())
    assert not list(tmp_path.glob("out*"))


def test_nothing_is_written_into_the_folder_that_is_read(scorers: Scorers, folder: Path) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(OutputError, match="in the folder of the records"):
        scorers["skills@1.0.0"].score_file(folder, folder / "out.jsonl")
    assert sorted(folder.iterdir()) == before
