"""Real processes do the work of one: workers of this machine, and of clusters of Dask.

Each executor gives the bytes of one process for each job. What of it needs no process is held by
`test_portable.py` and `test_work.py`.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing import active_children
from pathlib import Path

import attrs
import pytest
from scoring.executors.dask_cluster import DaskCluster
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
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A cluster of two workers."""
    with DaskCluster.started(tmp_path_factory.mktemp("plain"), 2) as cluster:
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
def encrypted(ours: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    """A cluster of one worker, which takes TLS only."""
    with DaskCluster.started(tmp_path_factory.mktemp("encrypted"), 1, tls_of(ours)) as cluster:
        yield cluster


@pytest.fixture(params=["local", "cluster", "tls"])
def executor(request: pytest.FixtureRequest) -> Local | Cluster:
    if request.param == "local":
        return Local(2)
    if request.param == "cluster":
        return Cluster(request.getfixturevalue("plain").address, patience=PATIENCE)
    certificates = of_client(request.getfixturevalue("ours"))
    address = request.getfixturevalue("encrypted").address
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
    inputs: Inputs, expected: Callable[[str], Files], plain: DaskCluster, tmp_path: Path
) -> None:
    killed = plain.add_worker()
    executor = Cluster(plain.address, patience=PATIENCE)
    job = "score to Parquet"
    there = files_of(job, inputs, tmp_path / "there", executor, at_call(2, killed.kill))
    assert killed.wait() == -signal.SIGKILL
    assert there == expected(job)


def test_a_local_worker_that_is_killed_ends_the_run_and_leaves_nothing(
    inputs: Inputs, tmp_path: Path
) -> None:
    def kill() -> None:
        assert len(active_children()) == 2
        for worker in active_children():
            worker.kill()

    with pytest.raises(EngineError, match="a worker process was killed by signal 9"):
        files_of("score to CSV", inputs, tmp_path / "there", Local(2), at_call(2, kill))
    assert list((tmp_path / "there").iterdir()) == []
    assert active_children() == []


class StoppedError(Exception):
    pass


def test_local_workers_end_with_a_run_that_its_caller_stops(inputs: Inputs, tmp_path: Path) -> None:
    def stop() -> None:
        raise StoppedError

    with pytest.raises(StoppedError):
        files_of("score to CSV", inputs, tmp_path / "there", Local(1), at_call(2, stop))
    assert list((tmp_path / "there").iterdir()) == []
    assert active_children() == []


@pytest.mark.parametrize("which", ["local", "cluster"])
def test_what_goes_wrong_in_a_worker_is_told_here(
    scorer: tallystick.Scorer, plain: DaskCluster, which: str
) -> None:
    executor = Local(1) if which == "local" else Cluster(plain.address, patience=PATIENCE)
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
    plain: DaskCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(inputs.facts.parent)
    executor = Cluster(plain.address, patience=PATIENCE)
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
    with DaskCluster.started(tmp_path, 0) as empty:
        executor = Cluster(empty.address, patience=PATIENCE)
        with pytest.raises(EngineError, match="found a cluster without workers"):
            files_of("score to CSV", inputs, tmp_path / "there", executor)
    assert list((tmp_path / "there").iterdir()) == []


def test_who_has_no_certificate_of_the_authority_is_refused(
    encrypted: DaskCluster, ours: Path, foreign: Path
) -> None:
    theirs = {"certificate": foreign / "client.pem", "key": foreign / "client.key"}
    clear = encrypted.address.replace("tls://", "tcp://")
    refusals = (
        (encrypted.address, of_client(ours, **theirs), "TLS.*signed by the same authority"),
        (encrypted.address, of_client(foreign), "TLS certificate does not match.*same authority"),
        (clear, None, "or tls://host:8786 where it takes no other connections"),
    )
    for address, certificates, message in refusals:
        executor = Cluster(address, patience=PATIENCE, certificates=certificates)
        with pytest.raises(EngineError, match=f"the cluster cannot be reached .*{message}"):
            list(executor.map(abs, [-1]))
