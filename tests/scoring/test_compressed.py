"""A compressed file is read wherever records are, and gives what its lines give."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest
from cli.command import SKILLS
from scoring.executors.elsewhere import Pickled

import tallystick


@pytest.mark.parametrize(
    ("end", "executor"), [(".jsonl.gz", Pickled()), (".jsonl.zst", None)], ids=["gzip", "zstd"]
)
def test_it_scores_as_its_lines_here_and_by_tasks_that_are_sent(
    scorers: dict[str, tallystick.Scorer], tmp_path: Path, end: str, executor: Pickled | None
) -> None:
    data = SKILLS.read_bytes() * 5 + b"{}\n"
    plain, compressed = tmp_path / "records.jsonl", tmp_path / f"small{end}"
    plain.write_bytes(data)
    compressed.write_bytes(
        gzip.compress(data) if executor else pa.Codec("zstd").compress(data, asbytes=True)
    )
    found = []
    for path in (plain, compressed):
        output = tmp_path / f"{path.name}.out.jsonl"
        counts = scorers["skills@1.0.0"].score_file(path, output, executor=executor).counts
        rejects = Path(f"{output}.rejects.jsonl").read_bytes()
        found.append((counts, output.read_bytes(), rejects))
    assert found[0] == found[1]
    assert found[0][0].rejected == 1
