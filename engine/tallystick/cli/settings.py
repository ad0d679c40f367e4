"""Settings: options that the environment, or ``tallystick.toml``, can give.

What the command line says counts most, then the environment, then the file: that of ``--settings``,
or the one in the working folder. A relative path in it is relative to the folder that it stands in.
A file in the working folder that somebody else can write is passed over with a warning
(`tallystick.io.ownership`); one that is named counts.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tallystick.errors import InputError

if TYPE_CHECKING:
    from tallystick.io.ownership import FoundFile

_STEM = "tallystick"
FILE = f"{_STEM}.toml"
"""The name of the file."""
KEYS: Mapping[str, type] = {
    "lock": str,
    "locked": bool,
    "log_json": bool,
    "memory": str,
    "rules": str,
    "verbose": bool,
    "workers": int,
}
"""Keys of the core in a settings file, and the type of each; plugins bring others."""
OUTSIDE_FILES = ("cluster", "cluster_ca", "cluster_cert", "cluster_key")
"""Settings of the command line and the environment alone: a cluster runs code as the user."""
_KINDS = {str: "text", bool: "true or false", int: "a whole number"}
_LARGEST = 2**31 - 1
_LOG = logging.getLogger(__name__)
_NONE, _NAMED = f"{__name__}.none", f"{__name__}.named"
# a receipt, an error as JSON and the log name the file when no context of click is left
_IN_FORCE: ContextVar[Path | None] = ContextVar("settings file in force", default=None)


class Setting(click.Option):
    """An option that is also a setting; click's ``default_map`` has the value of the file.

    Args:
        declarations: as of ``click.Option``.
        key: the name in the file; in the environment it is ``TALLYSTICK_KEY``, in capitals.
        attributes: as of ``click.Option``.
    """

    def __init__(self, declarations: list[str], *, key: str, **attributes: Any) -> None:  # noqa: ANN401  # click's own
        # click's `auto_envvar_prefix` would name a variable after the command, and read one for
        # every other option, too
        super().__init__(
            declarations, envvar=f"TALLYSTICK_{key.upper()}", show_envvar=True, **attributes
        )
        self.key = key

    def value_from_envvar(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own
        """Return the value of the environment: one, also of an option that can be repeated.

        click would split a path at its spaces.
        """
        value = self.resolve_envvar_value(ctx)
        return [value] if self.multiple and value is not None else super().value_from_envvar(ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """Return the name of the option in an error: the key and the file of a setting."""
        source = ctx.get_parameter_source(self.name or "") if ctx is not None else None
        if source == ParameterSource.DEFAULT_MAP:
            return f"{self.key} in {_IN_FORCE.get()}"
        return super().get_error_hint(ctx)


def forget() -> None:
    """Forget the settings file of a run before in the same process."""
    _IN_FORCE.set(None)


def in_force() -> str | None:
    """Return the settings file of this run, relative to the working folder; None without one."""
    path = _IN_FORCE.get()
    return None if path is None else Path(os.path.relpath(path)).as_posix()


def tell_in_force() -> None:
    """Log which settings file counts, if one does."""
    if (name := in_force()) is not None:
        _LOG.info("read the settings", extra={"settings": name})


def options() -> list[click.Option]:
    """Return the options of every command that name a settings file, or leave it out."""
    shared: dict[str, Any] = {"is_eager": True, "expose_value": False, "show_envvar": True}
    return [
        click.Option(
            ["--no-settings"],
            is_flag=True,
            envvar=f"{_STEM.upper()}_NO_SETTINGS",
            callback=_leave_out,
            help=f"Read no {FILE}.",
            **shared,
        ),
        click.Option(
            ["--settings"],
            type=click.Path(path_type=Path),
            metavar="FILE",
            envvar=f"{_STEM.upper()}_SETTINGS",
            callback=_read,
            help=f"Read this file in place of {FILE}.",
            **shared,
        ),
    ]


def _leave_out(context: click.Context, _option: click.Parameter, is_left_out: bool) -> None:
    if is_left_out:
        context.meta[_NONE] = True
        context.default_map = None
        forget()


def _read(context: click.Context, _option: click.Parameter, path: Path | None) -> None:
    """Take the settings of a file as defaults of the command, unless they are left out.

    Raises:
        InputError: the file cannot be read, or has something else than settings.
    """
    if path is not None:
        context.meta[_NAMED] = path
    # a group reads none: the command that runs does, after its help was asked for
    if context.parent is None or context.meta.get(_NONE) or context.resilient_parsing:
        return
    from tallystick.io.documents import LARGEST  # as `in_working_folder`

    path = context.meta.get(_NAMED)
    file = in_working_folder(FILE, LARGEST + 1) if path is None else _named(path, LARGEST + 1)
    if file is None:
        return
    settings = _parsed(file)
    context.default_map = {
        option.name or "": [settings[option.key]] if option.multiple else settings[option.key]
        for option in context.command.params
        if isinstance(option, Setting) and option.key in settings
    }
    _IN_FORCE.set(file.path)
    tell_in_force()


def _named(path: Path, size: int) -> FoundFile:
    from tallystick.io.inputs import start_of
    from tallystick.io.ownership import FoundFile

    try:
        # without `..`, so that errors show the file as it is known
        return FoundFile(Path(os.path.abspath(path)), start_of(path, size))  # noqa: PTH100  # no link is followed
    except OSError as error:
        raise _unreadable(path, error) from error


def in_working_folder(name: str, size: int) -> FoundFile | None:
    """Return the file of a name in the working folder, if only the user writes it.

    One that somebody else can write is passed over with a warning.

    Args:
        name: of the file.
        size: most bytes that are read of it.

    Raises:
        InputError: it cannot be read.
    """
    from tallystick.io.ownership import look_up  # help needs none of it

    try:
        here = Path.cwd()
    except OSError:
        return None
    try:
        file = look_up(here, name, size)
    except OSError as error:
        raise _unreadable(here / name, error) from error
    if file is None or file.objection is None:
        return file
    _LOG.warning(
        "%s: ignored, as %s: give both to yourself or root and take the right to write from others "
        "(chmod go-w), or name the file by an option",
        *(file.path, file.objection),
    )
    return None


def _unreadable(path: Path, error: OSError) -> InputError:
    reason = (error.strerror or str(error)).lower()
    return InputError(f"{path}: cannot be read ({reason}): fix the file")


def _parsed(file: FoundFile) -> Mapping[str, Any]:
    from tallystick.io.documents import parse_toml  # where there is such a file

    path = file.path
    try:
        document = parse_toml(file.data)
    except ValueError as error:
        raise InputError(f"{path}: the settings cannot be read ({error}): fix the file") from error
    outside = [key for key in document if key in OUTSIDE_FILES]
    if outside:
        options = ", ".join(f"--{key.replace('_', '-')}" for key in outside)
        _LOG.warning(
            "%s: %s ignored in a file, as a cluster runs code in your name: give %s, or %s in the "
            "environment",
            *(path, _are(outside), options),
            ", ".join(f"{_STEM.upper()}_{key.upper()}" for key in outside),
        )
    settings = {key: value for key, value in document.items() if key not in outside}
    for key, value in settings.items():
        _check(path, key, value)
    return {key: _in_folder(path.parent, key, value) for key, value in settings.items()}


def _are(keys: Collection[str]) -> str:
    return f"{', '.join(keys)} {'is' if len(keys) == 1 else 'are'}"


def _check(path: Path, key: str, value: object) -> None:
    from tallystick.rules.findings import shown

    keys = {**KEYS} if key in KEYS else {**dict.fromkeys(_keys_of_plugins(), str), **KEYS}
    if key not in keys:
        expected = ", ".join(sorted(keys))
        raise InputError(f"{path}: found the key {shown(key)}, expected some of {expected}")
    kind = keys[key]
    is_large = type(value) is int and abs(value) > _LARGEST
    if type(value) is not kind or is_large:
        raise InputError(f"{path}: found {shown(value)} for {key}, expected {_KINDS[kind]}")


def _keys_of_plugins() -> Mapping[str, bool]:
    """Return the keys that plugins bring, and whether each is a path."""
    from tallystick.cli.rows import installed_commands  # where there is such a file

    return installed_commands().settings


def _in_folder(folder: Path, key: str, value: Any) -> Any:  # noqa: ANN401  # of any kind
    """Return a value; a relative path as it is from the working folder."""
    if key == "rules":
        is_path = value.endswith(".toml") or "/" in value.partition("@")[0]
    elif key == "lock":
        is_path = True
    else:
        is_path = key not in KEYS and _keys_of_plugins()[key] and "://" not in value
    if not is_path:
        return value
    path = os.path.expanduser(value)  # noqa: PTH111  # keeps a pin
    return path if folder == Path.cwd() else os.path.join(folder, path)  # noqa: PTH118  # as above
