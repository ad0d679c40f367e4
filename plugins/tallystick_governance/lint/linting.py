"""Linting a rule set: every check asked, every finding with its place in the file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.diagnostics import SEVERITIES, Diagnostic, problem
from tallystick.errors import RuleSetError
from tallystick.io.paths import PathLike
from tallystick.io.text import escaped
from tallystick.numbers.text import fraction, numbered
from tallystick.plugins.entries import RefusedPluginError, failure
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.findings import Finding
from tallystick.rules.loading import find, load
from tallystick.rules.model import Silence
from tallystick.rules.reading import LoadedRuleSet
from tallystick.rules.toml import dotted
from tallystick.scoring.lint import Check
from tallystick.scoring.scorer import Scorer, bind
from tallystick_governance.lint.catalog import Catalog, installed_lints
from tallystick_governance.lint.load_errors import unbound, unloaded
from tallystick_governance.lint.settings import renumbered
from tallystick_governance.lint.suppressions import (
    NEW,
    OUTGROWN,
    PlacedSilence,
    Suppressed,
    apart,
    beyond_silences,
    bounds_of,
    exceeded,
    is_of_same_place,
    is_slightly_beyond,
    is_wider,
    mistakes,
    outgrown,
    worst_of,
)

_OF_SILENCES = frozenset({NEW, OUTGROWN})
"""Codes that go with the code that is silenced where codes are selected."""

MUCH_WEIGHT = Fraction(1, 10)
"""Largest share of all weight that a change moves without its warnings being errors."""


@attrs.frozen
class Report:
    """The findings of the linter, in the order of the file.

    Attributes:
        rule_set: its ``name@version``; of one that does not load, what it was referred to by.
        findings: those that the rule set does not silence; beside another report, the new ones.
        silenced: those that it silences, with its reasons; beside another, those that changed.
        loaded: whether it loads; of one that does not, only that is known.
        against: the rule set that it is compared with, if with any.
        gone: what is found in that one and no longer in this, with whatever figures.
        silences: of the rule set, each with where it stands.
        checks: those that were made, by code.
        refused: why checks of an owner, or one of its checks, were not made, by name.
        scorer: of the rule set, for comparisons with another; None of one that does not load.
    """

    rule_set: str
    findings: tuple[Diagnostic, ...]
    silenced: tuple[Suppressed, ...] = ()
    loaded: bool = True
    against: str | None = None
    gone: tuple[Diagnostic, ...] = ()
    silences: tuple[PlacedSilence, ...] = ()
    checks: Mapping[str, Check] = attrs.field(factory=dict, repr=False)
    refused: Mapping[str, str] = attrs.field(factory=dict)
    scorer: Scorer | None = attrs.field(default=None, eq=False, repr=False)

    def of(
        self, selected: Collection[str] | None = None, ignored: Collection[str] | None = None
    ) -> Report:
        """Return the findings of some codes; why a rule set does not load is always reported.

        What is wrong with a silence goes with the code that it silences.
        """
        if not self.loaded:
            return self
        return attrs.evolve(
            self,
            findings=tuple(f for f in self.findings if _is_asked(f, selected, ignored)),
            silenced=tuple(s for s in self.silenced if _is_asked(s.finding, selected, ignored)),
            gone=tuple(f for f in self.gone if _is_asked(f, selected, ignored)),
        )

    def since(
        self,
        old: Report,
        weight_moved: Callable[[], Fraction | None] | None = None,
        asked: Collection[str] = (),
    ) -> Report:
        """Return what is new beside the findings in another rule set, and what is gone.

        A finding is the same if its code, severity, path and message are. One at the same place
        with other figures is new, with what was found ``before`` in its evidence. A silence counts
        only if the other rule set has it, for what is found there, with its figures. What
        comparisons find is always new.

        Args:
            old: the report of the older rule set.
            weight_moved: returns the share of all weight that the change moves, in [0, 1], or None
                where it is not known: beyond `MUCH_WEIGHT`, warnings of comparisons are errors. It
                is called where there is such a warning.
            asked: the codes of comparisons that are asked on request alone.
        """
        old = _placed_as_in(self, old)
        eased = _eased(self, old)
        compared, excused, refused = _compared(self, old, weight_moved, asked)
        before = _partners((*eased, *(s.finding for s in self.silenced)), old.every)
        reported = {id(suppressed) for suppressed in old.findings}
        findings = [
            _beside(finding, before.get(id(finding)), self.checks)
            for finding in eased
            if not _is_same(finding, before.get(id(finding)), self.checks, reported)
        ]
        silenced: list[Suppressed] = []
        for suppressed in self.silenced:
            partner = before.get(id(suppressed.finding))
            judged = list(_unexcused(suppressed, partner, old, self.checks))
            findings += judged
            is_repeated = partner is not None and _is_same(suppressed.finding, partner, self.checks)
            if not judged and not (is_repeated and id(partner) not in reported):
                silenced.append(suppressed)
        findings += compared
        for suppressed in excused:
            if _is_silenced_in(old, suppressed.silence, self.checks):
                silenced.append(suppressed)
            else:
                findings.append(suppressed.finding)
        findings += _new_silences(self, old, (*self.silenced, *excused))
        paired = {id(suppressed) for suppressed in before.values()}
        return attrs.evolve(
            self,
            findings=_in_order(findings),
            silenced=tuple(silenced),
            against=old.rule_set,
            refused=refused,
            gone=tuple(f for f in old.every if id(f) not in paired),
        )

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """The findings, silenced or not."""
        return (*self.findings, *(suppressed.finding for suppressed in self.silenced))


def _placed_as_in(new: Report, old: Report) -> Report:
    """Return a report with the paths that its findings and silences have in the newer file.

    A step before another moves it on in its list: what is found of it is the same all the same.
    """
    if new.scorer is None or old.scorer is None:
        return old
    moved = renumbered(old.scorer.loaded, new.scorer.loaded)
    if not moved:
        return old

    def placed(path: str) -> str:
        for before, after in moved.items():
            if path == before or path.startswith((f"{before}.", f"{before}[")):
                return after + path.removeprefix(before)
        return path

    def silence_of(silence: Silence) -> Silence:
        return attrs.evolve(silence, path=silence.path and placed(silence.path))

    return attrs.evolve(
        old,
        findings=tuple(attrs.evolve(f, path=placed(f.path)) for f in old.findings),
        silenced=tuple(
            attrs.evolve(
                suppressed,
                finding=attrs.evolve(suppressed.finding, path=placed(suppressed.finding.path)),
                silence=silence_of(suppressed.silence),
            )
            for suppressed in old.silenced
        ),
        silences=tuple(
            attrs.evolve(each, silence=silence_of(each.silence)) for each in old.silences
        ),
    )


def lint(
    reference: PathLike, registry: Registry | None = None, lints: Catalog | None = None
) -> tuple[Diagnostic, ...]:
    """Return the findings that a rule set does not silence, in the order of the file.

    Args:
        reference: ``name@version``, a path, or a digest, as for loading.
        registry: the plugins to use; by default the installed ones.
        lints: the checks to make; by default those of the installed owners.

    Raises:
        RuleSetError: there is no such file, or it cannot be read; what does not load is a finding.
    """
    return report(reference, registry, lints).findings


def report(
    reference: PathLike, registry: Registry | None = None, lints: Catalog | None = None
) -> Report:
    """Return the findings of `lint`, with those that are silenced."""
    plugins, catalog = registry or installed_plugins(), lints or installed_lints()
    try:
        loaded = load(reference, plugins)
    except RuleSetError as error:
        if not find(reference, plugins).is_readable:
            raise
        findings = _in_order(unloaded(_counted(error, str(reference))))
        return Report(str(reference), findings, loaded=False, checks=catalog.checks)
    try:
        scorer = bind(loaded, loaded.registry)
    except RuleSetError as error:
        findings = _in_order(unbound(loaded, loaded.registry, error))
        reference = loaded.rule_set.reference
        return Report(reference, findings, loaded=False, checks=catalog.checks)
    return report_of(scorer, catalog)


def _counted(error: RuleSetError, file: str) -> tuple[Diagnostic, ...]:
    """Return the problems that an error tells, and how many it does not."""
    if not error.more:
        return error.problems
    return *error.problems, problem(file, 0, "", f"{error.more} more problems", "none")


def report_of(scorer: Scorer, lints: Catalog | None = None) -> Report:
    """Return the findings in a rule set that is loaded, by some checks or the installed ones."""
    catalog = lints or installed_lints()
    checks, refused = catalog.checks, dict(catalog.refused)
    silences = scorer.rule_set.lint.silence
    loaded = scorer.loaded
    findings = list[Diagnostic]()
    for check in checks.values():
        if check.find is None:
            continue
        try:
            findings += _found(check, partial(check.find, scorer), loaded)
        except RefusedPluginError as error:
            refused[check.code] = str(error)
    findings += [_placed(c, mistake, loaded) for c, mistake in mistakes(silences, checks, findings)]
    reported, silenced = apart(_in_order(findings), silences, checks)
    reported += list(beyond_silences(tuple(reported), silences, checks))
    places = tuple(
        PlacedSilence(silence, path, str(loaded.path), loaded.document.line(path))
        for number, silence in enumerate(silences)
        for path in [("lint", "silence", number)]
    )
    return Report(
        scorer.rule_set.reference,
        _in_order(reported),
        tuple(silenced),
        silences=places,
        checks=checks,
        refused=refused,
        scorer=scorer,
    )


def _found(
    check: Check, find: Callable[[], Iterable[Finding]], loaded: LoadedRuleSet
) -> list[Diagnostic]:
    """Return the findings of a check in a rule set.

    Raises:
        RefusedPluginError: a stranger's check fails, or gives what is no finding.
    """
    if "/" not in check.code:
        return [_placed(check, finding, loaded) for finding in find()]
    try:
        findings = [_placed(check, finding, loaded) for finding in find()]
        for finding in findings:
            # what is compared with silences and printed as JSON, tried where its owner is known
            check.figures_of(finding.evidence)
            canonical_bytes(
                [escaped(finding.message), finding.evidence, SEVERITIES.index(finding.severity)]
            )
    except Exception as error:  # whatever a stranger's code raises, the other checks are made
        raise RefusedPluginError("check-failed", f"it failed: {failure(error)}") from error
    return findings


def _identity(finding: Diagnostic) -> tuple[str, ...]:
    """Return what a finding says, wherever in its file."""
    return finding.code, finding.severity, finding.path, finding.message


def _place(finding: Diagnostic) -> tuple[str, ...]:
    return finding.code, finding.path


def _partners(findings: Sequence[Diagnostic], older: Sequence[Diagnostic]) -> dict[int, Diagnostic]:
    """Return by identity of object which older finding each is: the same, else of its place."""
    partners: dict[int, Diagnostic] = {}
    left = list(older)
    for key in (_identity, _place):
        waiting: dict[tuple[str, ...], list[Diagnostic]] = {}
        for older_finding in left:
            waiting.setdefault(key(older_finding), []).append(older_finding)
        for finding in findings:
            if id(finding) not in partners and waiting.get(key(finding)):
                partners[id(finding)] = waiting[key(finding)].pop(0)
        left = [older_finding for rest in waiting.values() for older_finding in rest]
    return partners


def _is_same(
    finding: Diagnostic,
    partner: Diagnostic | None,
    checks: Mapping[str, Check],
    among: Collection[int] | None = None,
) -> bool:
    """Return whether a partner has the same message and figures, and is one of some objects."""
    if partner is None or _identity(finding) != _identity(partner):
        return False
    figures_of = checks[finding.code].figures_of
    if figures_of(finding.evidence) != figures_of(partner.evidence):
        return False
    return among is None or id(partner) in among


def _beside(
    finding: Diagnostic, partner: Diagnostic | None, checks: Mapping[str, Check]
) -> Diagnostic:
    """Return a finding with what was found at its place before."""
    if partner is None or _is_same(finding, partner, checks):
        return finding
    return attrs.evolve(finding, evidence={**finding.evidence, "before": partner.message})


def _unexcused(
    suppressed: Suppressed,
    partner: Diagnostic | None,
    old: Report,
    checks: Mapping[str, Check],
) -> Iterator[Diagnostic]:
    """Find what is silenced and what no silence of the older rule set was written for."""
    finding, silence = suppressed.finding, suppressed.silence
    check = checks[finding.code]
    if _is_same(finding, partner, checks):
        return  # a silence that is new is reported by itself
    older = [s.silence for s in old.silences if not is_wider(silence, s.silence, check)]
    if partner is None or not older:
        yield _beside(finding, partner, checks)
        return
    there = [other for other in old.every if _place(other) == _place(finding)]
    bounds = {**worst_of(there, check), **bounds_of(older[0])}
    beyond = exceeded(finding, bounds, check)
    if beyond or not check.figures_of(finding.evidence):
        yield _beside(finding, partner, checks)
        yield outgrown(finding, beyond, check, checks[OUTGROWN])


def _eased(report: Report, old: Report) -> list[Diagnostic]:
    """Return what is reported; what is a little beyond a silence that both have is a note."""
    slight = {
        (finding.code, finding.path)
        for finding in report.findings
        for placed in report.silences
        if is_slightly_beyond(finding, placed.silence, report.checks[finding.code])
        and _is_silenced_in(old, placed.silence, report.checks)
    }
    return [
        attrs.evolve(finding, severity="note")
        if (finding.evidence.get("silenced", finding.code), finding.path) in slight
        else finding
        for finding in report.findings
    ]


def _compared(
    report: Report,
    old: Report,
    weight_moved: Callable[[], Fraction | None] | None,
    asked: Collection[str],
) -> tuple[list[Diagnostic], list[Suppressed], Mapping[str, str]]:
    """Return what comparisons find, what of it the newer rule set silences, and what is refused."""
    new = report.scorer
    if new is None or old.scorer is None:
        return [], [], report.refused
    findings, refused = list[Diagnostic](), dict(report.refused)
    for check in report.checks.values():
        if check.compare is None or (check.on_request and check.code not in asked):
            continue
        try:
            findings += _found(check, partial(check.compare, old.scorer, new), new.loaded)
        except RefusedPluginError as error:
            refused[check.code] = str(error)
    if weight_moved is not None and any(f.severity == "warning" for f in findings):
        moved = weight_moved()
        if moved is not None and moved > MUCH_WEIGHT:
            findings = [_raised(finding, moved) for finding in findings]
    return *apart(_in_order(findings), new.rule_set.lint.silence, report.checks), refused


def _raised(finding: Diagnostic, weight_moved: Fraction) -> Diagnostic:
    """Return a finding with the weight that the change moves: a warning is an error."""
    evidence = {**finding.evidence, "weight_moved": fraction(weight_moved)}
    severity = "error" if finding.severity == "warning" else finding.severity
    return attrs.evolve(finding, severity=severity, evidence=evidence)


def _is_silenced_in(old: Report, silence: Silence, checks: Mapping[str, Check]) -> bool:
    """Return whether another rule set has a silence, or one that covers all that it does."""
    check = checks.get(silence.code)
    return any(not is_wider(silence, older.silence, check) for older in old.silences)


def _new_silences(
    report: Report, old: Report, silenced: Sequence[Suppressed]
) -> Iterator[Diagnostic]:
    """Find the silences that the older rule set has not, or only with lesser figures."""
    for placed in report.silences:
        silence = placed.silence
        if _is_silenced_in(old, silence, report.checks):
            continue
        hidden = [s.finding for s in silenced if s.silence is silence]
        same = [s for s in old.silences if is_of_same_place(silence, s.silence)]
        where = f" at {silence.path}" if silence.path else ""
        lacks = "does not silence it" if not same else "silences it up to lesser figures"
        yield Diagnostic(
            code=NEW,
            severity=report.checks[NEW].severity,
            file=placed.file,
            line=placed.line,
            path=dotted(placed.path),
            message=(
                f"{silence.code}{where} is silenced, and {old.rule_set} {lacks}: "
                f"lint is to leave out {numbered(len(hidden), 'finding')}"
            ),
            evidence={
                "silenced": silence.code,
                "reason": silence.reason,
                "figures": {name: str(number) for name, number in silence.figures.items()},
                "left_out": [f"{f.severity}: {f.message}" for f in hidden],
            },
            remedy=report.checks[NEW].remedy,
        )


def _is_asked(
    finding: Diagnostic, selected: Collection[str] | None, ignored: Collection[str] | None
) -> bool:
    codes = {finding.code}
    if finding.code in _OF_SILENCES:
        codes.add(str(finding.evidence["silenced"]))
    return (selected is None or not codes.isdisjoint(selected)) and codes.isdisjoint(ignored or ())


def _placed(check: Check, found: Finding, loaded: LoadedRuleSet) -> Diagnostic:
    return Diagnostic(
        code=check.code,
        severity=found.severity or check.severity,
        file=str(loaded.path),
        line=loaded.document.line(found.path),
        path=dotted(found.path),
        message=found.message,
        evidence=found.evidence,
        remedy=check.remedy,
    )


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line, f.path, f.code, f.message)))
