"""Whatever the records are kept in and whoever works on them: the same results, the same facts."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from generators import SKILL_TYPES, lines

import tallystick
from tallystick.errors import EngineError, InputError
from tallystick.io.chunks import FileChunk
from tallystick.plugins.registry import installed
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.local import Local
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec
from tallystick.scoring.facts.run import ExtractionSpec, extract_file
from tallystick.scoring.facts.source import FactsChunk
from tallystick.scoring.run import ScoringSpec, ScoringTask

if TYPE_CHECKING:
    from distributed import LocalCluster

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]
COUNT = 450


@pytest.fixture(scope="session")
def good() -> list[bytes]:
    """Records that a table can hold: a component of a consensus may not be null."""
    found = lines(77, 4 * COUNT, SKILLS)
    return [line for line in found if not isinstance(json.loads(line).get("consensus"), dict)][
        :COUNT
    ]


def _table(records: list[bytes], path: Path) -> None:
    values = pa.array([json.loads(line) for line in records])
    pq.write_table(pa.Table.from_struct_array(values), path)


def _facts(records: list[bytes], path: Path) -> None:
    whole = path.with_suffix(".jsonl")
    whole.write_bytes(b"".join(records))
    extract_file(whole, path, installed(), chunk=128)
    for other in path.parent.glob(f"{path.stem}*"):
        if other != path:
            other.unlink()


@pytest.fixture(scope="session")
def forms(good: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The same records as lines, as a table, as facts, and as a folder of all three."""
    place = tmp_path_factory.mktemp("forms")
    found = {name: place / name for name in ("lines.jsonl", "rows.parquet", "facts.parquet")}
    found["lines.jsonl"].write_bytes(b"".join(good))
    _table(good, found["rows.parquet"])
    mixed = found["mixed"] = place / "mixed"
    mixed.mkdir()
    third = COUNT // 3
    (mixed / "a.jsonl").write_bytes(b"".join(good[:third]))
    _facts(good[third : 2 * third], mixed / "b.parquet")
    _table(good[2 * third :], mixed / "c.parquet")
    (place / "taken").mkdir()
    _facts(good, place / "taken" / "facts.parquet")
    (place / "taken" / "facts.parquet").rename(found["facts.parquet"])
    return found


@pytest.fixture(scope="session")
def one_by_one(scorer: tallystick.Scorer, good: list[bytes]) -> list[tallystick.Result]:
    """Each record alone, by the reader that takes every fact exactly."""
    found = [each for each in scorer.score_many(good) if isinstance(each, tallystick.Result)]
    assert len(found) == COUNT
    return found


@pytest.fixture(params=["here", "local", "cluster"])
def engine(request: pytest.FixtureRequest) -> Local | Cluster | None:
    if request.param == "cluster":
        return Cluster(request.getfixturevalue("cluster").scheduler_address, patience=600)
    return Local(2) if request.param == "local" else None


EVERY_PATH = pytest.mark.parametrize(
    ("engine", "form"),
    [
        *(("here", form) for form in ("lines.jsonl", "rows.parquet", "facts.parquet", "mixed")),
        # which is of all three
        ("local", "mixed"),
        ("cluster", "mixed"),
    ],
    indirect=["engine"],
)


@EVERY_PATH
def test_every_path_gives_the_digest_of_scoring_one_by_one(  # noqa: PLR0913, PLR0917  # fixtures
    scorer: tallystick.Scorer,
    forms: Mapping[str, Path],
    one_by_one: list[tallystick.Result],
    engine: Local | Cluster | None,
    form: str,
    tmp_path: Path,
) -> None:
    expected = "".join(f"{each.to_json()}\n" for each in one_by_one).encode()
    receipt = scorer.score_file(forms[form], tmp_path / "out.jsonl", executor=engine)
    assert receipt.output_digest == f"sha256:{hashlib.sha256(expected).hexdigest()}"
    assert (tmp_path / "out.jsonl").read_bytes() == expected


@pytest.fixture(scope="session")
def as_table(
    scorer: tallystick.Scorer, forms: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> bytes:
    """The Parquet file of the plainest path."""
    output = tmp_path_factory.mktemp("table") / "out.parquet"
    scorer.score_file(forms["lines.jsonl"], output)
    return output.read_bytes()


@EVERY_PATH
def test_every_path_gives_the_same_bytes_of_parquet(  # noqa: PLR0913, PLR0917  # fixtures
    scorer: tallystick.Scorer,
    forms: Mapping[str, Path],
    as_table: bytes,
    engine: Local | Cluster | None,
    form: str,
    tmp_path: Path,
) -> None:
    scorer.score_file(forms[form], tmp_path / "out.parquet", executor=engine)
    assert (tmp_path / "out.parquet").read_bytes() == as_table


def test_the_parquet_holds_what_scoring_one_by_one_gives(
    as_table: bytes, one_by_one: list[tallystick.Result]
) -> None:
    rows = pq.read_table(pa.BufferReader(as_table)).to_pylist()
    for row, each in zip(rows, one_by_one, strict=True):
        alone = each.to_dict()
        assert (row["record"], row["miner_hotkey"]) == (alone["record"], alone["miner_hotkey"])
        for name in ("quality", "emission", "consensus"):
            assert (None if row[name] is None else f"{row[name]:.9f}") == alone[name]


def files(source: Path, output: Path, **options: object) -> dict[str, bytes]:
    output.parent.mkdir()
    extract_file(source, output, installed(), **options)
    return {path.name: path.read_bytes() for path in output.parent.iterdir()}


@pytest.fixture
def shared(cluster: LocalCluster) -> Cluster:
    return Cluster(cluster.scheduler_address, patience=600)


@pytest.mark.parametrize("form", ["lines.jsonl", "rows.parquet"])
def test_a_cluster_takes_the_facts_of_one_process(
    shared: Cluster, forms: Mapping[str, Path], tmp_path: Path, form: str
) -> None:
    one = files(forms[form], tmp_path / "one" / "facts.parquet")
    assert len(one) == 3
    assert files(forms[form], tmp_path / "two" / "facts.parquet", executor=shared) == one


def kills_after(number: int, cluster: LocalCluster) -> Callable[..., None]:
    """Kills a worker of the cluster when it is told the so-manieth time."""
    told: list[int] = []

    def progress(*_: int) -> None:
        told.append(1)
        if len(told) == number:
            os.kill(_alive(cluster)[0], signal.SIGKILL)

    return progress


def _alive(cluster: LocalCluster) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def test_facts_survive_a_worker_that_is_killed_in_the_middle(
    mortal: LocalCluster, records: Path, tmp_path: Path
) -> None:
    before = _alive(mortal)
    engine = Cluster(mortal.scheduler_address, patience=600)
    one = files(records, tmp_path / "one" / "facts.parquet")
    kill = kills_after(2, mortal)
    assert files(records, tmp_path / "two" / "facts.parquet", executor=engine, progress=kill) == one
    while _alive(mortal) == before:  # a nanny notices when it has the time
        time.sleep(0.05)


def test_facts_are_found_by_workers_of_another_folder(
    scorer: tallystick.Scorer,
    shared: Cluster,
    forms: Mapping[str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(forms["facts.parquet"].parent)
    receipt = scorer.score_file(Path("facts.parquet"), tmp_path / "out.jsonl", executor=shared)
    assert receipt.counts.records == COUNT


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "0.0.1"}, r"found the engine tallystick \S+, expected 0\.0\.1"),
        ({"definitions": (("mcp_server", "a", "b"),)}, "found other facts of "),
    ],
)
def test_a_worker_that_would_take_other_facts_is_refused_by_name(
    shared: Cluster, records: Path, change: dict[str, object], message: str
) -> None:
    spec = ExtractionSpec.of(installed())
    if "engine" in change:
        change = {"installation": attrs.evolve(spec.installation, **change)}
    changed = attrs.evolve(spec, **change)
    function = PortableFunction(lambda: changed)
    with pytest.raises(EngineError, match=r"worker tcp://\S+: " + message):
        list(shared.map(function, [FileChunk(records, 0, 3, 1, 0)]))


@pytest.mark.parametrize("which", ["local", "cluster"])
def test_a_facts_file_that_changes_is_refused(
    scorer: tallystick.Scorer, shared: Cluster, forms: Mapping[str, Path], which: str
) -> None:
    engine = shared if which == "cluster" else Local(1)
    function = PortableFunction(lambda: ScoringSpec(ScorerSpec.of(scorer), "csv"))
    chunk = FactsChunk(forms["facts.parquet"], 0, 0, 12345)
    with pytest.raises(InputError, match=r"facts\.parquet: found another facts file than before"):
        list(engine.map(function, [ScoringTask(chunk)]))


def test_facts_of_a_cluster_that_cannot_be_reached(records: Path, tmp_path: Path) -> None:
    nowhere = Cluster("tcp://127.0.0.1:9", patience=2)
    with pytest.raises(EngineError, match=r"tcp://127\.0\.0\.1:9: the cluster cannot be reached"):
        extract_file(records, tmp_path / "facts.parquet", installed(), executor=nowhere)
    assert list(tmp_path.iterdir()) == []
