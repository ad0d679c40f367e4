"""Reading ahead under the native front: the same files, errors and ends as without threads."""

import gzip
import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest
from generators import lines
from native.fronts import native

import tallystick
from tallystick.errors import InputError
from tallystick.io import chunks
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer

FRONTS = ("python", "native")
LINES = 60


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make chunks of four lines, and leave no thread behind."""
    native()
    monkeypatch.setattr(chunks, "CHUNK_LINES", 4)
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture(scope="module")
def scorer() -> Scorer:
    return tallystick.load("skills@1.2.0")


@pytest.fixture
def records(tmp_path: Path, scorer: Scorer) -> Path:
    """Lines of all types, of which every ninth is bad."""
    page = [*lines(52, LINES, tuple(scorer.types))]
    page[::9] = [b"{}\n"] * len(page[::9])
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(page))
    return path


def made(output: Path) -> dict[str, bytes]:
    """The bytes of the files of a run, but for the name of the front in the receipt."""
    receipt = Path(f"{output}.receipt.json")
    fields = json.loads(receipt.read_bytes())
    assert bool(fields.pop("front", None)) == (output.parent.name == "native")
    files = [output, Path(f"{output}.rejects.jsonl")]
    return {path.name: path.read_bytes() for path in files} | {receipt.name: repr(fields).encode()}


def both(
    folder: Path, run: Callable[[Path, str], object], name: str = "out.jsonl"
) -> list[dict[str, bytes]]:
    for front in FRONTS:
        (folder / front).mkdir()
        run(folder / front / name, front)
    return [made(folder / front / name) for front in FRONTS]


def test_chunks_keep_their_order(records: Path, tmp_path: Path, scorer: Scorer) -> None:
    told: dict[str, list[tuple[int, int]]] = {front: [] for front in FRONTS}

    def score(output: Path, front: str) -> None:
        scorer.score_file(records, output, front=front, progress=lambda *at: told[front].append(at))

    python, ahead = both(tmp_path, score)
    assert python == ahead
    size = records.stat().st_size
    for progress in told.values():
        assert len(progress) == LINES // 4
        assert progress == sorted(progress)
        assert progress[-1] == (size, size)


def test_facts_keep_their_order(records: Path, tmp_path: Path) -> None:
    python, ahead = both(
        tmp_path,
        lambda output, front: extract_file(records, output, installed(), front=front),
        "out.parquet",
    )
    assert python == ahead


@pytest.mark.parametrize("is_mixed", [False, True])
def test_a_folder_is_read_in_its_order(
    is_mixed: bool, records: Path, tmp_path: Path, scorer: Scorer
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    page = records.read_bytes()
    (folder / "a.jsonl").write_bytes(page)
    (folder / "b.jsonl.gz").write_bytes(gzip.compress(page))
    if is_mixed:
        extract_file(records, folder / "c.parquet", installed())
        (folder / "c.parquet.rejects.jsonl").unlink()
    python, ahead = both(
        tmp_path, lambda output, front: scorer.score_file(folder, output, front=front)
    )
    assert python == ahead


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("after", [1, 3])
def test_what_interrupts_a_run_leaves_nothing(
    error: type[BaseException], after: int, records: Path, tmp_path: Path, scorer: Scorer
) -> None:
    told = 0

    def progress(_read: int, _size: int) -> None:
        nonlocal told
        told += 1
        if told == after:
            raise error

    output = tmp_path / "out" / "out.jsonl"
    output.parent.mkdir()
    with pytest.raises(error):
        scorer.score_file(records, output, front="native", progress=progress)
    told = 0
    with pytest.raises(error):
        extract_file(
            records, output.with_suffix(".parquet"), installed(), front="native", progress=progress
        )
    assert [*output.parent.iterdir()] == []


@pytest.mark.parametrize(
    "place",
    ["tallystick.scoring.run.PartScoring", "tallystick.scoring.facts.run.Extraction"],
)
def test_threads_end_with_a_run_whose_error_is_kept(
    place: str, records: Path, tmp_path: Path, scorer: Scorer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an interrupt is, to the end of the process: its frames hold what is read ahead."""
    monkeypatch.setattr(f"{place}.__call__", Mock(side_effect=KeyboardInterrupt))
    output = tmp_path / "out.parquet"
    runs: dict[str, Callable[[], object]] = {
        "PartScoring": lambda: scorer.score_file(records, output, front="native"),
        "Extraction": lambda: extract_file(records, output, installed(), front="native"),
    }
    with pytest.raises(KeyboardInterrupt) as kept:
        runs[place.rpartition(".")[2]]()
    assert "prefetch" not in {each.name for each in threading.enumerate()}
    assert kept.value.__traceback__ is not None


def test_an_input_that_ends_too_early_is_refused_alike(
    records: Path, tmp_path: Path, scorer: Scorer
) -> None:
    path, told = tmp_path / "cut.jsonl.gz", set[str]()
    path.write_bytes(gzip.compress(records.read_bytes())[:-9])
    for front in FRONTS:
        with pytest.raises(InputError, match="cannot be read as gzip") as refused:
            scorer.score_file(path, tmp_path / "out.jsonl", front=front)
        told.add(str(refused.value))
        assert not [*tmp_path.glob("out*")]
    assert len(told) == 1


def test_a_pipe_is_read_by_the_thread_that_can_be_interrupted(
    records: Path, tmp_path: Path, scorer: Scorer
) -> None:
    pipe, readers = tmp_path / "pipe.jsonl", set[str]()
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(records.read_bytes()))
    writer.start()
    scorer.score_file(
        pipe,
        tmp_path / "out.jsonl",
        front="native",
        progress=lambda *_: readers.update(each.name for each in threading.enumerate()),
    )
    writer.join()
    assert "prefetch" not in readers
    scorer.score_file(records, tmp_path / "again.jsonl", front="native")
    assert (tmp_path / "out.jsonl").read_bytes() == (tmp_path / "again.jsonl").read_bytes()
