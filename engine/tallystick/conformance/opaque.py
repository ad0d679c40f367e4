"""Opaque facts: whether the code of a plugin gives the same integer to everyone, and soon.

Each fact is called on the samples of every skill type whose records it reads, as the engine calls
it. The first calls are watched; the second ones run in the reverse order, so that what is kept
between calls shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from tallystick.canonical import digest
from tallystick.conformance.loading import Subject
from tallystick.conformance.purity import ENVIRONMENT, FILE, NETWORK, PROCESS, Act, watching
from tallystick.conformance.report import finding
from tallystick.conformance.timing import (
    GROWTH,
    LIMIT_MS,
    Function,
    Slowness,
    TooLongError,
    cut_off,
    slowness,
)
from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError
from tallystick.formula.domain import domain_of
from tallystick.formula.facts import arguments_of, path_of
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import Node, leaves
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick.testing.samples import JSON, RecordChecker, line, of_type, plain

BUDGET_S = 4
"""How long the calls of one fact on one type may take together; after it no more are made."""
LEAST_CALLS = 20
"""So many calls are made even then."""
COMPARED = 64
"""How many records the digest of the values covers, of each type."""

_SLOW = "opaque-slow"
_STRIDE = 16
_LONGEST = 200
_PLAIN = (int, float, bool, str, type(None))
_BY_ITSELF = {PROCESS: (ENVIRONMENT, FILE), NETWORK: (ENVIRONMENT, FILE)}
"""What cannot be done without the others is told alone."""


@attrs.frozen(eq=False)
class _Use:
    """An opaque fact, and a skill type whose records it reads.

    Attributes:
        fact: the fact.
        where: the formula or the requirement that reads it, and its name.
        skill_type: the type.
        requirements: what holds for each record of the type.
        certain: whether the type is known to use the fact; else it may be meant for another.
    """

    fact: Node
    where: str
    skill_type: SkillType
    requirements: tuple[Requirement, ...]
    certain: bool

    def judge(self) -> RecordChecker:
        """Which records of the type are valid."""
        return RecordChecker(load_schema(self.skill_type.schema), self.requirements)

    def samples(self) -> list[JSON]:
        """Records of the type, so ordered that the first of them are of every sort."""
        made = of_type(self.skill_type, self.requirements)
        return [each for start in range(_STRIDE) for each in made[start::_STRIDE]]


@attrs.frozen
class _Answer:
    """What one call gave.

    Attributes:
        value: what it returned.
        error: what it raised, as text.
        kept: whether it left the record as it was.
        ended: whether it came to an end by itself.
    """

    value: object = None
    error: str | None = None
    kept: bool = True
    ended: bool = True

    def said(self) -> str:
        """The answer for people."""
        return self.error or self.compared()

    def compared(self) -> str:
        """The answer as another process must give it: of an error and an object only the type."""
        if not self.ended or self.error is not None:
            return (self.error or "no end").partition(":")[0]
        kind = type(self.value)
        return f"{kind.__name__} {self.value!r:.{_LONGEST}}" if kind in _PLAIN else kind.__name__


def check(subject: Subject) -> Iterator[Diagnostic]:
    """The findings about the opaque facts of a plugin; each code once a fact.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    told: set[tuple[str, str]] = set()
    for use in _uses(subject):
        for each in _findings(use):
            if (use.fact.digest, each.code) not in told:
                told.add((use.fact.digest, each.code))
                yield each


def is_without_end(found: Diagnostic) -> bool:
    """Whether a finding is of a fact that does not come to its end, so that no check can use it."""
    return found.code == _SLOW and found.evidence["milliseconds"] is None


def values_digest(subject: Subject) -> str:
    """The digest of what every opaque fact gives for some records; the same in every process.

    Raises:
        SchemaError: as ``check``.
    """
    found = []
    for use in _uses(subject):
        records = use.samples()[:COMPARED]
        answers = [answer.compared() for answer in _answers(use.fact, use.judge(), records)]
        found.append([use.fact.digest, use.skill_type.name, answers])
    return digest(found)


def _uses(subject: Subject) -> Iterator[_Use]:
    """Every opaque fact of a plugin with every type that uses it, or that may."""
    seen: set[str] = set()
    for where, tree in subject.trees():
        for fact in leaves(tree, "fact"):
            if fact.function is not None and fact.digest not in seen:
                seen.add(fact.digest)
                yield from _of_fact(subject, fact, f"{where}: {path_of(fact)}", tree)


def _of_fact(subject: Subject, fact: Node, where: str, tree: Node) -> Iterator[_Use]:
    certain = {
        name: tuple(requirement for requirement, _ in bound.requirements)
        for scorer in subject.scorers.values()
        for name, bound in scorer.types.items()
        if fact.digest in {each.digest for each in bound.facts}
    }
    types = subject.registry.skill_types
    if certain:
        for name, requirements in certain.items():
            yield _Use(fact, where, types[name], requirements, certain=True)
        return
    fitting = [types[name] for name, schema in subject.schemas.items() if _fits(tree, schema)]
    own = [each for each in fitting if each in subject.plugin.skill_types] or fitting
    for skill_type in own:
        yield _Use(fact, where, skill_type, skill_type.requirements, certain=len(own) == 1)


def _fits(tree: Node, schema: Any) -> bool:  # noqa: ANN401  # a schema
    """Whether a schema has every place that the other facts of a tree read."""
    try:
        for fact in leaves(tree, "fact"):
            domain_of(fact, schema)
    except FormulaError:
        return False
    return True


def _findings(use: _Use) -> Iterator[Diagnostic]:
    _forget(use.fact)
    judge, samples, acts = use.judge(), use.samples(), dict[Act, None]()
    answers = _answers(use.fact, judge, samples, acts, BUDGET_S)
    if not use.certain and all(answer.error for answer in answers):
        return
    for act in _told(acts):
        shown = f"found a call of {act.what}, expected none"
        yield finding(act.code, use.where, shown, {"call": act.what})
    if not answers[-1].ended:
        yield _slow(use, Slowness("", len(line(samples[len(answers) - 1])), None))
        return
    yield from _wrong(use, samples, answers)
    if not acts:
        yield from _unstable(use, judge, samples, answers)
    slow = slowness(_function_of(use.fact), judge, samples)
    if slow is not None:
        yield _slow(use, slow)


def _function_of(fact: Node) -> Function:
    if fact.function is None:
        raise FormulaError(f"found {fact!r}, expected an opaque fact")
    return fact.function


def _forget(fact: Node) -> None:
    """Empty the caches beside a function: they hide what is read only once."""
    function = _function_of(fact)
    for value in list(getattr(function, "__globals__", {}).values()):
        clear = getattr(value, "cache_clear", None)
        if callable(clear) and getattr(value, "__module__", None) == function.__module__:
            clear()


def _answers(
    fact: Node,
    judge: RecordChecker,
    samples: Sequence[JSON],
    acts: dict[Act, None] | None = None,
    budget: float = float("inf"),
) -> list[_Answer]:
    """The answers to as many samples as there is time for, up to one that does not come.

    Args:
        fact: what is asked.
        judge: makes of a record what a fact gets.
        samples: the records.
        acts: where to note what the calls ask of the world; None watches nothing.
        budget: in seconds.
    """
    answers, end = list[_Answer](), time.monotonic() + budget
    for record in samples:
        if len(answers) >= LEAST_CALLS and time.monotonic() > end:
            break
        answers.append(_answer(_function_of(fact), judge, record, acts))
        if not answers[-1].ended:
            break
    return answers


def _answer(
    function: Function, judge: RecordChecker, record: JSON, acts: dict[Act, None] | None
) -> _Answer:
    given, untouched = plain(judge, record), plain(judge, record)
    try:
        with _watched(acts), cut_off():
            value = function(given)
    except TooLongError:
        return _Answer(ended=False)
    except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever a plugin raises is told
        said = f"{type(error).__name__}: {error}"[:_LONGEST]
        return _Answer(error=said, kept=repr(given) == repr(untouched))
    return _Answer(value, kept=repr(given) == repr(untouched))


@contextmanager
def _watched(acts: dict[Act, None] | None) -> Iterator[None]:
    if acts is None:
        yield
        return
    noted: dict[Act, None] = {}
    try:
        with watching() as noted:
            yield
    finally:
        acts.update(noted)


def _told(acts: Iterable[Act]) -> list[Act]:
    """The first act of each code, without those that another one cannot do without."""
    first = {act.code: act for act in reversed(list(acts))}
    aside = {code for whole, parts in _BY_ITSELF.items() if whole in first for code in parts}
    return [act for code, act in sorted(first.items()) if code not in aside]


def _wrong(use: _Use, samples: Sequence[JSON], answers: Sequence[_Answer]) -> Iterator[Diagnostic]:
    """What single answers show; of several, the one to the shortest record is told."""
    low, high = arguments_of(use.fact)[1:]
    whole = f"an integer from {low} to {high}"
    looks: Sequence[tuple[str, Callable[[_Answer], bool], str]] = (
        ("opaque-raises", lambda a: a.error is not None, whole),
        ("opaque-not-integer", lambda a: a.error is None and type(a.value) is not int, whole),
        ("opaque-out-of-range", lambda a: not _is_within(a.value, low, high), whole),
        ("opaque-changes-record", lambda a: not a.kept, "the record as it was"),
    )
    for code, is_bad, expected in looks:
        bad = [(r, a) for r, a in zip(samples, answers, strict=False) if is_bad(a)]
        if bad:
            record, answer = min(bad, key=lambda pair: len(line(pair[0])))
            found = answer.said() if answer.kept else "a changed record"
            message = f"found {found}, expected {expected}"
            yield finding(code, use.where, message, {"record": record, "value": answer.said()})


def _is_within(value: object, low: int, high: int) -> bool:
    """Whether a whole number is in the range; anything else is another finding."""
    return type(value) is not int or low <= value <= high


def _unstable(
    use: _Use, judge: RecordChecker, samples: Sequence[JSON], first: Sequence[_Answer]
) -> Iterator[Diagnostic]:
    """A second call for each record, from the last to the first, gives the same as the first."""
    asked = samples[: len(first)][::-1]
    again = _answers(use.fact, judge, asked, None, BUDGET_S)
    for record, before, after in zip(asked, reversed(first), again, strict=False):
        if before.compared() != after.compared():
            message = f"found {before.said()} and then {after.said()} for one record, expected one"
            values = [before.said(), after.said()]
            yield finding(
                "opaque-unstable", use.where, message, {"record": record, "values": values}
            )
            return


def _slow(use: _Use, slow: Slowness) -> Diagnostic:
    what = f"a record of {slow.size} bytes" + (f" with a large {slow.place}" if slow.place else "")
    if slow.growth is not None:
        found = f"{slow.growth} times the time for four times the size, up to {what}"
        expected = f"at most {GROWTH} times"
    else:
        taken = f"{slow.milliseconds} ms" if slow.milliseconds is not None else "no end"
        found, expected = f"{taken} for {what}", f"at most {LIMIT_MS} ms"
    return finding(_SLOW, use.where, f"found {found}, expected {expected}", attrs.asdict(slow))
