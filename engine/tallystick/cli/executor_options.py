"""Options that say who does long work: this process, several, or a cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from tallystick.cli.settings import Setting

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor

_Result = TypeVar("_Result")


def _file_option(name: str, description: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    return click.option(
        f"--{name}",
        cls=Setting,
        key=name.replace("-", "_"),
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=description,
    )


_OPTIONS = (
    click.option(
        "--workers",
        cls=Setting,
        key="workers",
        type=click.IntRange(1, 1024),
        default=1,
        show_default=True,
        metavar="N",
        help="Work in N processes; the files are the same.",
    ),
    click.option(
        "--cluster",
        cls=Setting,
        key="cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster, such as tls://host:8786; the files are the same.",
    ),
    _file_option("cluster-ca", "The certificate that signed those of the cluster, for TLS."),
    _file_option("cluster-cert", "The certificate that this client shows, signed by the same."),
    _file_option("cluster-key", "The key of that certificate, without a passphrase."),
)
OPTION_NAMES = ("workers", "cluster", "cluster_ca", "cluster_cert", "cluster_key")
"""What the options are called as arguments."""
_STRENGTH = (
    ParameterSource.DEFAULT,
    ParameterSource.DEFAULT_MAP,
    ParameterSource.ENVIRONMENT,
    ParameterSource.COMMANDLINE,
)
"""Where the value of an option is from, what counts most at the end."""


def executor_options(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Give a command the options that say who does its work, as the one argument ``executor``."""

    @wraps(command)
    def with_executor(*arguments: Any, **options: Any) -> _Result:  # noqa: ANN401  # any options
        given = [options.pop(name) for name in OPTION_NAMES]
        return command(*arguments, executor=executor_of(*given), **options)

    for option in reversed(_OPTIONS):
        option(with_executor)
    return with_executor


def executor_of(
    workers: int,
    cluster: str | None,
    authority: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
) -> Executor:
    """Who does the work, as the options ask; of two, the one that is said where it counts more."""
    if cluster is not None:
        by = _strength("workers") - _strength("cluster")
        if by > 0:
            cluster = None
        elif by == 0 and workers > 1:
            raise click.UsageError("found --workers and --cluster, expected one of them")
    if cluster is not None:
        from tallystick.scoring.executors.certificates import Certificates
        from tallystick.scoring.executors.cluster import Cluster  # when asked for

        if authority is None and certificate is None and key is None:
            return Cluster(cluster)
        if authority is None or certificate is None or key is None:
            raise click.UsageError(
                "found a part of --cluster-ca, --cluster-cert and --cluster-key, expected all three"
            )
        return Cluster(cluster, certificates=Certificates(authority, certificate, key))
    if workers > 1:
        from tallystick.scoring.executors.local import Local

        return Local(workers)
    from tallystick.scoring.executors.executor import InProcess

    return InProcess()


def _strength(option: str) -> int:
    """How much a value counts; the same for all where no command line was read."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(option)
    return _STRENGTH.index(source or ParameterSource.DEFAULT)
