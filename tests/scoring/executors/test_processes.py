"""Real processes do the work of one: workers of this machine, and of clusters of Dask.

Each executor gives the bytes of one process for each job. What of it needs no process is held by
`test_portable.py` and `test_work.py`.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path

import attrs
import pytest
from distributed import LocalCluster
from scoring.executors.dask_cluster import started
from scoring.executors.jobs import JOBS, Inputs, files_of
from scoring.executors.tls import make_certificates, of_client, tls_of

import tallystick
from tallystick.errors import EngineError, InputError
from tallystick.io.sources import FileChunk
from tallystick.scoring.executors.cluster import Cluster
from tallystick.scoring.executors.local import Local
from tallystick.scoring.executors.portable import BoundRulesSpec
from tallystick.scoring.output import OUTPUT_FORMATS
from tallystick.scoring.run import PortableScoring, ScoringTask

pytestmark = pytest.mark.process

PATIENCE = 600
Files = dict[str, bytes]


@pytest.fixture(scope="module")
def inputs(
    scorer: tallystick.Scorer, records: Path, tmp_path_factory: pytest.TempPathFactory
) -> Inputs:
    return Inputs.of(scorer, records, tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def expected(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Files]:
    """The files of a job as this process makes them, once for all executors."""
    folder = tmp_path_factory.mktemp("here")
    return cache(lambda job: files_of(job, inputs, folder / job))


@pytest.fixture(scope="module")
def plain() -> Iterator[LocalCluster]:
    """A cluster of two workers."""
    with started(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The certificates of the cluster by TLS."""
    return make_certificates(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same names, by another authority."""
    return make_certificates(tmp_path_factory.mktemp("tls") / "foreign")


@pytest.fixture(scope="module")
def encrypted(ours: Path) -> Iterator[LocalCluster]:
    """A cluster of one worker, which takes TLS only."""
    with started(1, tls_of(ours)) as cluster:
        yield cluster


@pytest.fixture(params=["local", "cluster", "tls"])
def executor(request: pytest.FixtureRequest) -> Local | Cluster:
    if request.param == "local":
        return Local(2)
    if request.param == "cluster":
        return Cluster(request.getfixturevalue("plain").scheduler_address, patience=PATIENCE)
    certificates = of_client(request.getfixturevalue("ours"))
    address = request.getfixturevalue("encrypted").scheduler_address
    return Cluster(address, patience=PATIENCE, certificates=certificates)


@pytest.mark.parametrize("job", JOBS)
def test_the_files_are_those_of_one_process(
    inputs: Inputs,
    expected: Callable[[str], Files],
    executor: Local | Cluster,
    tmp_path: Path,
    job: str,
) -> None:
    calls: list[None] = []
    there = files_of(job, inputs, tmp_path / "there", executor, lambda: calls.append(None))
    assert there == expected(job)
    assert len(calls) > 5


def at_call(number: int, act: Callable[[], object]) -> Callable[[], None]:
    """A function that acts when it is called for the number-th time."""
    calls: list[None] = []

    def called() -> None:
        calls.append(None)
        if len(calls) == number:
            act()

    return called


def test_a_worker_of_a_cluster_that_is_killed_changes_no_byte(
    inputs: Inputs, expected: Callable[[str], Files], plain: LocalCluster, tmp_path: Path
) -> None:
    plain.scale(3)
    plain.wait_for_workers(3)
    executor = Cluster(plain.scheduler_address, patience=PATIENCE)
    job = "score to Parquet"
    kill = at_call(2, lambda: os.kill(plain.workers[2].pid, signal.SIGKILL))
    there = files_of(job, inputs, tmp_path / "there", executor, kill)
    assert there == expected(job)


def own_workers() -> list[BaseProcess]:
    """The processes that a run has begun; clusters have theirs."""
    return [each for each in active_children() if not each.name.startswith("Dask")]


def test_a_local_worker_that_is_killed_ends_the_run_and_leaves_nothing(
    inputs: Inputs, tmp_path: Path
) -> None:
    def kill() -> None:
        assert len(own_workers()) == 2
        for worker in own_workers():
            worker.kill()

    with pytest.raises(EngineError, match="a worker process was killed by signal 9"):
        files_of("score to CSV", inputs, tmp_path / "there", Local(2), at_call(2, kill))
    assert list((tmp_path / "there").iterdir()) == []
    assert own_workers() == []


class StoppedError(Exception):
    pass


def test_local_workers_end_with_a_run_that_its_caller_stops(inputs: Inputs, tmp_path: Path) -> None:
    def stop() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        files_of("score to CSV", inputs, tmp_path / "there", Local(1), at_call(2, stop))
    assert list((tmp_path / "there").iterdir()) == []
    assert own_workers() == []


@pytest.mark.parametrize("which", ["local", "cluster"])
def test_what_goes_wrong_in_a_worker_is_told_here(
    scorer: tallystick.Scorer, plain: LocalCluster, which: str
) -> None:
    executor = Local(1) if which == "local" else Cluster(plain.scheduler_address, patience=PATIENCE)
    worker = "" if which == "local" else r"worker tcp://\S+: "
    spec = BoundRulesSpec.of(scorer)
    stated = (("the engine tallystick", "0.0.1"),)
    other = attrs.evolve(spec, installation=attrs.evolve(spec.installation, certificate=stated))
    task = ScoringTask(FileChunk(Path("/nowhere/records.jsonl"), 0, 3, 1, 0))
    for of, kind, message in (
        (spec, InputError, r"/nowhere/records\.jsonl: no such file"),
        (other, EngineError, r"found the engine tallystick to be \S+, expected 0\.0\.1"),
    ):
        function = PortableScoring(of, OUTPUT_FORMATS["csv"])
        with pytest.raises(kind, match=f"^{worker}{message}"):
            list(executor.map(function, [task]))


def test_facts_are_found_by_workers_of_another_folder(
    inputs: Inputs,
    expected: Callable[[str], Files],
    plain: LocalCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(inputs.facts.parent)
    executor = Cluster(plain.scheduler_address, patience=PATIENCE)
    relative = attrs.evolve(inputs, facts=Path(inputs.facts.name))
    there = files_of("score facts", relative, tmp_path / "there", executor)
    assert there == expected("score facts")


@pytest.mark.parametrize(
    ("job", "address"),
    [
        *(("score to CSV", address) for address in ("nonsense", "tcp://", "udp://x:1", "")),
        *((job, "tcp://127.0.0.1:9") for job in ("score to CSV", "take facts", "back-test")),
    ],
)
def test_a_cluster_that_cannot_be_reached_is_told_and_nothing_is_left(
    inputs: Inputs, tmp_path: Path, job: str, address: str
) -> None:
    nowhere = Cluster(address, patience=0.1)
    with pytest.raises(EngineError, match=f"^{address}: the cluster cannot be reached"):
        files_of(job, inputs, tmp_path / "there", nowhere)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


def test_a_cluster_without_workers_is_told(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import Client  # heavy, and of few tests

    wait = Client.wait_for_workers

    def wait_briefly(client: Client, count: int, timeout: float) -> None:
        assert timeout == PATIENCE
        wait(client, count, timeout=0.1)

    # patient while it connects, which a busy machine makes long
    monkeypatch.setattr(Client, "wait_for_workers", wait_briefly)
    with started(0) as empty:
        executor = Cluster(empty.scheduler_address, patience=PATIENCE)
        with pytest.raises(EngineError, match="found a cluster without workers"):
            files_of("score to CSV", inputs, tmp_path / "there", executor)
    assert list((tmp_path / "there").iterdir()) == []


def test_who_has_no_certificate_of_the_authority_is_refused(
    encrypted: LocalCluster, ours: Path, foreign: Path
) -> None:
    theirs = {"certificate": foreign / "client.pem", "key": foreign / "client.key"}
    address = encrypted.scheduler_address
    refusals = (
        (address, of_client(ours, **theirs), "TLS.*signed by the same authority"),
        (address, of_client(foreign), "TLS certificate does not match.*same authority"),
        (address.replace("tls:", "tcp:"), None, "or tls://host:8786 where it takes no other"),
    )
    for of, certificates, message in refusals:
        executor = Cluster(of, patience=PATIENCE, certificates=certificates)
        with pytest.raises(EngineError, match=f"the cluster cannot be reached .*{message}"):
            list(executor.map(abs, [-1]))
