"""Clusters of Dask whose every process is known, and is killed at the end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs

_PROGRAM = Path(__file__).with_name("dask_process.py")


@attrs.frozen
class DaskCluster:
    """A scheduler and its workers.

    Attributes:
        address: of the scheduler.
        tls: by the role, the settings of TLS; empty without.
        folder: where its processes run and log.
        processes: those that are ended with it.
    """

    address: str
    tls: dict[str, dict[str, str]]
    folder: Path
    processes: ExitStack

    @classmethod
    @contextmanager
    def started(
        cls, folder: Path, workers: int, tls: dict[str, dict[str, str]] | None = None
    ) -> Iterator[DaskCluster]:
        """A scheduler, and some workers that it knows."""
        with ExitStack() as processes:
            of_scheduler = (tls or {}).get("scheduler")
            _, address = _started(processes, folder, kind="scheduler", tls=of_scheduler)
            cluster = cls(address, tls or {}, folder, processes)
            for _ in range(workers):
                cluster.add_worker()
            yield cluster

    def add_worker(self) -> subprocess.Popen[str]:
        """Start a worker; return its process once the scheduler knows it."""
        process, _ = _started(
            self.processes,
            self.folder,
            kind="worker",
            scheduler=self.address,
            tls=self.tls.get("worker"),
        )
        return process


def _started(
    processes: ExitStack,
    folder: Path,
    **settings: Any,  # noqa: ANN401  # JSON values
) -> tuple[subprocess.Popen[str], str]:
    """Start a process; return it with its address, which it prints when it can be connected to."""
    log = processes.enter_context((folder / "dask.log").open("ab"))
    process = processes.enter_context(
        subprocess.Popen(
            [sys.executable, _PROGRAM, json.dumps(settings)],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    )
    # before its end is waited for; there is nothing that it would have to clean up
    processes.callback(process.kill)
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert address, (folder / "dask.log").read_text("utf-8")
    return process, address
