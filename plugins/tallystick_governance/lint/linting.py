"""Linting a rule set: every check asked, every finding with its place in the file."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.diagnostics import SEVERITIES, Diagnostic, problem
from tallystick.errors import RuleSetError
from tallystick.io.paths import PathLike
from tallystick.io.text import escaped
from tallystick.numbers.text import numbered
from tallystick.plugins.entries import RefusedPluginError, failure
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.findings import Finding, dotted
from tallystick.rules.loading import find, load
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.computation import NotAnalysed
from tallystick.scoring.lint import Check
from tallystick.scoring.scorer import Scorer, bind
from tallystick_governance.analysed import unknown_values
from tallystick_governance.lint.catalog import Catalog, installed_lints
from tallystick_governance.lint.load_errors import unbound, unloaded
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
    is_wider,
    mistakes,
    outgrown,
    worst_of,
)

_OF_SILENCES = frozenset({NEW, OUTGROWN})
"""Codes that go with the code that is silenced where codes are selected."""


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
        not_analysed: the values whose kind no check knows.
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
    not_analysed: tuple[NotAnalysed, ...] = ()

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

    def since(self, old: Report) -> Report:
        """Return what is new beside the findings in another rule set, and what is gone.

        A finding is the same if its code, severity, path and message are. One at the same place
        with other figures is new, with what was found ``before`` in its evidence. A silence counts
        only if the other rule set has it, for what is found there, with its figures.
        """
        before = _partners(self.every, old.every)
        reported = {id(suppressed) for suppressed in old.findings}
        findings = [
            _beside(finding, before.get(id(finding)), self.checks)
            for finding in self.findings
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
        findings += _new_silences(self, old)
        paired = {id(suppressed) for suppressed in before.values()}
        # a check that no longer understands a type finds nothing there, and nothing is gone
        unknown = tuple(f"{value.value.rpartition('.')[0]}." for value in self.not_analysed)
        return attrs.evolve(
            self,
            findings=_in_order(findings),
            silenced=tuple(silenced),
            against=old.rule_set,
            gone=tuple(
                f for f in old.every if id(f) not in paired and not f.path.startswith(unknown)
            ),
        )

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """The findings, silenced or not."""
        return (*self.findings, *(suppressed.finding for suppressed in self.silenced))


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
        try:
            findings += _found(check, scorer)
        except RefusedPluginError as error:
            refused[check.code] = str(error)
    findings += [_placed(c, mistake, loaded) for c, mistake in mistakes(silences, checks, findings)]
    reported, silenced = apart(_in_order(findings), silences, checks)
    reported += list(beyond_silences(tuple(reported), silences, checks))
    places = tuple(
        PlacedSilence(silence, path, str(loaded.path), loaded.positions.line(path))
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
        not_analysed=tuple(
            value
            for bound in scorer.types.values()
            for value in unknown_values(bound, "rules lint", "no check knows this kind")
        ),
    )


def _found(check: Check, scorer: Scorer) -> list[Diagnostic]:
    """Return the findings of a check.

    Raises:
        RefusedPluginError: a stranger's check fails, or gives what is no finding.
    """
    if "/" not in check.code:
        return [_placed(check, finding, scorer.loaded) for finding in check.find(scorer)]
    try:
        findings = [_placed(check, finding, scorer.loaded) for finding in check.find(scorer)]
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


def _new_silences(report: Report, old: Report) -> Iterator[Diagnostic]:
    """Find the silences that the older rule set has not, or only with lesser figures."""
    for placed in report.silences:
        silence = placed.silence
        check = report.checks.get(silence.code)
        if any(not is_wider(silence, older.silence, check) for older in old.silences):
            continue
        hidden = [s.finding for s in report.silenced if s.silence is silence]
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
        line=loaded.positions.line(found.path),
        path=dotted(found.path),
        message=found.message,
        evidence=found.evidence,
        remedy=check.remedy,
    )


def _in_order(findings: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line, f.path, f.code, f.message)))
