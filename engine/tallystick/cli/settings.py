"""Settings: options that the environment, or the nearest ``tallystick.toml``, can give.

What the command line says counts most, then the environment, then the file. It is looked for in the
working folder and upwards; a relative path in it is relative to the folder that it stands in.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from tallystick.errors import InputError

_STEM = "tallystick"
FILE = f"{_STEM}.toml"
"""The name of the file."""
KEYS: Mapping[str, type] = {
    "cluster": str,
    "cluster_ca": str,
    "cluster_cert": str,
    "cluster_key": str,
    "lock": str,
    "locked": bool,
    "log_json": bool,
    "rules": str,
    "state": str,
    "verbose": bool,
    "workers": int,
}
"""The settings, and what each is."""
_FILES = ("cluster_ca", "cluster_cert", "cluster_key", "lock")
_KINDS = {str: "text", bool: "true or false", int: "a whole number"}
_LARGEST = 2**31 - 1


class Setting(click.Option):
    """An option that is also a setting.

    Args:
        declarations: as of ``click.Option``.
        key: the name in the file; in the environment it is ``TALLYSTICK_KEY``, in capitals.
        attributes: as of ``click.Option``.
    """

    def __init__(self, declarations: list[str], *, key: str, **attributes: Any) -> None:  # noqa: ANN401  # click's own
        super().__init__(
            declarations, envvar=f"TALLYSTICK_{key.upper()}", show_envvar=True, **attributes
        )
        self.key = key

    def consume_value(
        self, ctx: click.Context, opts: Mapping[str, Any]
    ) -> tuple[Any, ParameterSource]:
        """The value, and where it is from."""
        value, source = super().consume_value(ctx, opts)
        # the command that runs asks for the file, after its help was asked for
        runs = ctx.parent is not None
        if runs and source == ParameterSource.DEFAULT and self.key in (found := of_file(ctx)):
            value, source = found[self.key], ParameterSource.DEFAULT_MAP
            value = [value] if self.multiple else value
        return value, source

    def value_from_envvar(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own
        """The value that the environment gives: one, also where there may be several."""
        value = self.resolve_envvar_value(ctx)
        return [value] if self.multiple and value is not None else super().value_from_envvar(ctx)

    def get_error_hint(self, ctx: click.Context | None) -> str:
        """What an error calls the option: where its value is from."""
        source = ctx.get_parameter_source(self.name or "") if ctx is not None else None
        if source == ParameterSource.DEFAULT_MAP:
            return f"{self.key} in {nearest()}"
        return super().get_error_hint(ctx)


def of_file(context: click.Context) -> Mapping[str, Any]:
    """The settings of the nearest file, read once for a run; none where there is no file.

    Raises:
        InputError: the file cannot be read, or says something else than settings.
    """
    found: Mapping[str, Any] | None = context.meta.get(__name__)
    if found is None:
        path = nearest()
        found = context.meta[__name__] = {} if path is None else read(path)
    return found


def nearest(name: str = FILE) -> Path | None:
    """The file of a name in the working folder, or in the nearest folder above that has one."""
    try:
        here = Path.cwd()
    except OSError:
        return None
    return next((p for folder in (here, *here.parents) if (p := folder / name).is_file()), None)


def read(path: Path) -> Mapping[str, Any]:
    """The settings of a file.

    Raises:
        InputError: the file cannot be read, or says something else than settings.
    """
    from tallystick.io.documents import read_toml  # noqa: PLC0415  # where there is such a file

    try:
        document = read_toml(path)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: the settings cannot be read ({error}): fix the file") from error
    for key, value in document.items():
        _check(path, key, value)
    return {key: _in_folder(path.parent, key, value) for key, value in document.items()}


def _check(path: Path, key: str, value: object) -> None:
    from tallystick.rules.findings import shown  # noqa: PLC0415  # as above

    if key not in KEYS:
        raise InputError(f"{path}: found the key {shown(key)}, expected some of {', '.join(KEYS)}")
    kind = KEYS[key]
    is_large = type(value) is int and abs(value) > _LARGEST
    if type(value) is not kind or is_large:
        raise InputError(f"{path}: found {shown(value)} for {key}, expected {_KINDS[kind]}")


def _in_folder(folder: Path, key: str, value: Any) -> Any:  # noqa: ANN401  # of any kind
    """A value; a relative path as it is from the working folder."""
    is_path = key in _FILES or (key == "state" and "://" not in value)
    is_file = key == "rules" and (value.endswith(".toml") or "/" in value.partition("@")[0])
    if not (is_path or is_file):
        return value
    named = os.path.expanduser(value)  # noqa: PTH111  # keeps a pin
    return named if folder == Path.cwd() else os.path.join(folder, named)  # noqa: PTH118  # as above
