"""Clauses: each kind with its sentence, the figure that it reads and the limit that it sets.

A judge returns whether the figure is within the limit, both as text, and what breaks it. Figures
are compared exactly; what is shown has nine places, rounded towards the limit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil, floor
from types import MappingProxyType
from typing import Any, Literal

import attrs

from tallystick.diagnostics import SEVERITIES, Diagnostic, Severity, nearest
from tallystick.numbers.nano import NANO, to_text
from tallystick.numbers.text import numbered
from tallystick.rules.model import Silence
from tallystick.rules.toml import decimal_text
from tallystick_governance.gate.evidence import ChangedAnswer, Evidence
from tallystick_governance.gate.measurement import NotAskedError, Pair, WeightFigures
from tallystick_governance.gate.policy import Clause
from tallystick_governance.lint.linting import Report
from tallystick_governance.lint.suppressions import NEW, OUTGROWN, apart
from tallystick_governance.prove.property import Status

_NONE = (Fraction(0), Fraction(0))
Outcome = Literal["kept", "broken", "not asked"]
"""The outcomes of a clause; one that cannot be asked is broken unless it is optional."""
_OF_SILENCES = frozenset({NEW, OUTGROWN})
_MOST_DETAILS = 20
"""Maximum number of details of a clause that are told; the rest are counted."""
_LONGEST = 300
"""Maximum length of a limit, a figure or a detail, in characters."""


@attrs.frozen
class Judgement:
    """A clause with its outcome.

    Attributes:
        clause: of the policy.
        outcome: kept, broken or not asked.
        limit: what the policy allows, as text.
        figure: what was measured, as text; or why it was not.
        details: what breaks the clause, if anything does.
        is_asked: whether it could be asked.
    """

    clause: Clause
    outcome: Outcome
    limit: str
    figure: str
    details: tuple[str, ...] = ()
    is_asked: bool = True

    @property
    def is_broken(self) -> bool:
        """True if the change does not pass by this clause."""
        return self.outcome == "broken"


@attrs.frozen
class Finding:
    """The figure of a clause.

    Attributes:
        is_kept: whether it is within the limit.
        figure: as text.
        details: what breaks the clause, if anything does.
    """

    is_kept: bool
    figure: str
    details: Sequence[str] = ()


@attrs.frozen
class ClauseKind:
    """A kind of clauses.

    Attributes:
        summary: what such a clause asks, in a sentence without a full stop.
        limit: returns its limit as text, by its options.
        judge: returns its figure, by its options and the evidence.
        measures: the figures that it reads of a world, such as a history; None of rules alone.
    """

    summary: str
    limit: Callable[[Mapping[str, Any]], str]
    judge: Callable[[Mapping[str, Any], Evidence], Finding]
    measures: Literal["weights", "deviations"] | None = None


def judged(clause: Clause, evidence: Evidence) -> Judgement:
    """Return a clause with its outcome."""
    kind = KINDS[clause.name]
    limit = _cut(kind.limit(clause.options))
    try:
        finding = kind.judge(clause.options, evidence)
    except NotAskedError as error:
        outcome: Outcome = "not asked" if clause.is_optional else "broken"
        return Judgement(clause, outcome, limit, _cut(f"not asked: {error}"), is_asked=False)
    outcome = "kept" if finding.is_kept else "broken"
    return Judgement(clause, outcome, limit, _cut(finding.figure), _first(finding.details))


def _first(details: Sequence[str]) -> tuple[str, ...]:
    """Return the first details, each cut, and how many others there are."""
    more = len(details) - _MOST_DETAILS
    texts = tuple(map(_cut, details[:_MOST_DETAILS]))
    return (*texts, f"and {more} more") if more > 0 else texts


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


# emissions and weights


def _growth(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    """Compare the emission of all records, and of each skill type, before and after."""
    limits = {name: Fraction(limit) for name, limit in options.get("skill_types", {}).items()}
    most = Fraction(options["factor"])
    worst, broken = Fraction(0), list[str]()
    for figures in evidence.weights:
        worst = max(worst, _ratio(figures.emission))
        named = [("all", figures.emission, most)]
        by_type = figures.emission_by_type
        if limits and by_type is None:
            raise NotAskedError("emissions of skill types are known of a HISTORY alone: name one")
        named += [(name, (by_type or {}).get(name, _NONE), most) for name, most in limits.items()]
        broken += [
            f"{name}: {_times(_ratio(pair))}, at most {_times(limit)}"
            for name, pair, limit in named
            if pair[1] > limit * pair[0]
        ]
    return Finding(not broken, _times(worst), [*dict.fromkeys(broken)])


def _moved(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    worst = max(evidence.weights, key=lambda figures: figures.moved)
    is_kept = worst.moved <= Fraction(options["share"])
    return Finding(is_kept, _up(worst.moved), () if is_kept else _movers(worst))


def _movers(figures: WeightFigures) -> list[str]:
    """Return the participants whose weights move most, the first first."""
    moves = sorted(
        figures.weights.items(), key=lambda item: (-abs(item[1][1] - item[1][0]), item[0])
    )
    return [
        f"{name}: {_up(before)} → {_up(after)}"
        for name, (before, after) in moves
        if before != after
    ]


def _nobody(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    before, after = max((figures.nobody for figures in evidence.weights), key=lambda pair: pair[1])
    text = f"{_up(after)}, {_up(before)} under the old rules"
    return Finding(after <= Fraction(options["share"]), text)


def _floor(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    """Compare the weight of each participant that had one with what is left of it."""
    least, minimum = Fraction(options["share"]), Fraction(options.get("minimum", 0))
    left = sorted(
        (after / before, name, before, after)
        for figures in evidence.weights
        for name, (before, after) in figures.weights.items()
        if before > 0 and before >= minimum
    )
    if not left:
        return Finding(True, "nobody had such a weight")
    below = [
        f"{name}: {_up(before)} → {_down(after)}, {_down(share)} of it"
        for share, name, before, after in left
        if share < least
    ]
    return Finding(not below, _down(left[0][0]), below)


def _deviation(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    """Compare what each deviation is worth; one that pays less than honest work may gain."""
    times, more = (None if n not in options else Fraction(options[n]) for n in ("times", "more"))
    every = evidence.deviations(options.get("strategies", ()))
    ends = [(pair, name) for figures in every for name, pair in figures.multiples.items()]
    broken = [
        f"{name}: {_times(after)} honest work, {_times(before)} under the old rules"
        for (before, after), name in sorted(ends, key=lambda item: (-item[0][1], item[1]))
        if (times is not None and after > times)
        or (more is not None and after > 1 and after > before + more)
    ]
    broken += [f"honest work in {name} is paid nothing" for each in every for name in each.unpaid]
    if not ends:
        return Finding(not broken, "no deviation has other rules", broken)
    (_, most), name = max(ends, key=lambda item: (item[0][1], item[1]))
    return Finding(not broken, f"{_times(most)} by {name}", [*dict.fromkeys(broken)])


# the linter


def _new_findings(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    """Count the findings that are new, by severity; what is wrong with silences is apart."""
    report = evidence.lint
    _check_lint(report, options)
    new = [f for f in _excused(report, options) if f.code not in _OF_SILENCES]
    limits = _limits_of_findings(options)
    counts = {severity: sum(f.severity == severity for f in new) for severity in SEVERITIES}
    over = [name for name, most in limits.items() if counts[name] > most]
    figure = ", ".join(numbered(counts[name], name) for name in limits)
    return Finding(not over, figure, [_found(f) for f in new if f.severity in over])


def _limits_of_findings(options: Mapping[str, Any]) -> dict[Severity, int]:
    """Return the most new findings by severity; a clause that names none allows no new error."""
    named: tuple[tuple[Severity, str], ...] = tuple((s, f"{s}s") for s in SEVERITIES)
    limits = {severity: options[key] for severity, key in named if key in options}
    return limits or {"error": 0}


def _forbidden(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    report = evidence.whole_lint
    _check_lint(report, options)
    # a rule set that silences a code has it all the same; comparisons find beside the old rules
    every = {(f.code, f.path, f.message): f for f in (*evidence.lint.every, *report.every)}
    left = _excused(attrs.evolve(report, findings=tuple(every.values())), options)
    found = [f for f in left if f.code in options["codes"]]
    return Finding(not found, numbered(len(found), "finding"), [*map(_found, found)])


def _new_silences(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    report = evidence.lint
    _check_lint(report, options)
    found = [
        finding
        for finding in report.findings
        if finding.code in _OF_SILENCES and not _is_excused(finding, report, options)
    ]
    return Finding(not found, numbered(len(found), "silence"), [*map(_found, found)])


def _is_excused(finding: Diagnostic, report: Report, options: Mapping[str, Any]) -> bool:
    """Return whether an exception is of the code that a finding says is silenced."""
    code = str(finding.evidence["silenced"])
    if code not in report.checks:
        return False
    # as it was found before somebody silenced it
    silenced = attrs.evolve(finding, code=code, severity=report.checks[code].severity)
    return not apart([silenced], _silences(options), report.checks)[0]


def _check_lint(report: Report, options: Mapping[str, Any]) -> None:
    """Refuse a report that is not whole, and codes that no check has.

    Raises:
        NotAskedError: a check was not made, or there is no such code.
    """
    if report.refused:
        name, reason = next(iter(report.refused.items()))
        raise NotAskedError(f"the check {name} was not made: {reason}")
    named = [*options.get("codes", ()), *(e["code"] for e in options.get("except", ()))]
    for code in named:
        if code not in report.checks:
            raise NotAskedError(f"there is no check {code}{nearest(code, report.checks)}")


def _excused(report: Report, options: Mapping[str, Any]) -> list[Diagnostic]:
    """Return the findings that the exceptions of a clause do not excuse."""
    silences = _silences(options)
    return apart(report.findings, silences, report.checks)[0] if silences else [*report.findings]


def _silences(options: Mapping[str, Any]) -> list[Silence]:
    return [Silence(e["code"], e["reason"], e.get("path", "")) for e in options.get("except", ())]


def _found(finding: Diagnostic) -> str:
    place = f"{finding.path}: " if finding.path else ""
    return f"{finding.severity} {finding.code}: {place}{finding.message}"


# proofs and the difference


def _undecided(options: Mapping[str, Any], evidence: Evidence) -> Finding:
    new = _worse(evidence, "undecided", (None, "proved"))
    late = [worse for worse in new if worse.is_late]
    most = options.get("at_most", 0)
    decided = [worse for worse in new if worse not in late]
    if late and len(decided) <= most:
        raise _late(late)
    return Finding(len(new) <= most, numbered(len(new), "question"), [*map(_question, new)])


def _refuted(_: Mapping[str, Any], evidence: Evidence) -> Finding:
    new = _worse(evidence, "counterexample", (None, "proved", "undecided"))
    undecided = _worse(evidence, "undecided", (None, "proved"))
    late = [worse for worse in (*new, *undecided) if worse.is_late]
    if late and all(worse.is_late for worse in new):
        raise _late(late)
    return Finding(not new, numbered(len(new), "question"), [*map(_question, new)])


def _worse(
    evidence: Evidence, status: Status, before: tuple[Status | None, ...]
) -> list[ChangedAnswer]:
    answers = evidence.worse_answers
    return [w for w in answers if w.answer.status == status and w.before in before]


def _late(late: Sequence[ChangedAnswer]) -> NotAskedError:
    many = numbered(len(late), "question")
    return NotAskedError(f"{many} had no answer in time: raise measure.proof_seconds")


def _question(worse: ChangedAnswer) -> str:
    answer = worse.answer
    about = f", {answer.about}" if answer.about else ""
    text = f"{answer.property} of {answer.skill_type}, {answer.axis}{about}"
    return f"{text}: {worse.before or 'no answer'} → {answer.status}"


def _version(_: Mapping[str, Any], evidence: Evidence) -> Finding:
    found = evidence.difference
    if not found.same_line:
        return Finding(True, "two lines of rule sets, so no version is asked of it")
    raised = f"{found.old} → {found.new}, which raises {found.raised}"
    return Finding(found.is_enough, f"needs {found.needed}: {raised}", found.gone)


def _not_analysed(_: Mapping[str, Any], evidence: Evidence) -> Finding:
    unknown = evidence.difference.unknown
    return Finding(not unknown, numbered(len(unknown), "value"), [*map(str, unknown)])


# numbers as text


def _ratio(pair: Pair) -> Fraction:
    """Return new over old; of nothing before, 1 where there is nothing after, else the new."""
    before, after = pair
    return after / before if before else after or Fraction(1)


def _up(value: Fraction) -> str:
    return to_text(ceil(value * NANO))


def _down(value: Fraction) -> str:
    return to_text(floor(value * NANO))


def _times(value: Fraction) -> str:
    return f"{_up(value)} ×"


def _number(key: str, text: str, options: Mapping[str, Any]) -> str:
    return text.format(decimal_text(Decimal(options[key])))


def _text(text: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _: text


def _limit_of_floor(options: Mapping[str, Any]) -> str:
    text = _number("share", "at least {} of the old weight", options)
    return text + (_number("minimum", ", from {} on", options) if "minimum" in options else "")


def _limit_of_deviation(options: Mapping[str, Any]) -> str:
    parts = [("times", "{} × honest work"), ("more", "{} × more than under the old rules")]
    texts = [_number(key, text, options) for key, text in parts if key in options]
    return f"at most {', and '.join(texts)}"


KINDS: Mapping[str, ClauseKind] = MappingProxyType(
    {
        "emission.growth_at_most": ClauseKind(
            "The emission of all records grows by at most a factor",
            partial(_number, "factor", "at most {} ×"),
            _growth,
            measures="weights",
        ),
        "weight.moved_at_most": ClauseKind(
            "At most a share of all weight changes hands",
            partial(_number, "share", "at most {} of all weight"),
            _moved,
            measures="weights",
        ),
        "weight.nobody_at_most": ClauseKind(
            "At most a share of all weight goes to nobody",
            partial(_number, "share", "at most {} of all weight"),
            _nobody,
            measures="weights",
        ),
        "weight.floor": ClauseKind(
            "Nobody who had a weight falls below a part of it",
            _limit_of_floor,
            _floor,
            measures="weights",
        ),
        "lint.new_findings": ClauseKind(
            "The linter finds no more than before, by severity",
            lambda options: ", ".join(
                f"at most {numbered(most, f'new {severity}')}"
                for severity, most in _limits_of_findings(options).items()
            ),
            _new_findings,
        ),
        "lint.forbidden": ClauseKind(
            "The linter finds none of some codes",
            lambda options: f"no {', '.join(options['codes'])}",
            _forbidden,
        ),
        "lint.new_silences": ClauseKind(
            "No silence is new, and none is outgrown",
            _text("no silence that is new or outgrown"),
            _new_silences,
        ),
        "prove.new_undecided": ClauseKind(
            "No question is undecided that was proved, or is new",
            lambda options: f"at most {numbered(options.get('at_most', 0), 'question')}",
            _undecided,
        ),
        "prove.new_refuted": ClauseKind(
            "No property is refuted that was not before",
            _text("no question"),
            _refuted,
        ),
        "diff.version": ClauseKind(
            "The version is raised as far as the change needs",
            _text("what the change needs"),
            _version,
        ),
        "diff.not_analysed": ClauseKind(
            "No value differs whose kind has no bounds",
            _text("no value"),
            _not_analysed,
        ),
        "simulation.deviation_gain_at_most": ClauseKind(
            "Honest work stays the best response",
            _limit_of_deviation,
            _deviation,
            measures="deviations",
        ),
    }
)
"""Kinds of clauses by the path of their table in a policy."""
