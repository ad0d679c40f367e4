"""Files are read as their names say, and what has no end is told."""

import gzip
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pool import counting_pool

from tallystick.errors import InputError
from tallystick.io import inputs
from tallystick.io.inputs import opened
from tallystick.io.lines import MAX_LINE_BYTES
from tallystick.io.sources import ItemChunk, JsonLinesSource, input_digest

LINES = b"".join(b'{"n":%d}\n' % n for n in range(40_000))


def zstd(data: bytes) -> bytes:
    return pa.Codec("zstd").compress(data, asbytes=True)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {".jsonl.gz": gzip.compress, ".jsonl.zst": zstd}


def read(path: Path) -> list[bytes]:
    return [line for chunk in JsonLinesSource(path) for line in chunk.items()]


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("end", COMPRESS)
def test_a_compressed_file_is_the_lines_of_its_parts(end: str, tmp_path: Path) -> None:
    """Members of gzip and frames of zstd follow each other; the lines are those of them all."""
    plain, path = tmp_path / "records.jsonl", tmp_path / f"RECORDS{end.upper()}"
    plain.write_bytes(LINES)
    middle = len(LINES) // 3
    path.write_bytes(COMPRESS[end](LINES[:middle]) + COMPRESS[end](LINES[middle:]))
    source, chunks = JsonLinesSource(path), list(JsonLinesSource(plain))
    found = list(source.places())
    assert all(isinstance(chunk, ItemChunk) for chunk in found)
    lines = [line for chunk in chunks for line in chunk.items()]
    assert [line for chunk in found for line in chunk.items()] == lines
    assert source.digest == input_digest(path)
    assert source.bytes_read == source.size == path.stat().st_size


@pytest.mark.parametrize("end", COMPRESS)
def test_a_compressed_file_that_is_not_whole_is_told_with_its_place(
    end: str, tmp_path: Path
) -> None:
    path = tmp_path / f"records{end}"
    whole = COMPRESS[end](LINES)
    for data in (whole[:-3], whole + b"{}\n"):
        path.write_bytes(data)
        assert f"after {len(data)} bytes and " in refusal(path)
        assert refusal(path).endswith("check that it is whole")
    path.write_bytes(b"{}\n")
    assert "found no compressed file, expected" in refusal(path)
    path.write_bytes(b"")
    assert "the file is empty" in refusal(path)


STARTS = {
    "gzip": (gzip.compress(LINES), ".jsonl.gz"),
    "zstd": (zstd(LINES), ".jsonl.zst"),
    "Parquet": (b"PAR1...", ".parquet"),
    "xz": (b"\xfd7zXZ\0.", "decompress it first"),
    "bzip2": (b"BZh91AY", "decompress it first"),
    "a ZIP archive": (b"PK\3\4....", "unpack it first"),
}


@pytest.mark.parametrize("kind", STARTS)
def test_a_file_that_is_no_lines_says_what_it_is_and_what_to_do(kind: str, tmp_path: Path) -> None:
    path, (data, remedy) = tmp_path / "records.jsonl", STARTS[kind]
    path.write_bytes(data)
    said = refusal(path)
    assert said.startswith(f"{path}: found {kind}, expected one JSON record a line: ")
    assert remedy in said


@pytest.mark.parametrize("end", COMPRESS)
def test_a_line_without_an_end_is_cut_as_it_is_decompressed(end: str, tmp_path: Path) -> None:
    path = tmp_path / f"records{end}"
    path.write_bytes(COMPRESS[end](b"{}\n" + b" " * (20 << 20)) + COMPRESS[end](b"\n{}\n"))
    with counting_pool() as pool:
        assert [len(line) for line in read(path)] == [2, MAX_LINE_BYTES + 1, 2]
    assert pool.max_memory() < 16 << 20


def test_a_window_larger_than_memory_is_refused(tmp_path: Path) -> None:
    """A frame of zstd that asks for 2 GiB to be decompressed with."""
    path = tmp_path / "records.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00" + bytes([21 << 3]) + b"\x01\x00\x00")
    assert "too much memory" in refusal(path)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/full", "/dev/urandom"])
def test_a_device_without_an_end_is_refused(device: str) -> None:
    assert "found a device, which may have no end" in refusal(Path(device))


def test_a_device_as_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/zero").open("rb") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        assert refusal(Path("-")).startswith("-: found a device")


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        assert refusal(Path("socket")) == "socket: found a socket, expected a file or a pipe"


def test_a_pipe_that_nobody_writes_to_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(inputs, "WRITER_SECONDS", 0)
    # as long as the thread that waits may take to begin
    monkeypatch.setattr(inputs, "_PATIENCE", 60)
    path = tmp_path / "pipe"
    os.mkfifo(path)
    before = threading.active_count()
    assert refusal(path).startswith(f"{path}: found a pipe that nobody writes to")
    assert "waiting up to 0 seconds for a writer" in caplog.text
    assert threading.active_count() == before
    # a writer that comes later finds no reader that was left behind
    with pytest.raises(OSError, match="No such device or address"):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)


def test_a_pipe_of_which_the_writer_comes_late_and_is_slow_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_PATIENCE", 0)
    path, data = tmp_path / "pipe.jsonl.gz", gzip.compress(LINES)
    os.mkfifo(path)

    def write() -> None:
        with path.open("wb", buffering=0) as pipe:
            for start in range(0, len(data), 1000):
                pipe.write(data[start : start + 1000])

    writer = threading.Thread(target=write)
    # the reader tells that it waits, and only then is there a writer
    monkeypatch.setattr(inputs._LOG, "warning", lambda *_: writer.start())
    assert len(read(path)) == 40_000
    writer.join()


def test_what_a_shell_substitutes_for_a_process_is_read() -> None:
    ours, theirs = os.pipe()
    os.write(theirs, b"{}\n{}\n")
    os.close(theirs)
    assert read(Path(f"/dev/fd/{ours}")) == [b"{}", b"{}"]
    os.close(ours)


def test_the_empty_device_is_an_empty_file() -> None:
    with opened(Path(os.devnull)) as file:
        assert file.read() == b""
