"""A few bytes that stand for very many end a run at its limit of memory, told in one line."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import COMMAND, SKILLS, run
from memory import peak

from tallystick.plugins.registry import installed
from tallystick.scoring.facts.file import KEY
from tallystick.scoring.facts.run import extract_file

S = "skills@1.0.0"


def repeated(text: str, times: int) -> pa.Array:
    """A text very many times, which takes little memory here and in the file."""
    places = pa.array([0] * times, "int32")
    return pa.DictionaryArray.from_arrays(places, pa.array([text]))


def facts_of_long_texts(path: Path) -> None:
    """Facts whose tasks are of a megabyte each, all the same one."""
    records = path.with_suffix(".jsonl")
    records.write_bytes(SKILLS.read_bytes() * 300)
    extract_file(records, path, installed())
    said = {KEY: pq.read_metadata(path).metadata[KEY]}
    groups = [pq.ParquetFile(path).read_row_group(n) for n in range(6)]
    with pq.ParquetWriter(path, pq.read_schema(path), compression="zstd") as writer:
        for table in groups:
            place = table.schema.get_field_index("task_id")
            long = repeated("x" * (1 << 20), table.num_rows).cast(pa.string())
            writer.write_table(table.set_column(place, "task_id", long))
        writer.add_key_value_metadata(said)


@pytest.mark.process
def test_facts_that_fill_the_memory_end_at_its_limit(tmp_path: Path) -> None:
    facts, output = tmp_path / "facts.parquet", tmp_path / "out.jsonl"
    facts_of_long_texts(facts)
    assert facts.stat().st_size < 1_000_000
    command = [*COMMAND, "score", str(facts), "--rules", S, "-o", str(output), "--memory", "1200M"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == (
        "error: found that the run takes more memory than the 1258291200 bytes that are allowed, "
        "expected less: allow more by --memory, or give it less at a time"
    )
    assert not output.exists()


@pytest.mark.parametrize("size", ["", "0", "many", "1T", "-1G", "1.5G", "511M"])
def test_a_limit_that_is_no_size_is_told(size: str) -> None:
    done = run("score", SKILLS, "--rules", S, "-o", "out.jsonl", "--memory", size)
    assert done.status == 2
    assert f"found {size!r}, expected a size of at least 512M, such as 2G" in done.err


def test_a_run_within_its_limit_is_as_any_other(tmp_path: Path) -> None:
    files = []
    for more in ((), ("--memory", "64G")):
        assert run("score", SKILLS, "--rules", S, "-o", tmp_path / "out.jsonl", *more).status == 0
        files.append((tmp_path / "out.jsonl").read_bytes())
    assert files[0] == files[1]


def gzipped(path: Path) -> None:
    path.write_bytes(gzip.compress(b"{}\n" + b" " * (1 << 28)))


def table(path: Path) -> None:
    column = repeated("x" * (1 << 20), 1024)
    pq.write_table(pa.table({"task_id": column}), path, compression="zstd", store_schema=False)


BOMBS: dict[str, Callable[[Path], None]] = {"records.jsonl.gz": gzipped, "text.parquet": table}


@pytest.mark.nightly
@pytest.mark.parametrize("name", BOMBS)
def test_a_whole_run_stays_under_300_mb(name: str, tmp_path: Path) -> None:
    """In a process of its own, with all that is loaded."""
    path = tmp_path / name
    BOMBS[name](path)
    status = 1 if name.endswith(".gz") else 2
    score = ("score", path, "--rules", S, "-o", tmp_path / "out.jsonl")
    assert peak(*score, status=status) < 300 * 10**6
