"""Clusters of Dask: a scheduler in this process, and workers in processes of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from distributed import LocalCluster, Security


@contextmanager
def started(workers: int, tls: dict[str, str] | None = None) -> Iterator[LocalCluster]:
    """Start a cluster that knows its workers; with settings of TLS it takes nothing else."""
    security = Security(require_encryption=True, **tls) if tls else Security()
    options = {"threads_per_worker": 1, "memory_limit": 0, "dashboard_address": ":0"}
    with LocalCluster(n_workers=workers, security=security, **options) as cluster:
        yield cluster
