"""A compressed file is read wherever records are, and gives what its lines give."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from cli.command import SKILLS, run
from scoring.executors.elsewhere import Pickled
from state.subnet import record, written

import tallystick

Scorers = dict[str, tallystick.Scorer]
RULES = ("--rules", "skills@1.0.0")
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    ".jsonl.gz": gzip.compress,
    ".jsonl.zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@pytest.fixture(params=COMPRESS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """Records as lines, and compressed."""
    plain, compressed = tmp_path / "records.jsonl", tmp_path / f"small{request.param}"
    plain.write_bytes(SKILLS.read_bytes() * 5 + b"{}\n")
    compressed.write_bytes(COMPRESS[request.param](plain.read_bytes()))
    return plain, compressed


def test_it_scores_as_its_lines_whoever_does(
    scorers: Scorers, pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """Gzip by tasks that are sent, zstd by this process."""
    found = []
    for path in pair:
        output = tmp_path / f"{path.name}.out.jsonl"
        executor = Pickled() if path.suffix == ".gz" else None
        counts = scorers["skills@1.0.0"].score_file(path, output, executor=executor).counts
        rejects = Path(f"{output}.rejects.jsonl").read_bytes()
        found.append((counts, output.read_bytes(), rejects))
    assert found[0] == found[1]
    assert found[0][0].rejected == 1


def test_facts_and_explanations_are_those_of_its_lines(
    pair: tuple[Path, Path], tmp_path: Path
) -> None:
    """Also from a folder."""
    said = []
    for number, path in enumerate(pair):
        folder, facts = tmp_path / f"{number}", tmp_path / f"{number}.parquet"
        folder.mkdir()
        path.rename(folder / path.name)
        assert run("facts", folder, "-o", facts).status == 1
        output = tmp_path / f"{number}.csv"
        assert run("score", facts, *RULES, "-o", output).status == 0
        explained = run("explain", folder / path.name, *RULES, "--line", "3")
        assert explained.status == 0
        said.append((output.read_bytes(), explained.out))
    assert said[0] == said[1]


@pytest.mark.nightly
def test_back_tests_are_those_of_its_lines(pair: tuple[Path, Path], tmp_path: Path) -> None:
    miners = []
    for number, path in enumerate(pair):
        output = tmp_path / f"{number}"
        by = (*RULES, "--rules", "skills@1.1.0", "-o", output, "--json")
        assert run("backtest", path, *by).status == 1
        miners.append((output / "miners.parquet").read_bytes())
    assert miners[0] == miners[1]


@pytest.mark.parametrize("end", COMPRESS)
def test_a_state_takes_its_records(end: str, tmp_path: Path) -> None:
    state = ("--state", tmp_path / "state.db")
    assert run("state", "init", *RULES, *state).status == 0
    types = ("--types", "executable_python")
    assert run("miner", "register", "hk-1", "--uid", "1", *types, *state).status == 0
    plain = written(tmp_path / "records.jsonl", [record("t1")])
    compressed = tmp_path / f"records{end}"
    compressed.write_bytes(COMPRESS[end](plain.read_bytes()))
    imported = run("events", "import", compressed, *state, "--json").json()
    again = run("events", "import", plain, *state, "--json").json()
    assert (imported["recorded"], again["duplicates"]) == (1, 1)
