"""The command that repeats a result, as a report prints it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator

import click
from click.core import ParameterSource


def repeating_command(elsewhere: Collection[str]) -> str:
    """Return the command at hand with every option that was given.

    Args:
        elsewhere: the names of options that change no result. That of the output comes last.
    """
    context = click.get_current_context()
    words = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        # what says how the run is logged has no value here
        if not parameter.expose_value or name == "output" or name in elsewhere:
            continue
        if isinstance(parameter, click.Argument):
            words.append(str(context.params[name]))
        elif context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            words += _words(max(parameter.opts, key=len), context.params[name])
    return shlex.join([*words, "-o", str(context.params["output"])])


def _words(option: str, value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield from [option] if value else []
        return
    for item in value if isinstance(value, tuple) else (value,):
        yield from (option, str(item))
