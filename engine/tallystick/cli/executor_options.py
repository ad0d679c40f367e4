"""Options that say who does long work: this process, several, or a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tallystick.cli.settings import Setting

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor

workers_option = click.option(
    "--workers",
    cls=Setting,
    key="workers",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="N",
    help="Work in N processes; the files are the same.",
)
"""The option for several processes."""
cluster_option = click.option(
    "--cluster",
    cls=Setting,
    key="cluster",
    metavar="ADDRESS",
    help="Work on a Dask cluster, such as tcp://host:8786; the files are the same.",
)
"""The option for several machines."""
_STRENGTH = (
    ParameterSource.DEFAULT,
    ParameterSource.DEFAULT_MAP,
    ParameterSource.ENVIRONMENT,
    ParameterSource.COMMANDLINE,
)
"""Where the value of an option is from, what counts most at the end."""


def executor_of(workers: int, cluster: str | None) -> Executor:
    """Who does the work, as the options ask; of two, the one that is said where it counts more."""
    if cluster is not None:
        by = _strength("workers") - _strength("cluster")
        if by > 0:
            cluster = None
        elif by == 0 and workers > 1:
            raise click.UsageError("found --workers and --cluster, expected one of them")
    if cluster is not None:
        from tallystick.scoring.executors.cluster import Cluster  # noqa: PLC0415  # when asked for

        return Cluster(cluster)
    if workers > 1:
        from tallystick.scoring.executors.local import Local  # noqa: PLC0415  # as above

        return Local(workers)
    from tallystick.scoring.executors.executor import InProcess  # noqa: PLC0415  # as above

    return InProcess()


def _strength(option: str) -> int:
    """How much a value counts; the same for all where no command line was read."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(option)
    return _STRENGTH.index(source or ParameterSource.DEFAULT)
