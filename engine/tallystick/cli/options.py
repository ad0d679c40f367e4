"""Options that several commands share, each declared once.

An option of one command stands beside that command; those that hold a command to a lock are in
`tallystick.cli.locked`, and those that plugins bring in `tallystick.cli.plugin_options`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click
from click.core import ParameterSource

from tallystick.cli.settings import Setting

if TYPE_CHECKING:
    from tallystick.scoring.executors.executor import Executor

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
"""A decorator that adds options to a command."""

PATH = click.Path(path_type=Path)
"""The type of an argument or option that names a file or folder."""
RULES_HELP = "name@version, a path or a digest; pin one with @sha256:…."
"""Help of the option that names a rule set."""

follow_links_option = click.option(
    "--follow-links",
    is_flag=True,
    help="Allow an output whose name is a link; its target is written.",
)
"""The option of every command that writes a file."""
markdown_option = click.option("--markdown", is_flag=True, help="Print Markdown for a proposal.")
"""The option of commands about rule sets whose text can stand in a proposal."""


def one_argument(
    name: str,
    value: Callable[..., Any],
    options: Mapping[str, Decorator],
) -> Decorator:
    """Return a decorator that gives a command options as one argument.

    Args:
        name: of the argument.
        value: makes the argument of the values of the options.
        options: by the names of their values, in their order; one may be such a decorator itself.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_argument(*arguments: Any, **others: Any) -> Any:  # noqa: ANN401  # any options
            values = [others.pop(option) for option in options]
            return command(*arguments, **{name: value(*values)}, **others)

        decorated: Callable[..., Any] = with_argument
        for option in reversed([*options.values()]):
            decorated = option(decorated)
        return decorated

    return decorate


def rules_option(more: str = "", **attributes: Any) -> Decorator:  # noqa: ANN401  # click's own
    """Return the option that names a rule set, or several where ``multiple`` is set.

    Args:
        more: a sentence after the help of every such option.
        attributes: as of ``click.option``.
    """
    name = "references" if attributes.get("multiple") else "reference"
    help_text = f"{RULES_HELP} {more}".rstrip()
    defaults: dict[str, Any] = {
        "cls": Setting,
        "key": "rules",
        "metavar": "RULES",
        "help": help_text,
    }
    return click.option("--rules", name, **{**defaults, **attributes})


def output_option(
    description: str, *, required: bool = True, metavar: str | None = None
) -> Decorator:
    """Return the option that names the output of a command.

    Args:
        description: its help.
        required: whether the command needs it.
        metavar: the word for its value in help.
    """
    return click.option(
        "-o", "--output", required=required, type=PATH, metavar=metavar, help=description
    )


def rejects_option(inputs: str) -> Decorator:
    """Return the option that names the file of rejected inputs, such as records."""
    return click.option(
        "--rejects",
        type=PATH,
        help=f"Where rejected {inputs} go; by default OUTPUT.rejects.jsonl.",
    )


def number_option(
    name: str, default: int, description: str, *, least: int = 1, most: int | None = None
) -> Decorator:
    """Return the option of a whole number that has a default.

    Args:
        name: of the option, without its dashes.
        default: its value where it is not given.
        description: its help.
        least: the smallest value.
        most: the largest value; None for any.
    """
    return click.option(
        f"--{name}",
        type=click.IntRange(least, most),
        default=default,
        show_default=True,
        metavar="N",
        help=description,
    )


def last_option(items: str) -> Decorator:
    """Return the option that limits a list to its last items, such as epochs."""
    return click.option(
        "--last", type=click.IntRange(1), metavar="N", help=f"Only the last N {items}."
    )


def _certificate_option(name: str, description: str) -> Decorator:
    return click.option(
        f"--{name}",
        cls=Setting,
        key=name.replace("-", "_"),
        type=PATH,
        metavar="FILE",
        help=description,
    )


_EXECUTOR_OPTIONS: Mapping[str, Decorator] = {
    "workers": click.option(
        "--workers",
        cls=Setting,
        key="workers",
        type=click.IntRange(1, 1024),
        default=1,
        show_default=True,
        metavar="N",
        help="Work in N processes; the files are the same.",
    ),
    "cluster": click.option(
        "--cluster",
        cls=Setting,
        key="cluster",
        metavar="ADDRESS",
        help="Work on a Dask cluster, such as tls://host:8786; the files are the same.",
    ),
    "cluster_ca": _certificate_option(
        "cluster-ca", "The certificate that signed those of the cluster, for TLS."
    ),
    "cluster_cert": _certificate_option(
        "cluster-cert", "The certificate that this client shows, signed by the same."
    ),
    "cluster_key": _certificate_option(
        "cluster-key", "The key of that certificate, without a passphrase."
    ),
}
EXECUTOR_NAMES = tuple(_EXECUTOR_OPTIONS)
"""Names of the executor options as arguments."""
_PRECEDENCE = (
    ParameterSource.DEFAULT,
    ParameterSource.DEFAULT_MAP,
    ParameterSource.ENVIRONMENT,
    ParameterSource.COMMANDLINE,
)
"""Sources of a value, by rising precedence."""


def executor_of(
    workers: int,
    cluster: str | None,
    authority: Path | None = None,
    certificate: Path | None = None,
    key: Path | None = None,
) -> Executor:
    """Return the executor that the options name; of two, the one of the higher precedence."""
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
    """Return the precedence of the source of a value; the same for all without a command line."""
    context = click.get_current_context(silent=True)
    source = None if context is None else context.get_parameter_source(option)
    return _PRECEDENCE.index(source or ParameterSource.DEFAULT)


executor_options = one_argument("executor", executor_of, _EXECUTOR_OPTIONS)
"""The options that say who does the work of a command."""
