"""Options that plugins bring to commands which they may extend, and what the kinds of these do.

`SOURCE` is another source of the rules that score. Its home is called with the value, the rule set
of the command line if one is named, and the lock that the command is held to; it returns a context
manager that gives the scorer.

`SECOND_PASS` is a second pass over the same input. Its home is called with the value, and with the
values of all such options by their flags; it returns what the command asks for, a `SecondPass` for
`score`. It is called before the first pass begins, so that what is wrong with the value is told
before the work.

`INPUT` is another input, in place of one that the command has itself. Its home is called as that of
a second pass; it returns a function, which the command calls with what it knows.

`VALUE` is read by the home of another option. Its own is called with the same, and only refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Protocol

import click
from click.core import ParameterSource

from tallystick.cli import options
from tallystick.cli.settings import Setting
from tallystick.errors import PluginError

if TYPE_CHECKING:
    from tallystick.cli.locked import Held
    from tallystick.plugins.commands import CommandOption
    from tallystick.scoring.scorer import Scorer


class SecondPass(Protocol):
    """A second pass over the input of a command, whose results go beside the first.

    Attributes:
        name: what stands in the names of its files, and its key in what ``--json`` prints.
        title: what a progress bar says.
        heading: the line above its summary.
    """

    name: str
    title: str
    heading: str

    def scoring(self) -> AbstractContextManager[Scorer]:
        """Give the scorer."""


class PluginOption(Setting):
    """An option of a plugin; a setting where the row has a key."""

    def __init__(self, owner: str, row: CommandOption) -> None:
        # no option of the command can have this name
        name = f"plugin_{row.flag.strip('-').replace('-', '_')}"
        attributes: dict[str, Any] = {"metavar": row.metavar, "help": row.help}
        if row.key:
            super().__init__([row.flag, name], key=row.key, **attributes)
        else:
            click.Option.__init__(self, [row.flag, name], **attributes)
            self.key = ""
        self.owner = owner
        self.row = row


class PluginOptions:
    """The values of the options of plugins in one run of a command.

    Attributes:
        values: by flag; those that are not given are left out.
    """

    def __init__(self, options: Mapping[PluginOption, Any]) -> None:
        self._options = {option: value for option, value in options.items() if value is not None}
        self.values = {option.row.flag: value for option, value in self._options.items()}

    @contextmanager
    def scoring(self, reference: str | None, held: Held) -> Iterator[Scorer]:
        """Open the scorer of a rule set, or of another source if one is given.

        A rule set that only the settings name is for what is scored without another source.

        Raises:
            RuleSetError: a rule set does not load.
            PluginError: the plugin of the source cannot be used.
            TrustError: the lock has none of the rules.
        """
        from tallystick.plugins.commands import SOURCE  # where there is one

        sources = self._of_kind(SOURCE)
        if not sources:
            with named_rules(reference, held) as scorer:
                yield scorer
            return
        if len(sources) > 1:
            flags = " and ".join(source_option.row.flag for source_option in sources)
            raise click.UsageError(f"found {flags}, expected one of them")
        (option,) = sources
        source = _home(option)(self._options[option], on_command_line(reference), held)
        if not isinstance(source, AbstractContextManager):
            raise _wrong_answer(option, source, "a context manager")
        with source as scorer:
            from tallystick.scoring.scorer import Scorer

            if not isinstance(scorer, Scorer):
                raise _wrong_answer(option, scorer, "one that gives a Scorer")
            # a lock holds whatever scores, also where the plugin does not ask it
            held.require_one_of(scorer.each())
            yield scorer

    def second_passes(self) -> list[tuple[str, Any]]:
        """Return the second passes, each with its flag.

        Raises:
            RuleSetError: a rule set does not load.
            PluginError: the plugin of a pass cannot be used.
        """
        from tallystick.plugins.commands import SECOND_PASS

        self._check_values()
        return [
            (option.row.flag, _home(option)(self._options[option], self.values))
            for option in self._of_kind(SECOND_PASS)
        ]

    def input(self, own: object, name: str) -> Callable[..., Any] | None:
        """Return the function of another input; None where the command's own is given.

        Args:
            own: the value of the command's own argument or option; None where it is not given.
            name: of that argument or option, for errors.

        Raises:
            UsageError: none is given, or several are.
            PluginError: the plugin of the input cannot be used.
        """
        from tallystick.plugins.commands import INPUT

        self._check_values()
        options = self._of_kind(INPUT)
        names = [*([] if own is None else [name]), *(option.row.flag for option in options)]
        if len(names) > 1:
            raise click.UsageError(f"found {' and '.join(names)}, expected one of them")
        if not options:
            if own is None:
                flags = self._flags_of_inputs()
                raise click.UsageError(f"found no {name}, expected it{flags}")
            return None
        (option,) = options
        function: Callable[..., Any] = _home(option)(self._options[option], self.values)
        if not callable(function):
            raise _wrong_answer(option, function, "a function")
        return function

    def _flags_of_inputs(self) -> str:
        from tallystick.plugins.commands import INPUT

        params = click.get_current_context().command.params
        flags = [
            param.row.flag
            for param in params
            if isinstance(param, PluginOption)
            if param.row.kind == INPUT
        ]
        return f", or {' or '.join(flags)}" if flags else ""

    def _check_values(self) -> None:
        from tallystick.plugins.commands import VALUE

        for option in self._of_kind(VALUE):
            _home(option)(self._options[option], self.values)

    def _of_kind(self, kind: str) -> list[PluginOption]:
        return [option for option in self._options if option.row.kind == kind]


class ExtensibleCommand(click.Command):
    """A command to which plugins add options, as the one argument ``plugin_options``."""

    _is_extended = False

    def extend(self, path: tuple[str, ...]) -> None:
        """Add the options that the rows of plugins have for the words of this command, once."""
        if self._is_extended:
            return
        self._is_extended = True
        from tallystick.plugins.commands import installed_commands

        flags = {flag for param in self.params for flag in param.opts}
        for owner, row in installed_commands().options(path):
            if row.flag not in flags:
                self.params.insert(self._index_behind(row.after), PluginOption(owner, row))
                own = cleandoc(self.help or "")
                self.help = "\n\n".join(filter(None, (own, row.paragraph)))
                self.epilog = "\n  ".join(filter(None, (self.epilog, row.example)))

    def _index_behind(self, flag: str) -> int:
        places = (n for n, param in enumerate(self.params, 1) if flag in param.opts)
        return next(places, len(self.params))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own
        """Run the command with the values of the options of plugins as one argument."""
        options = [option for option in self.params if isinstance(option, PluginOption)]
        values = {option: ctx.params.pop(option.name or "", None) for option in options}
        ctx.params["plugin_options"] = PluginOptions(values)
        return super().invoke(ctx)


class _RulesOption(Setting):
    """The option that names a rule set, where another source may say which."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the names of the option, and its help with the sources that stand in for it."""
        self.help = f"{options.RULES_HELP}{_default(ctx.command)}"
        return super().get_help_record(ctx)


rules_option = options.rules_option(cls=_RulesOption)
"""The option that names a rule set where another source may say which."""


@contextmanager
def named_rules(reference: str | None, held: Held) -> Iterator[Scorer]:
    """Open the scorer of a rule set that has to be named.

    Raises:
        MissingParameter: none is named.
        RuleSetError: it does not load.
        TrustError: the lock does not have it.
    """
    from tallystick.scoring.scorer import load

    if reference is None:
        context = click.get_current_context()
        option = next(param for param in context.command.params if param.name == "reference")
        raise click.MissingParameter(ctx=context, param=option)
    scorer = load(reference)
    held.require(scorer)
    yield scorer


def on_command_line(reference: str | None) -> str | None:
    """Return the rule set that the command line names; None for one of the settings."""
    source = click.get_current_context().get_parameter_source("reference")
    return reference if source == ParameterSource.COMMANDLINE else None


def _home(option: PluginOption) -> Callable[..., Any]:
    from tallystick.plugins.commands import value_of

    home: Callable[..., Any] = value_of(option.owner, option.row.home)  # type: ignore[assignment]  # called as the kind says
    return home


def _wrong_answer(option: PluginOption, answer: object, expected: str) -> PluginError:
    return PluginError(
        f"plugin {option.owner!r}: found {answer!r} from {option.row.home}, expected {expected}: "
        "fix the plugin, or uninstall it"
    )


def _default(command: click.Command) -> str:
    from tallystick.plugins.commands import SOURCE

    options = [param for param in command.params if isinstance(param, PluginOption)]
    flags = [param.row.flag for param in options if param.row.kind == SOURCE]
    return f" By default those of {' or '.join(flags)}." if flags else ""
