"""Opaque facts: whether the code of a plugin gives the same integer to everyone, and soon.

Each fact is called on the samples of every skill type whose records it reads, as the engine calls
it, and what it asks of the world is noted. Then another process, with another order of sets, clock,
time zone, environment and working directory, calls it on the same records from the last to the
first, and has to get the same integers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import attrs

from tallystick.diagnostics import Diagnostic
from tallystick.errors import FormulaError, PluginError
from tallystick.formula.facts import arguments_of, domain_of, path_of
from tallystick.formula.formula import Requirement
from tallystick.formula.tree import Node, leaves
from tallystick.plugins.skill_type import SkillType
from tallystick.records.schema import load_schema
from tallystick_conformance.calls import LIMIT_MS, REFUSED, Answer, Function, answer_of
from tallystick_conformance.loading import Subject
from tallystick_conformance.releases import RELEASED, FactValue, released_in
from tallystick_conformance.report import finding
from tallystick_conformance.testing.record_checker import RecordChecker
from tallystick_conformance.testing.samples import JSON, large, line, of_type, plain

_SLOW = "opaque-slow"
_GOLDEN = 8


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

    @property
    def name(self) -> str:
        """The name of the use, unique among those of a plugin and the same in every process."""
        return f"{self.fact.digest} {self.skill_type.name}"

    @property
    def function(self) -> Function:
        """The code of the fact."""
        if self.fact.function is None:
            raise FormulaError(f"found {self.fact!r}, expected an opaque fact")
        return self.fact.function

    def checker(self) -> RecordChecker:
        """Return the checker of the type's records."""
        return RecordChecker(load_schema(self.skill_type.schema), self.requirements)

    def samples(self) -> Sequence[JSON]:
        """Records of the type.

        Raises:
            SchemaError: none was found that meets the requirements.
        """
        return of_type(self.skill_type, self.requirements)


def check(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the findings about the opaque facts of a plugin; each code once a fact.

    Raises:
        SchemaError: no record of a skill type was found that meets its requirements.
    """
    reported: set[tuple[str, str]] = set()
    for use in _uses(subject):
        for problem in _findings(use):
            if (use.fact.digest, problem.code) not in reported:
                reported.add((use.fact.digest, problem.code))
                yield problem
    if not any(code == _SLOW for _, code in reported):
        yield from _changed(subject)


def values_of(subject: Subject, without: Collection[str] = ()) -> dict[str, list[str]]:
    """Return every opaque fact's values for the samples of each type that uses it.

    Args:
        subject: the plugin.
        without: the places of facts that are known to be faulty, as findings name them.

    Raises:
        SchemaError: as ``check``.
    """
    uses = (use for use in _uses(subject) if use.where not in without)
    return {
        use.name: [answer.compared() for answer in _answers(use, use.samples())] for use in uses
    }


def golden_values(
    subject: Subject, without: Collection[str] = ()
) -> dict[str, dict[str, list[FactValue]]]:
    """Return short records with their integers by formula and opaque fact, to be recorded.

    Args:
        subject: the plugin.
        without: as in ``values_of``.

    Raises:
        SchemaError: as ``check``.
    """
    golden: dict[str, dict[str, list[FactValue]]] = {}
    for name, use in _formula_uses(subject):
        if use.where not in without:
            pairs = golden.setdefault(name, {}).setdefault(path_of(use.fact), [])
            pairs += _distinct(use)
    return golden


def _distinct(use: _Use) -> Iterator[FactValue]:
    """Yield the shortest record of some integers."""
    samples, seen = sorted(use.samples(), key=lambda record: len(line(record))), set[object]()
    for record, answer in zip(samples, _answers(use, samples), strict=False):
        if type(answer.value) is int and answer.value not in seen and len(seen) < _GOLDEN:
            seen.add(answer.value)
            yield {"record": record, "value": answer.value}


def _changed(subject: Subject) -> Iterator[Diagnostic]:
    """Yield the first record of each formula whose opaque fact is another than was released."""
    uses = {(n, path_of(u.fact), u.skill_type.name): u for n, u in _formula_uses(subject)}
    try:
        released = released_in(subject.folder / RELEASED)
    except PluginError:
        return  # told by the check of releases
    for name, recorded in released.items():
        pairs = [(fact, pair) for fact, pairs in recorded.values.items() for pair in pairs]
        for fact, pair in pairs:
            record, value = pair["record"], pair["value"]
            use = uses.get((name, fact, str(record.get("skill_type"))))
            if use is None or (checker := use.checker()).decoded(record) is None:
                continue  # the schema lets no such record through, so no score can change
            answer = answer_of(use.function, partial(plain, checker, record))
            if answer.value != value:
                message = f"found {answer.said()} of {fact}, expected {value}, as {RELEASED} says"
                yield finding("opaque-changed", name, message, {"record": record, "value": value})
                break


def _formula_uses(subject: Subject) -> Iterator[tuple[str, _Use]]:
    """Yield every opaque fact of each formula, with every type that uses it, or that may."""
    for formula in subject.plugin.formulas:
        for fact in leaves(formula.tree, "fact"):
            if fact.function is not None:
                where = f"{formula.name}: {path_of(fact)}"
                for use in _of_fact(subject, fact, where, formula.tree):
                    yield formula.name, use


def compare(subject: Subject, values: Mapping[str, Sequence[str]]) -> Iterator[Diagnostic]:
    """Yield the findings about opaque facts that give other values here than in another process.

    The records come from the last to the first, so that what is kept between calls shows.

    Raises:
        SchemaError: as ``check``.
    """
    reported: set[str] = set()
    for use in _uses(subject):
        samples, there = use.samples(), values.get(use.name, ())
        here = [answer.compared() for answer in _answers(use, samples[::-1])][::-1]
        # where one takes too long, those before it have no answer here
        first = len(samples) - len(here)
        for record, before, after in zip(samples[first:], there[first:], here, strict=False):
            if before != after and use.fact.digest not in reported:
                reported.add(use.fact.digest)
                message = (
                    f"found {before} and, in another process, {after} for one record, expected the "
                    "same integer"
                )
                evidence = {"record": record, "values": [before, after]}
                yield finding("opaque-unstable", use.where, message, evidence)


def _uses(subject: Subject) -> Iterator[_Use]:
    """Yield every opaque fact of a plugin with every type that uses it, or that may."""
    seen: set[str] = set()
    for where, tree in subject.trees():
        for fact in leaves(tree, "fact"):
            if fact.function is not None and fact.digest not in seen:
                seen.add(fact.digest)
                yield from _of_fact(subject, fact, f"{where}: {path_of(fact)}", tree)


def _of_fact(subject: Subject, fact: Node, where: str, tree: Node) -> Iterator[_Use]:
    certain = {
        name: bound.required
        for scorer in subject.scorers.values()
        for name, bound in scorer.types.items()
        if fact.digest in {candidate.digest for candidate in bound.facts}
    }
    types = subject.registry.skill_types
    if certain:
        for name, requirements in certain.items():
            yield _Use(fact, where, types[name], requirements, certain=True)
        return
    fitting = [types[name] for name, schema in subject.schemas.items() if _fits(tree, schema)]
    own = [candidate for candidate in fitting if candidate in subject.plugin.skill_types] or fitting
    for skill_type in own:
        yield _Use(fact, where, skill_type, skill_type.requirements, certain=len(own) == 1)


def _fits(tree: Node, schema: Any) -> bool:  # noqa: ANN401  # a schema
    """Return whether a schema has every path that the other facts of a tree read."""
    try:
        for fact in leaves(tree, "fact"):
            domain_of(fact, schema)
    except FormulaError:
        return False
    return True


def _findings(use: _Use) -> Iterator[Diagnostic]:
    usual = sorted(use.samples(), key=lambda record: len(line(record)))
    samples = [*usual, *large(use.checker())]
    answers = list(_answers(use, samples))
    if not use.certain and all(answer.error for answer in answers):
        return
    asked = {code: call for answer in reversed(answers) for code, call in answer.asked.items()}
    for code, call in sorted(asked.items()):
        yield finding(code, use.where, f"found a call of {call}, expected none", {"call": call})
    last = answers[-1]
    if asked.keys() & {*REFUSED}:
        return
    if last.ended:
        yield from _wrong(use, samples, answers)
    if last.is_slow:
        yield _slow(use, samples[len(answers) - 1], last)


def _answers(use: _Use, samples: Sequence[JSON]) -> Iterator[Answer]:
    """Yield the answers, up to one that does not come, or takes too long."""
    checker = use.checker()
    for record in samples:
        answer = answer_of(use.function, partial(plain, checker, record))
        yield answer
        if answer.is_slow:
            return


def _wrong(use: _Use, samples: Sequence[JSON], answers: Sequence[Answer]) -> Iterator[Diagnostic]:
    """Yield the faults of single answers; of several, that for the shortest record."""
    low, high = arguments_of(use.fact)[1:]
    whole = f"an integer from {low} to {high}"
    looks: Sequence[tuple[str, Callable[[Answer], bool], str]] = (
        ("opaque-raises", lambda a: a.error is not None, whole),
        ("opaque-not-integer", lambda a: a.error is None and type(a.value) is not int, whole),
        ("opaque-out-of-range", lambda a: not _is_within(a.value, low, high), whole),
        ("opaque-changes-record", lambda a: not a.kept, "the record as it was"),
    )
    for code, is_bad, expected in looks:
        bad = [(r, a) for r, a in zip(samples, answers, strict=False) if is_bad(a)]
        if bad:
            record, answer = min(bad, key=lambda pair: len(line(pair[0])))
            answered = answer.said() if answer.kept else "a changed record"
            message = f"found {answered}, expected {expected}"
            yield finding(code, use.where, message, {"record": record, "value": answer.said()})


def _is_within(value: object, low: int, high: int) -> bool:
    """Return whether a whole number is in the range; anything else is another finding."""
    return type(value) is not int or low <= value <= high


def _slow(use: _Use, record: JSON, answer: Answer) -> Diagnostic:
    size, milliseconds = len(line(record)), round(answer.milliseconds) if answer.ended else None
    cpu_time = "no end" if milliseconds is None else f"{milliseconds} ms of CPU time"
    message = f"found {cpu_time} for a record of {size} bytes, expected at most {LIMIT_MS} ms"
    return finding(_SLOW, use.where, message, {"size": size, "milliseconds": milliseconds})


def is_not_to_be_called(found: Diagnostic) -> bool:
    """Return whether a finding is of a fact that is slow, does not end or reaches out."""
    return found.code in (_SLOW, *REFUSED)
