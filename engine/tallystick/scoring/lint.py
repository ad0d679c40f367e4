"""A check of the linter, and the decorators that make one of a function.

A check is asked of one rule set; a comparison, of an older and a newer one.

A distribution offers its checks as a tuple by an entry point of the group `GROUP`, whose name is
that of their owner. Codes of others than the engine's own begin with the owner's name and a slash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import partial, wraps
from importlib.metadata import EntryPoint
from inspect import getdoc
from types import ModuleType
from typing import Any, Literal, TypeVar, TypeVarTuple, overload

import attrs

from tallystick.diagnostics import SEVERITIES, Severity
from tallystick.numbers.nano import publish, to_text
from tallystick.plugins.entries import NAME_TAKEN, RefusedPluginError, is_own, of_kind
from tallystick.plugins.values import is_function
from tallystick.rules.findings import Finding
from tallystick.rules.model import SectionKind
from tallystick.rules.toml import KeyPath
from tallystick.scoring.scorer import Scorer

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

GROUP = "tallystick.lints"
"""The entry-point group of the linter's checks."""

_CODE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TEXTS = ("summary", "documentation", "remedy")

Find = Callable[[Scorer], Iterable[Finding]]
Compare = Callable[[Scorer, Scorer], Iterable[Finding]]
"""Finds what is wrong in a newer rule set, the second, beside an older one; paths are of the newer.

Of what is gone, the path is that of the nearest table that is left.
"""
_FUNCTION = attrs.validators.optional(is_function)


@attrs.frozen
class Figure:
    """A number in the evidence of a check that says how bad a finding is.

    Attributes:
        keys: lead to the number in the evidence; of a list, its length counts.
        worse: whether more of it is worse, or less.
    """

    keys: tuple[str, ...]
    worse: Literal["more", "less"]

    @property
    def name(self) -> str:
        """The key by which a silence bounds it."""
        return "_".join(self.keys)

    def is_in(self, evidence: Mapping[str, Any]) -> bool:
        """Return whether a finding has the figure."""
        return self.keys[0] in evidence

    def value(self, evidence: Mapping[str, Any]) -> Fraction | None:
        """Return the exact number; None of what never comes, such as an epoch."""
        value: Any = evidence
        for key in self.keys:
            value = value[key]
        if value is None:
            return None
        if isinstance(value, list | tuple):
            return Fraction(len(value))
        # a very long ratio is cut, and says so
        return Fraction(str(value).removesuffix("…"))

    def exceeds(self, value: Fraction | None, bound: Fraction | None) -> bool:
        """Return whether a value is worse than a bound; None is beyond every number."""
        if value is None or bound is None:
            return value != bound and (value is None) == (self.worse == "more")
        return value > bound if self.worse == "more" else value < bound


def more(*keys: str) -> Figure:
    """Return a figure of which more is worse."""
    return Figure(keys, "more")


def less(*keys: str) -> Figure:
    """Return a figure of which less is worse."""
    return Figure(keys, "less")


@attrs.frozen(eq=False)
class Check:
    """One question that the linter asks of a rule set, or of a change of one.

    Attributes:
        code: the stable name, such as ``gate-never-binds``, or ``acme/too-steep`` of a stranger.
        severity: of what it finds.
        summary: one sentence: what is wrong.
        documentation: why it matters and how it is computed, a few sentences.
        remedy: what to do.
        find: gives what it finds in a rule set that is loaded and bound; None where loading finds
            it, or the linter as a whole, or a comparison.
        figures: how bad a finding is; a silence has a bound for each.
        compare: gives what it finds beside an older rule set; None of a check of one rule set.
        on_request: whether it is asked only where its code is, as it takes long.
    """

    code: str
    severity: Severity
    summary: str
    documentation: str = attrs.field(kw_only=True)
    remedy: str = attrs.field(kw_only=True)
    find: Find | None = attrs.field(kw_only=True, default=None, validator=_FUNCTION)
    figures: tuple[Figure, ...] = attrs.field(kw_only=True, default=())
    compare: Compare | None = attrs.field(kw_only=True, default=None, validator=_FUNCTION)
    on_request: bool = attrs.field(kw_only=True, default=False)

    def figure(self, name: str) -> Figure:
        """Return the figure of a name."""
        return next(figure for figure in self.figures if figure.name == name)

    def figures_of(self, evidence: Mapping[str, Any]) -> dict[str, Fraction | None]:
        """Return the figures that a finding has, by name."""
        return {
            figure.name: figure.value(evidence) for figure in self.figures if figure.is_in(evidence)
        }


@overload
def check(code: str, severity: Severity, *figures: Figure) -> Callable[[Find], Check]: ...


@overload
def check(
    code: str,
    severity: Severity,
    *figures: Figure,
    of: SectionKind[_T] | Callable[[Scorer], _T | None],
) -> Callable[[Callable[[_T], Iterable[Finding]]], Check]: ...


def check(
    code: str,
    severity: Severity,
    *figures: Figure,
    of: SectionKind[Any] | Callable[[Scorer], Any] | None = None,
) -> Callable[[Callable[[Any], Iterable[Finding]]], Check]:
    """Make a check of a function; it is in the linter if an entry point of `GROUP` leads to it.

    The function's docstring words it: the first line is the summary, a last paragraph that begins
    with ``Remedy:`` says what to do, and what stands between is the documentation.

    Args:
        code: see `Check`.
        severity: of what it finds.
        figures: how bad a finding is.
        of: what the function is asked of in place of the rule set: a section, or what a function
            reads of it; nothing is found where that is None.
    """
    read = partial(_section_of, of) if isinstance(of, SectionKind) else of

    def decorate(find: Callable[[Any], Iterable[Finding]]) -> Check:
        @wraps(find)
        def find_in(scorer: Scorer) -> Iterable[Finding]:
            value = scorer if read is None else read(scorer)
            return () if value is None else find(value)

        return attrs.evolve(_documented(find, code, severity, figures), find=find_in)

    return decorate


def _section_of(kind: SectionKind[_T], scorer: Scorer) -> _T | None:
    return scorer.rule_set.section(kind)


@overload
def comparison(
    code: str, severity: Severity, *figures: Figure, on_request: bool = False
) -> Callable[[Compare], Check]: ...


@overload
def comparison(
    code: str,
    severity: Severity,
    *figures: Figure,
    on_request: bool = False,
    of: Callable[[Scorer, Scorer], tuple[*_Ts] | None],
) -> Callable[[Callable[[*_Ts], Iterable[Finding]]], Check]: ...


def comparison(
    code: str,
    severity: Severity,
    *figures: Figure,
    on_request: bool = False,
    of: Callable[[Scorer, Scorer], tuple[Any, ...] | None] | None = None,
) -> Callable[[Callable[..., Iterable[Finding]]], Check]:
    """Make a check of a function that compares two rule sets; alone, neither has a finding.

    Its docstring is as that of a function of `check`.

    Args:
        code: see `Check`.
        severity: of what it finds.
        figures: how bad a finding is.
        on_request: as of a `Check`.
        of: returns what the function is asked of in place of the two rule sets, such as
            `both` of a section; nothing is found where that is None.
    """

    def decorate(compare: Callable[..., Iterable[Finding]]) -> Check:
        @wraps(compare)
        def compare_both(old: Scorer, new: Scorer) -> Iterable[Finding]:
            values = (old, new) if of is None else of(old, new)
            return () if values is None else compare(*values)

        documented = _documented(compare, code, severity, figures)
        return attrs.evolve(documented, compare=compare_both, on_request=on_request)

    return decorate


def both(
    read: SectionKind[_T] | Callable[[Scorer], _T | None],
) -> Callable[[Scorer, Scorer], tuple[_T, _T] | None]:
    """Return a reader of a section, or of what a function reads, where both rule sets have it."""
    one = partial(_section_of, read) if isinstance(read, SectionKind) else read

    def read_both(old: Scorer, new: Scorer) -> tuple[_T, _T] | None:
        before = one(old)
        after = None if before is None else one(new)
        return None if before is None or after is None else (before, after)

    return read_both


def _documented(
    function: Callable[..., object], code: str, severity: Severity, figures: tuple[Figure, ...]
) -> Check:
    """Return a check without a question, as the docstring of a function words it."""
    text, _, remedy = (getdoc(function) or "").partition("\n\nRemedy: ")
    summary, _, documentation = text.partition("\n\n")
    return Check(
        code,
        severity,
        f"{summary[:1].lower()}{summary[1:]}".removesuffix("."),
        documentation=" ".join(documentation.split()),
        remedy=" ".join(remedy.split()).removesuffix("."),
        figures=figures,
    )


def figure(value: Fraction) -> str:
    """Return a number as messages and evidence have it: rounded to nine places."""
    return to_text(publish(value))


def finding(
    path: KeyPath,
    message: str,
    severity: Severity | None = None,
    /,
    **evidence: Any,  # noqa: ANN401  # JSON values
) -> Finding:
    """Return a finding whose message has its evidence in braces.

    Args:
        path: the place, as of a `Finding`.
        message: such as ``"{members} members are needed"``.
        severity: another one than that of the check.
        evidence: JSON values, by name; an exact number becomes text, rounded to nine places.
    """
    told = {n: figure(v) if isinstance(v, Fraction) else v for n, v in evidence.items()}
    return Finding(path, message.format_map(told), told, severity)


def checks_in(*modules: ModuleType) -> tuple[Check, ...]:
    """Return the checks that some modules define, in their order."""
    return tuple(
        value for module in modules for value in vars(module).values() if isinstance(value, Check)
    )


def load_lints(entry: EntryPoint) -> tuple[Check, ...]:
    """Return the checks of an owner, imported.

    Raises:
        RefusedPluginError: one of them is no check, or lacks a text, or has a code of another
            owner or a severity that there is not.
    """
    checks = of_kind(tuple)(entry)
    head = "" if is_own(entry) else f"{entry.name}/"
    codes = set[object]()
    for check in checks:
        if not isinstance(check, Check):
            raise RefusedPluginError(
                "wrong-kind", f"found {check!r} at {entry.value}, expected checks: see @check"
            )
        code = check.code
        if not _is_code(code, head):
            expected = "after the name of its entry point" if head else "alone"
            raise RefusedPluginError(
                "foreign-name",
                f"found the code {code!r}, expected one such as {head}some-code: small letters, "
                f"digits and hyphens {expected}",
            )
        if code in codes:
            raise RefusedPluginError(NAME_TAKEN, f"found two checks {code}: rename one")
        codes.add(code)
        if check.severity not in SEVERITIES:
            raise RefusedPluginError(
                "wrong-kind",
                f"found the severity {check.severity!r} of {code}, expected one of "
                f"{', '.join(SEVERITIES)}",
            )
        for name in _TEXTS:
            text = getattr(check, name)
            if not isinstance(text, str) or not text.strip():
                raise RefusedPluginError(
                    "wrong-kind", f"found the {name} {text!r} of {code}, expected a sentence"
                )
    return checks


def _is_code(code: object, head: str) -> bool:
    """Return whether a code is one of an owner, with the head of its name if it has one."""
    if not isinstance(code, str) or not code.startswith(head):
        return False
    return _CODE.fullmatch(code.removeprefix(head)) is not None
