"""Many small pieces of one file, and what one process makes of them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from generators import SKILL_TYPES, lines

import tallystick
from tallystick.io import chunks

if TYPE_CHECKING:
    from distributed import LocalCluster

SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of some twenty records, which is decided by who cuts."""
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 20_000)


@pytest.fixture(scope="session")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """600 records, of which some are rejected; epochs rise."""
    found = []
    for number, line in enumerate(lines(51, 600, SKILLS)):
        record = json.loads(line) | {"epoch": number // 10}
        found.append(b"{}" if number % 97 == 5 else json.dumps(record).encode())
    path = tmp_path_factory.mktemp("records") / "records.jsonl"
    path.write_bytes(b"\n".join(found))
    return path


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """A Dask cluster of two worker processes, started once."""
    with _two_workers() as found:
        yield found


@pytest.fixture
def mortal() -> Iterator[LocalCluster]:
    """The same for one test, which kills a worker: Dask does not always start another."""
    with _two_workers() as found:
        yield found


@contextmanager
def _two_workers() -> Iterator[LocalCluster]:
    """Start a cluster of two worker processes, and end it within a minute.

    Dask has waited without end for its own scheduler to close. The processes are killed then.
    """
    from distributed import LocalCluster, Status  # heavy, and of few tests

    found = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    try:
        yield found
    finally:
        workers = [nanny.pid for nanny in found.workers.values() if nanny.pid is not None]
        try:
            found.close(timeout=60)
        except TimeoutError:
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
            # else it would be closed again, and waited for, as the session ends
            found.status = Status.closed


@pytest.fixture(scope="session")
def scorer(scorers: dict[str, tallystick.Scorer]) -> tallystick.Scorer:
    return scorers["skills@1.0.0"]
