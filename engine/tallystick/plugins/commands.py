"""Commands that plugins bring: rows of data, which help and completion read without their code.

A plugin offers one `CommandRows` in the entry-point group ``tallystick.commands``. The module that
holds it declares ``tallystick_api`` and imports nothing heavy: it is imported for every command,
for help and for completion. What a row names by ``module:attribute`` is imported when the command
runs, or the option is given.

A row of the engine's own distribution wins over one of a stranger. Of two strangers that bring one
command neither is used, as which of them ran would depend on the order of a folder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import EntryPoint
from typing import NamedTuple, TypeAlias

from tallystick.plugins.entries import (
    IMPORT_FAILED,
    PROJECT,
    Extensions,
    RefusedPluginError,
    code_of_strangers,
    damaged_distributions,
    is_own,
)

GROUP = "tallystick.commands"
"""The entry-point group."""
SOURCE, INPUT, VALUE = "source", "input", "value"
"""Kinds of options: another source of the rules that score; another input in place of a command's
own; and a value that the home of such an input reads."""
NESTED_GROUPS = ("plugins", "records", "rules")
"""Groups of the core that have commands of plugins."""
HEADINGS = ("score", "state", "govern", "verify", "write")
"""Headings of the commands in ``tallystick --help``, in their order."""
OTHER_HEADING = "plugins"
"""Heading of the commands whose rows name none; the last."""
WRONG_ROW = "wrong-row"
"""Code of the refusal of rows that have another form."""

Path: TypeAlias = tuple[str, ...]
"""The words of a command, such as ``("rules", "lint")``."""
Place: TypeAlias = tuple[Path, str]
"""The words of a command, and the flag of an option of it; else an empty text."""


# named tuples and not attrs: help imports them, and to import attrs takes longer than all of help
class Command(NamedTuple):
    """A command.

    >>> Command(("hail",), "acme_hail:hail", "Greet a validator.").heading
    'plugins'

    Attributes:
        path: its words; one word, or one below a group of `NESTED_GROUPS`.
        home: where the command of click is, as ``module:attribute``.
        sentence: what the help of its group says of it.
        example: the command line that the help of its group shows; empty for none.
        heading: a word under which ``tallystick --help`` lists a command of one word: one of
            `HEADINGS`, or the plugin's own.
    """

    path: Path
    home: str
    sentence: str
    example: str = ""
    heading: str = OTHER_HEADING

    @property
    def place(self) -> Place:
        """The words of the command, and no flag."""
        return self.path, ""


class CommandOption(NamedTuple):
    """An option of a command that plugins may extend.

    Attributes:
        command: the words of the command.
        flag: the name of the option, such as ``--state``.
        metavar: what stands for its value in help.
        help: what help says of it.
        kind: `SOURCE`, `INPUT` or `VALUE`.
        home: the function that acts on a value, as ``module:attribute``; see the kinds in
            `tallystick.cli.plugin_options`. Empty of a `VALUE`.
        paragraph: how the help of the command goes on; empty for nothing.
        example: the command line that the help of the command shows; empty for none.
    """

    command: Path
    flag: str
    metavar: str
    help: str
    kind: str
    home: str = ""
    paragraph: str = ""
    example: str = ""

    @property
    def place(self) -> Place:
        """The words of the command, and the flag."""
        return self.command, self.flag


class SettingRow(NamedTuple):
    """A key of ``tallystick.toml`` that options of a plugin's own commands read.

    Attributes:
        key: the name in the file, whose value is a text.
        is_path: whether a relative value that is no URL is relative to the folder of the file.
    """

    key: str
    is_path: bool = False


class CommandRows(NamedTuple):
    """The commands, the options of other commands, and the settings that a plugin brings."""

    commands: tuple[Command, ...] = ()
    options: tuple[CommandOption, ...] = ()
    settings: tuple[SettingRow, ...] = ()


class CommandTable:
    """The rows of the engine and of plugins, by the words of the commands.

    Attributes:
        settings: the keys of a settings file, and whether the value of each is a path.
        refused: why plugins, or some of their rows, are not used, by the names of the plugins.
    """

    def __init__(self, core: CommandRows, plugins: Extensions[CommandRows]) -> None:
        """Import the modules of the rows, and none that a row names.

        Args:
            core: the rows of the engine itself.
            plugins: those that distributions offer.
        """
        usable, self.refused = plugins.loaded()
        self.settings: dict[str, bool] = {}
        self._own = {PROJECT, *filter(plugins.is_own, usable)}
        self._used: dict[Place, tuple[str, Command | CommandOption]] = {}
        offers: dict[Place, dict[str, Command | CommandOption]] = {}
        # nobody can take the name of the engine, whose own come first
        for owner, rows in {**usable, PROJECT: core}.items():
            every: tuple[Command | CommandOption, ...] = (*rows.commands, *rows.options)
            for row in every:
                offers.setdefault(row.place, {})[owner] = row
            self.settings = {**dict(rows.settings), **self.settings}
        for place, rivals in offers.items():
            winners = [owner for owner in rivals if self.is_own(owner)] or [*rivals]
            if len(winners) == 1:
                self._used[place] = winners[0], rivals[winners[0]]
            for owner in rivals if len(rivals) > 1 else ():
                if winners != [owner]:
                    why = [self.refused.get(owner, ""), _doubled(place, rivals, winners)]
                    self.refused[owner] = "; ".join(filter(None, why))

    def is_own(self, owner: str) -> bool:
        """Return whether rows are of the engine, or of a plugin of its own distribution."""
        return owner in self._own

    def find(self, path: Path) -> tuple[str, Command] | None:
        """Return the command of some words, with the plugin that brings it; None without one."""
        owner, row = self._used.get((path, ""), ("", None))
        return (owner, row) if isinstance(row, Command) else None

    def below(self, path: Path) -> dict[str, Command]:
        """Return the commands directly below a group, by their last word, in order."""
        rows = (row for _, row in self._used.values())
        commands = (row for row in rows if isinstance(row, Command) and row.path[:-1] == path)
        return {row.path[-1]: row for row in sorted(commands)}

    def options(self) -> Iterator[tuple[str, CommandOption]]:
        """Yield each option with its plugin."""
        for owner, row in self._used.values():
            if isinstance(row, CommandOption):
                yield owner, row

    def objections(self) -> list[str]:
        """Return why plugins that may have a command are not used, each by its name."""
        others = {**self.refused, **damaged_distributions()}
        return [f"plugin {name!r}: {why}" for name, why in others.items()]


def _doubled(place: Place, rivals: Collection[str], winners: Sequence[str]) -> str:
    """Return why rows of one place are not used."""
    words, flag = place
    what = f"option {flag} of {' '.join(words)}" if flag else f"command {' '.join(words)!r}"
    names = " and ".join(map(repr, sorted(rivals)))
    which = f"only that of {winners[0]!r}" if len(winners) == 1 else "none"
    return f"the plugins {names} both offer the {what}, and {which} is used: uninstall one"


def value_of(name: str, home: str) -> object:
    """Return what a row of a plugin names, imported.

    Raises:
        PluginError: it cannot be imported.
    """
    with code_of_strangers(f"plugin {name!r}: the import of {home}", IMPORT_FAILED):
        value: object = EntryPoint(name, home, GROUP).load()
    return value


def check_rows(entry: EntryPoint, rows: CommandRows) -> None:
    """Refuse a stranger's rows that are none, as nothing checks their types.

    Raises:
        RefusedPluginError: one has another form.
    """
    if is_own(entry):
        return
    kinds: tuple[type[Command | CommandOption | SettingRow], ...] = (
        Command,
        CommandOption,
        SettingRow,
    )
    for values, kind in zip(rows, kinds, strict=True):
        if not isinstance(values, tuple):
            raise _wrong_row(f"{values!r}, expected a tuple of {kind.__name__}")
        for row in values:
            if not isinstance(row, kind):
                raise _wrong_row(f"the row {row!r}, expected a {kind.__name__}")
            for name, value in row._asdict().items():
                form = _FORMS.get(name, _TEXT)
                if not form.fits(value):
                    raise _wrong_row(f"the {name} {value!r}, expected {form.text}")


def _wrong_row(problem: str) -> RefusedPluginError:
    return RefusedPluginError(WRONG_ROW, f"found {problem}: fix the plugin, or uninstall it")


class _Form(NamedTuple):
    """The form of a value of a row: a pattern, what an error says of it, and the class.

    The pattern is that of the text of the value, of a tuple of its words with spaces between.
    """

    pattern: str
    text: str
    kind: type = str

    def fits(self, value: object) -> bool:
        text = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        return isinstance(value, self.kind) and re.fullmatch(self.pattern, text) is not None


_WORD, _DOTTED = "[a-z][a-z0-9]*(-[a-z0-9]+)*", r"[^\W\d]\w*(\.[^\W\d]\w*)*"
_LINE, _TEXT = _Form(r"[ \t]*\S.*", "one line"), _Form("(?s:.*)", "a text")
_FORMS: Mapping[str, _Form] = {
    "path": _Form(
        f"(({'|'.join(NESTED_GROUPS)}) )?{_WORD}",
        f"one word, or one below {', '.join(NESTED_GROUPS)}",
        tuple,
    ),
    "home": _Form(f"({_DOTTED}:{_DOTTED})?", "module:attribute"),
    "sentence": _LINE,
    "heading": _Form(_WORD, f"a word such as {', '.join(HEADINGS)}"),
    "command": _Form(f"{_WORD}( {_WORD})*", "its words", tuple),
    "flag": _Form(f"--{_WORD}", "one such as --state"),
    "help": _LINE,
    "kind": _Form(f"{SOURCE}|{INPUT}|{VALUE}", f"one of {SOURCE}, {INPUT}, {VALUE}"),
    "key": _Form("[a-z][a-z0-9]*([-_][a-z0-9]+)*", "such as state"),
    "is_path": _Form("True|False", "a bool", bool),
}
"""The forms of the values of a row by their names; another value is any text."""
