"""Commands that plugins bring: rows of data, which help and completion read without their code.

A plugin offers one `CommandRows` in the entry-point group ``tallystick.commands``. The module that
holds it declares ``tallystick_api`` and imports nothing heavy: it is imported for every command,
for help and for completion. What a row names by ``module:attribute`` is imported when the command
runs, or the option is given.

A row of the engine's own distribution wins over one of a stranger. Of two strangers that bring one
command neither is used, as which of them ran would depend on the order of a folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stdout
from importlib.metadata import EntryPoint
from typing import NamedTuple, TypeAlias, TypeVar

from tallystick.errors import PluginError
from tallystick.plugins.entries import (
    PROJECT,
    Extensions,
    RefusedPluginError,
    damaged_distributions,
    failure,
)

GROUP = "tallystick.commands"
"""The entry-point group."""
SOURCE, SECOND_PASS, INPUT, VALUE = "source", "second-pass", "input", "value"
"""Kinds of options: another source of the rules that score; a second pass over the input; another
input in place of a command's own; and a value that the home of another option reads."""
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

_Row = TypeVar("_Row", "Command", "CommandOption", "SettingRow")
_Offered = TypeVar("_Offered", "Command", "CommandOption")
_KINDS = (SOURCE, SECOND_PASS, INPUT, VALUE)
_PARENTS = tuple((group,) for group in NESTED_GROUPS)


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
        below: the names of the commands of a group, which completion offers.
        heading: a word under which ``tallystick --help`` lists a command of one word: one of
            `HEADINGS`, or the plugin's own.
    """

    path: Path
    home: str
    sentence: str
    example: str = ""
    below: tuple[str, ...] = ()
    heading: str = OTHER_HEADING


class CommandOption(NamedTuple):
    """An option of a command that plugins may extend.

    Attributes:
        command: the words of the command.
        flag: the name of the option, such as ``--state``.
        metavar: what stands for its value in help.
        help: what help says of it.
        kind: `SOURCE`, `SECOND_PASS`, `INPUT` or `VALUE`.
        home: the function that acts on a value, as ``module:attribute``; see the kinds in
            `tallystick.cli.plugin_options`.
        after: the flag of the command behind which help shows it; by default at the end.
        paragraph: how the help of the command goes on; empty for nothing.
        example: the command line that the help of the command shows; empty for none.
    """

    command: Path
    flag: str
    metavar: str
    help: str
    kind: str
    home: str
    after: str = ""
    paragraph: str = ""
    example: str = ""


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
    """

    def __init__(self, core: CommandRows, plugins: Extensions[CommandRows]) -> None:
        """Import the modules of the rows, and none that a row names.

        Args:
            core: the rows of the engine itself.
            plugins: those that distributions offer.
        """
        self._unusable = dict(plugins.refused())
        every = [(PROJECT, True, core)]
        every += [(name, plugins.is_own(name), rows) for name, rows in plugins.usable()]
        commands = [(name, own, row) for name, own, rows in every for row in rows.commands]
        options = [(name, own, row) for name, own, rows in every for row in rows.options]
        self._commands, self._doubled = _settled(
            commands, lambda row: f"command {' '.join(row.path)!r}"
        )
        self._options, self._doubled_options = _settled(
            options, lambda row: f"option {row.flag} of {' '.join(row.command)}"
        )
        self.settings: dict[str, bool] = {}
        for _, is_own, rows in every:
            for setting in rows.settings:
                # a key of the engine's own stays as it is
                if is_own or setting.key not in self.settings:
                    self.settings[setting.key] = setting.is_path

    def find(self, path: Path) -> tuple[str, Command] | None:
        """Return the command of some words, with the plugin that brings it; None without one."""
        found = ((name, row) for name, _, row in self._commands if row.path == path)
        return next(found, None)

    def below(self, path: Path) -> dict[str, Command]:
        """Return the commands directly below a group, by their last word, in order."""
        rows = {row.path[-1]: row for _, _, row in self._commands if row.path[:-1] == path}
        return dict(sorted(rows.items()))

    def options(self, path: Path) -> Iterator[tuple[str, CommandOption]]:
        """Yield the options of a command, each with the plugin that brings it."""
        return ((name, row) for name, _, row in self._options if row.command == path)

    def options_of_strangers(self) -> Iterator[tuple[str, CommandOption]]:
        """Yield each option that no plugin of the engine's own brings, with its plugin."""
        return ((name, row) for name, is_own, row in self._options if not is_own)

    def objections(self, path: Path) -> list[str]:
        """Return why plugins that have, or may have, a command are not used, each by its name."""
        doubled = (why for _, row, why in self._doubled if row[0] == path)
        others = {**self._unusable, **damaged_distributions()}
        return [
            *dict.fromkeys(doubled),
            *(f"plugin {name!r}: {why}" for name, why in others.items()),
        ]

    def refused(self) -> Mapping[str, str]:
        """Return why plugins, or some of their rows, are not used."""
        reasons: dict[str, list[str]] = {name: [why] for name, why in self._unusable.items()}
        for name, _, why in (*self._doubled, *self._doubled_options):
            reasons.setdefault(name, []).append(why)
        return {name: "; ".join(texts) for name, texts in reasons.items()}


def _settled(
    rows: Iterable[tuple[str, bool, _Offered]], called: Callable[[_Offered], str]
) -> tuple[list[tuple[str, bool, _Offered]], list[tuple[str, _Offered, str]]]:
    """Return the rows that are used, and the others, each with why it is not.

    Args:
        rows: each with the plugin that brings it, and whether that is the engine's own.
        called: names what a row brings; of rows of one name one is used at most.
    """
    by_name: dict[str, list[tuple[str, bool, _Offered]]] = {}
    for each in rows:
        by_name.setdefault(called(each[2]), []).append(each)
    used, doubled = list[tuple[str, bool, _Offered]](), list[tuple[str, _Offered, str]]()
    for what, owned in by_name.items():
        candidates = [each for each in owned if each[1]] or owned
        winners = candidates if len(candidates) == 1 else []
        used += winners
        names = " and ".join(sorted({repr(name) for name, _, _ in owned}))
        which = f"only that of {winners[0][0]!r} is used" if winners else "none is used"
        why = f"the plugins {names} both offer the {what}, and {which}: uninstall one"
        doubled += [(each[0], each[2], why) for each in owned if each not in winners]
    return used, doubled


def value_of(name: str, home: str) -> object:
    """Return what a row of a plugin names, imported.

    Raises:
        PluginError: it cannot be imported.
    """
    try:
        # what an import prints must not end up in what a command prints
        with redirect_stdout(sys.stderr):
            value: object = EntryPoint(name, home, GROUP).load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a stranger raises is one message
        raise PluginError(
            f"plugin {name!r}: the import of {home} failed: {failure(error)}"
        ) from error
    return value


def check_rows(_entry: EntryPoint, rows: CommandRows) -> None:
    """Refuse rows that are none, as nothing checks the types of a stranger's.

    Raises:
        RefusedPluginError: one has another form.
    """
    problems = (
        *(_command_problem(*row) for row in _rows_of(rows.commands, Command)),
        *(_option_problem(*row) for row in _rows_of(rows.options, CommandOption)),
        *(_setting_problem(*row) for row in _rows_of(rows.settings, SettingRow)),
    )
    for problem in filter(None, problems):
        raise _wrong_row(problem)


def _rows_of(values: object, kind: type[_Row]) -> Iterator[_Row]:
    if not isinstance(values, tuple):
        raise _wrong_row(f"{values!r}, expected a tuple of {kind.__name__}")
    for row in values:
        if not isinstance(row, kind):
            raise _wrong_row(f"the row {row!r}, expected a {kind.__name__}")
        yield row


def _wrong_row(problem: str) -> RefusedPluginError:
    return RefusedPluginError(WRONG_ROW, f"found {problem}: fix the plugin, or uninstall it")


def _command_problem(  # noqa: PLR0913, PLR0917  # the values of a row
    path: object, home: object, sentence: object, example: object, below: object, heading: object
) -> str:
    """Return what is wrong with the values of a row; empty where nothing is."""
    groups = ", ".join(NESTED_GROUPS)
    words = path if isinstance(path, tuple) else ()
    if not _is_path(words) or not (len(words) == 1 or words[:-1] in _PARENTS):
        return f"the path {path!r}, expected one word, or one below {groups}"
    if not _is_line(sentence):
        return f"the sentence {sentence!r}, expected one line"
    if not isinstance(example, str):
        return f"the example {example!r}, expected a text"
    if below != () and not _is_path(below):
        return f"the words {below!r} below it, expected a tuple of words"
    if not _is_word(heading):
        return f"the heading {heading!r}, expected a word such as {', '.join(HEADINGS)}"
    return _home_problem(home)


def _option_problem(  # noqa: PLR0913, PLR0917  # the values of a row
    command: object,
    flag: object,
    metavar: object,
    description: object,
    kind: object,
    home: object,
    *texts: object,
) -> str:
    """Return what is wrong with the values of a row; empty where nothing is."""
    if not _is_path(command):
        return f"the command {command!r}, expected its words"
    if not isinstance(flag, str) or flag[:2] != "--" or not _is_word(flag[2:]):
        return f"the flag {flag!r}, expected one such as --state"
    if kind not in _KINDS:
        return f"the kind {kind!r}, expected one of {', '.join(_KINDS)}"
    if not all(isinstance(text, str) for text in (metavar, *texts)):
        return f"the texts {(metavar, *texts)!r} of {flag}, expected strings"
    if not _is_line(description):
        return f"the help {description!r}, expected one line"
    return _home_problem(home)


def _setting_problem(key: object, is_path: object) -> str:
    """Return what is wrong with the values of a row; empty where nothing is."""
    if not isinstance(key, str) or not _is_word(key.replace("_", "-")):
        return f"the key {key!r}, expected one such as state"
    return "" if isinstance(is_path, bool) else f"is_path {is_path!r} of {key}, expected a bool"


def _home_problem(home: object) -> str:
    module, _, attribute = home.partition(":") if isinstance(home, str) else ("", "", "")
    if all(map(str.isidentifier, (*module.split("."), *attribute.split(".")))):
        return ""
    return f"the home {home!r}, expected module:attribute"


def _is_path(path: object) -> bool:
    return isinstance(path, tuple) and bool(path) and all(map(_is_word, path))


def _is_word(word: object) -> bool:
    """Return whether a value is a word of small letters, digits and single hyphens."""
    return (
        isinstance(word, str)
        and word.isascii()
        and word == word.lower()
        and word[:1].isalpha()
        and all(map(str.isalnum, word.split("-")))
    )


def _is_line(text: object) -> bool:
    return isinstance(text, str) and bool(text.strip()) and len(text.splitlines()) == 1
