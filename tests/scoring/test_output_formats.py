"""Every format of results as a file and as a stream, and formats that others declare."""

import os
from pathlib import Path
from typing import IO

import pytest
from generators import lines

import tallystick
from tallystick.errors import OutputError
from tallystick.scoring import output
from tallystick.scoring.output import OUTPUT_FORMATS, Encode, OutputFormat, Text, Writer, by_name
from tallystick.scoring.result import ResultLayout
from tallystick.scoring.table import ResultTable

NAMES = [each.name for each in OUTPUT_FORMATS]
STREAMS = [each.name for each in OUTPUT_FORMATS if each.streams]
HEAD = b"\0" * 8


def _encoder(_layout: ResultLayout, _shadow: bool) -> Encode:
    def encode(batch: ResultTable) -> bytes:
        return b"".join(result.record.to_bytes(8) for result in batch.results())

    return encode


class _Counting(Text):
    """Writes the number of bytes before them, once it is known."""

    def close(self) -> None:
        size = self.file.tell()
        self.file.seek(0)
        self.file.write(size.to_bytes(8))


def _appending(file: IO[bytes], _layout: ResultLayout, _shadow: bool) -> Writer:
    return Text(file)


def _counting(file: IO[bytes], _layout: ResultLayout, _shadow: bool) -> Writer:
    file.write(HEAD)
    return _Counting(file)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(lines(7, 20, ["rag_knowledge"])))
    return path


def _declare(monkeypatch: pytest.MonkeyPatch, declared: OutputFormat) -> None:
    monkeypatch.setattr(output, "_BY_NAME", by_name((*OUTPUT_FORMATS, declared)))


@pytest.mark.parametrize("place", ["-", "/dev/stdout", "/dev/fd/{pipe}"])
@pytest.mark.parametrize("name", NAMES)
def test_a_format_is_the_same_bytes_in_a_stream_or_refused(
    scorers: dict[str, tallystick.Scorer],
    records: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    place: str,
    name: str,
) -> None:
    scorer, file = scorers["skills@1.1.0"], records.with_name(f"results.{name}")
    scorer.score_file(records, file, format_name=name)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as end, os.fdopen(writing, "wb") as pipe:
        stream = Path(place.format(pipe=pipe.fileno()))
        if name not in STREAMS:
            message = f"one that can be a stream: {', '.join(STREAMS)}; for '{name}' name a file"
            with pytest.raises(OutputError, match=message):
                scorer.score_file(records, stream, format_name=name)
        else:
            scorer.score_file(records, stream, format_name=name)
        pipe.close()
        streamed = capfdbinary.readouterr().out + end.read()
    assert streamed == (file.read_bytes() if name in STREAMS else b"")


def test_a_format_that_does_not_declare_whether_it_streams_is_refused_by_name() -> None:
    with pytest.raises(OutputError, match="the output format 'mine': found streams = None"):
        by_name([OutputFormat("mine", _encoder, _appending)])
    with pytest.raises(OutputError, match="two output formats 'csv'"):
        by_name((*OUTPUT_FORMATS, OutputFormat("csv", _encoder, _appending, streams=True)))


def test_a_format_of_others_that_streams_is_the_same_bytes_in_a_file(
    monkeypatch: pytest.MonkeyPatch,
    scorers: dict[str, tallystick.Scorer],
    records: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    _declare(monkeypatch, OutputFormat("mine", _encoder, _appending, streams=True))
    file = records.with_name("results.mine")
    scorers["skills@1.1.0"].score_file(records, file, format_name="mine")
    scorers["skills@1.1.0"].score_file(records, Path("/dev/fd/1"), format_name="mine")
    assert capfdbinary.readouterr().out == file.read_bytes()


def test_a_format_of_others_that_cannot_stream_is_refused_before_it_writes(
    monkeypatch: pytest.MonkeyPatch, scorers: dict[str, tallystick.Scorer], records: Path
) -> None:
    _declare(monkeypatch, OutputFormat("mine", _encoder, _counting, streams=False))
    file, scorer = records.with_name("results.mine"), scorers["skills@1.1.0"]
    scorer.score_file(records, file, format_name="mine")
    assert int.from_bytes(file.read_bytes()[:8]) == file.stat().st_size == 8 * 21
    with pytest.raises(OutputError, match="found the format 'mine', expected one that can be"):
        scorer.score_file(records, Path("-"), format_name="mine")


def test_a_format_of_others_that_goes_back_in_a_stream_is_told_so(
    monkeypatch: pytest.MonkeyPatch, scorers: dict[str, tallystick.Scorer], records: Path
) -> None:
    _declare(monkeypatch, OutputFormat("mine", _encoder, _counting, streams=True))
    with pytest.raises(OutputError, match="goes back in its output, as no stream can"):
        scorers["skills@1.1.0"].score_file(records, Path("/dev/fd/1"), format_name="mine")
