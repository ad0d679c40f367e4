"""Every format of results as a file and as a stream."""

import os
from pathlib import Path

import pytest
from generators import lines

import tallystick
from tallystick.errors import OutputError
from tallystick.scoring.output import OUTPUT_FORMATS

STREAMS = [name for name, output_format in OUTPUT_FORMATS.items() if output_format.streams]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "records.jsonl"
    path.write_bytes(b"".join(lines(7, 20, ["rag_knowledge"])))
    return path


@pytest.mark.parametrize("place", ["-", "/dev/stdout", "/dev/fd/{pipe}"])
@pytest.mark.parametrize("name", OUTPUT_FORMATS)
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
