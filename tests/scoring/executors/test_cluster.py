"""A real Dask cluster gives the files of one process, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

import tallystick
from tallystick.errors import EngineError, InputError
from tallystick.io.chunks import FileChunk
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.portable import PortableFunction, ScorerSpec
from tallystick.scoring.run import ScoringSpec, ScoringTask

if TYPE_CHECKING:
    from distributed import LocalCluster


def files(
    scorer: tallystick.Scorer, source: Path, output: Path, **options: object
) -> dict[str, bytes]:
    output.parent.mkdir()
    scorer.score_file(source, output, **options)
    return {path.name: path.read_bytes() for path in output.parent.iterdir()}


@pytest.fixture
def engine(cluster: LocalCluster) -> Cluster:
    return Cluster(cluster.scheduler_address, patience=600)


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_the_files_are_those_of_one_process(
    scorer: tallystick.Scorer, engine: Cluster, records: Path, tmp_path: Path, name: str
) -> None:
    one = files(scorer, records, tmp_path / "one" / name)
    assert files(scorer, records, tmp_path / "two" / name, executor=engine) == one


def test_a_worker_that_is_killed_in_the_middle_changes_no_byte(
    scorer: tallystick.Scorer, mortal: LocalCluster, records: Path, tmp_path: Path
) -> None:
    engine = Cluster(mortal.scheduler_address, patience=600)
    one = files(scorer, records, tmp_path / "one" / "out.parquet")
    told: list[int] = []

    def kill(*_: int) -> None:
        told.append(1)
        if len(told) == 2:
            os.kill(killed, signal.SIGKILL)

    killed = processes(mortal)[0]
    two = files(scorer, records, tmp_path / "two" / "out.parquet", executor=engine, progress=kill)
    assert two == one
    assert len(told) > 20
    while killed in processes(mortal):  # its nanny notices when it has the time
        time.sleep(0.05)


def processes(cluster: LocalCluster) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid is not None]


def test_a_worker_with_another_plugin_is_refused_by_name(
    scorer: tallystick.Scorer, engine: Cluster, records: Path, tmp_path: Path
) -> None:
    plugins = dict(scorer.registry.plugins)
    plugins["skills"] = attrs.evolve(plugins["skills"], version="0.0.1")
    other = attrs.evolve(scorer, registry=attrs.evolve(scorer.registry, plugins=plugins))
    with pytest.raises(EngineError, match=r"worker tcp://\S+: found the plugin skills to be "):
        other.score_file(records, tmp_path / "out.csv", executor=engine)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "0.0.1"}, r"found the engine tallystick \S+, expected 0\.0\.1"),
        ({"digest": "sha256:12"}, r"found the rule set skills@1\.0\.0 to be sha256"),
        (
            {"plugins": (("essays", "essays 1.0 sha256:1"),)},
            "found the plugin essays to be missing",
        ),
        (
            {"code": (("the files of the plugin skills", "sha256:1"),)},
            r"found the files of the plugin skills to be sha256:\w{64}, expected sha256:1: install",
        ),
        (
            {"code": (("the files of the engine", "sha256:1"),)},
            r"found the files of the engine to be sha256:\w{64}, expected sha256:1",
        ),
        (
            {"code": (("the files of the section allocation", "sha256:1"),)},
            r"found the files of the section allocation to be sha256:\w{64}, expected sha256:1",
        ),
        ({"code": (("msgspec", "0.0.1"),)}, r"found msgspec to be \S+, expected 0\.0\.1"),
    ],
)
def test_a_worker_of_another_kind_is_refused(
    scorer: tallystick.Scorer,
    engine: Cluster,
    records: Path,
    change: dict[str, object],
    message: str,
) -> None:
    spec = ScorerSpec.of(scorer)
    installation = {key: value for key, value in change.items() if key != "digest"}
    ((_, (rule_set,)),) = spec.spans
    said = attrs.evolve(rule_set, digest=change.get("digest", rule_set.digest))
    changed = attrs.evolve(
        spec,
        installation=attrs.evolve(spec.installation, **installation),
        spans=((0, (said,)),),
    )
    function = PortableFunction(lambda: ScoringSpec(changed, "csv"))
    with pytest.raises(EngineError, match=r"worker tcp://\S+: " + message):
        list(engine.map(function, [ScoringTask(FileChunk(records, 0, 3, 1, 0))]))


def test_a_worker_that_does_not_see_the_file_is_named(
    scorer: tallystick.Scorer, engine: Cluster
) -> None:
    function = PortableFunction(lambda: ScoringSpec(ScorerSpec.of(scorer), "csv"))
    piece = FileChunk(Path("/nowhere/records.jsonl"), 0, 3, 1, 0)
    with pytest.raises(InputError, match=r"worker tcp://\S+: /nowhere/records.jsonl: no such"):
        list(engine.map(function, [ScoringTask(piece)]))


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "tcp://", "udp://x:1", ""])
def test_a_cluster_that_cannot_be_reached_is_told(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path, address: str
) -> None:
    with pytest.raises(EngineError, match="the cluster cannot be reached"):
        scorer.score_file(records, tmp_path / "out.csv", executor=Cluster(address, patience=2))
    assert list(tmp_path.iterdir()) == []


def test_a_cluster_without_workers_is_told(
    scorer: tallystick.Scorer, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client, LocalCluster  # heavy, and of few tests

    wait = Client.wait_for_workers

    def wait_briefly(client: Client, count: int, timeout: float) -> None:
        assert timeout == 600
        wait(client, count, timeout=0.1)

    # patient while it connects, which a busy machine makes long
    monkeypatch.setattr(Client, "wait_for_workers", wait_briefly)
    with LocalCluster(n_workers=0, dashboard_address=":0") as empty:
        engine = Cluster(empty.scheduler_address, patience=600)
        with pytest.raises(EngineError, match="found a cluster without workers"):
            scorer.score_file(records, tmp_path / "out.csv", executor=engine)
    assert list(tmp_path.iterdir()) == []
