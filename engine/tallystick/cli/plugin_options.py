"""Options that plugins bring to commands which they may extend, and what the kinds of these do.

`SOURCE` is another source of the rules that score. Its home is called with the value, the rule set
of the command line if one is named, and the lock that the command is held to; it returns a context
manager that gives the scorer.

`INPUT` is another input, in place of one that the command has itself. Its home is called with the
value, and with the values of all options by their flags, before the work begins, so that what is
wrong with it is told first; it returns a function, which the command calls with what it knows.

`VALUE` is read by the home of the `INPUT` of its command, beside which alone it is given; it has no
home of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from tallystick.cli.command import AnswerCommand
from tallystick.cli.rows import installed_commands
from tallystick.errors import PluginError
from tallystick.plugins.commands import INPUT, SOURCE, VALUE, CommandOption, value_of
from tallystick.plugins.entries import failure

if TYPE_CHECKING:
    from tallystick.cli.locked import Held
    from tallystick.scoring.scorer import Scorer


class PluginOption(click.Option):
    """An option of a plugin."""

    def __init__(self, owner: str, row: CommandOption) -> None:
        # no option of the command can have this name
        name = f"plugin_{row.flag.strip('-').replace('-', '_')}"
        super().__init__([row.flag, name], metavar=row.metavar, help=row.help)
        self.owner = owner
        self.row = row

    def home(self, *arguments: object) -> Any:  # noqa: ANN401  # what the kind of the option asks for
        """Call the home of the option.

        Raises:
            PluginError: it cannot be imported, or ends the process.
        """
        function: Callable[..., Any] = value_of(self.owner, self.row.home)  # type: ignore[assignment]  # called as the kind says
        with self.asked():
            return function(*arguments)

    @contextmanager
    def asked(self) -> Iterator[None]:
        """Run code of the home, which must not end the command as if it were done.

        Raises:
            PluginError: it ends the process.
        """
        try:
            yield
        except SystemExit as end:
            message = f"plugin {self.owner!r}: {self.row.home} failed: {failure(end)}"
            raise PluginError(message) from end

    def wrong_answer(self, answer: object, expected: str) -> PluginError:
        """Return the error for an answer of the home that is of another kind."""
        return PluginError(
            f"plugin {self.owner!r}: found {answer!r} from {self.row.home}, expected {expected}: "
            "fix the plugin, or uninstall it"
        )


class PluginOptions:
    """The values of the options of plugins in one run of a command.

    Attributes:
        values: by flag; those that are not given are left out.
    """

    def __init__(self, values: Mapping[PluginOption, Any]) -> None:
        self._given = {option: value for option, value in values.items() if value is not None}
        self.values = {option.row.flag: value for option, value in self._given.items()}

    @contextmanager
    def scoring(self, reference: str | None, held: Held) -> Iterator[Scorer]:
        """Open the scorer of a rule set, or of another source if one is given.

        A rule set that only the settings name is for what is scored without another source.

        Raises:
            RuleSetError: a rule set does not load.
            PluginError: the plugin of the source cannot be used.
            TrustError: the lock has none of the rules.
        """
        option = self._only(SOURCE)
        if option is None:
            with named_rules(reference, held) as scorer:
                yield scorer
            return
        source = option.home(self._given[option], on_command_line(reference), held)
        if not isinstance(source, AbstractContextManager):
            raise option.wrong_answer(source, "a context manager")
        with ExitStack() as opened:
            with option.asked():
                scorer = opened.enter_context(source)
            from tallystick.scoring.scorer import Scorer

            if not isinstance(scorer, Scorer):
                raise option.wrong_answer(scorer, "one that gives a Scorer")
            # a lock holds whatever scores, also where the plugin does not ask it
            held.require_one_of(scorer.each())
            yield scorer

    def input(self, own: object, name: str) -> Callable[..., Any] | None:
        """Return the function of another input; None where the command's own is given.

        Args:
            own: the value of the command's own argument or option; None where it is not given.
            name: of that argument or option, for errors.

        Raises:
            UsageError: none is given, or several are; or a value that only one of them reads.
            PluginError: the plugin of the input cannot be used.
        """
        option = self._only(INPUT, *([] if own is None else [name]))
        inputs = _flags(click.get_current_context().command, INPUT)
        for other in () if option is not None else self._given:
            if other.row.kind == VALUE:
                raise click.UsageError(f"found {other.row.flag} without {inputs}, expected both")
        if option is not None:
            function: Callable[..., Any] = option.home(self._given[option], self.values)
            if not callable(function):
                raise option.wrong_answer(function, "a function")
            return function
        if own is None:
            others = f", or {inputs}" if inputs else ""
            raise click.UsageError(f"found no {name}, expected it{others}")
        return None

    def _only(self, kind: str, *others: str) -> PluginOption | None:
        """Return the option of a kind that is given; None without one.

        Raises:
            UsageError: several are given, or one beside others that are, by their names.
        """
        options = [option for option in self._given if option.row.kind == kind]
        names = [*others, *(option.row.flag for option in options)]
        if len(names) > 1:
            raise click.UsageError(f"found {' and '.join(names)}, expected one of them")
        return next(iter(options), None)


class ExtensibleCommand(AnswerCommand):
    """A command to which plugins add options, as the one argument ``plugin_options``."""

    _is_extended = False

    def extend(self, path: tuple[str, ...]) -> None:
        """Add the options that the rows of plugins have for the words of this command, once."""
        if self._is_extended:
            return
        self._is_extended = True
        flags = {flag for param in self.params for flag in param.opts}
        for owner, row in installed_commands().options():
            if row.command == path and row.flag not in flags:
                self.params.append(PluginOption(owner, row))
                own = cleandoc(self.help or "")
                self.help = "\n\n".join(filter(None, (own, row.paragraph)))
                self.epilog = "\n  ".join(filter(None, (self.epilog, row.example)))
        sources = _flags(self, SOURCE)
        for param in self.params:
            if sources and isinstance(param, click.Option) and param.name == "reference":
                param.help = f"{param.help} By default those of {sources}."

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  # click's own
        """Run the command with the values of the options of plugins as one argument."""
        options = [option for option in self.params if isinstance(option, PluginOption)]
        values = {option: ctx.params.pop(option.name or "", None) for option in options}
        ctx.params["plugin_options"] = PluginOptions(values)
        return super().invoke(ctx)


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


def _flags(command: click.Command, kind: str) -> str:
    """Return the flags of the options of a kind that plugins bring to a command."""
    options = (param for param in command.params if isinstance(param, PluginOption))
    return " or ".join(option.row.flag for option in options if option.row.kind == kind)
