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
from tallystick.plugins.entries import failure
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
        against: the rule set that it is compared with, if with any.
        gone: what is found in that one and no longer in this, with whatever figures.
        checks: those that were made, by code.
        refused: why checks of an owner, or one of its checks, were not made, by name.
        scorer: of the rule set; None of one that does not load, of which only that is known.
    """

    rule_set: str
    findings: tuple[Diagnostic, ...]
    silenced: tuple[Suppressed, ...] = ()
    against: str | None = None
    gone: tuple[Diagnostic, ...] = ()
    checks: Mapping[str, Check] = attrs.field(factory=dict, repr=False)
    refused: Mapping[str, str] = attrs.field(factory=dict)
    scorer: Scorer | None = attrs.field(default=None, eq=False, repr=False)

    def of(
        self, selected: Collection[str] | None = None, ignored: Collection[str] | None = None
    ) -> Report:
        """Return the findings of some codes; why a rule set does not load is always reported.

        What is wrong with a silence goes with the code that it silences.
        """
        if self.scorer is None:
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
        older = _Older.of(old, self)
        partners = _partners(self.every, older.findings)
        findings, silenced = list[Diagnostic](), list[Suppressed]()
        for finding in self.findings:
            partner = partners.get(id(finding))
            if not older.has(finding, partner) or id(partner) in older.hidden:
                findings.append(older.beside(older.eased(finding), partner))
        for suppressed in self.silenced:
            partner = partners.get(id(suppressed.finding))
            if older.has(suppressed.finding, partner):
                # a silence that is new is reported by itself
                silenced += [] if id(partner) in older.hidden else [suppressed]
            elif told := older.unexcused(suppressed, partner):
                findings += told
            else:
                silenced.append(suppressed)
        compared, excused, refused = _compared(self, old, weight_moved, asked)
        findings += compared
        for suppressed in excused:
            if older.allows(suppressed.silence):
                silenced.append(suppressed)
            else:
                findings.append(suppressed.finding)
        findings += older.new_silences((*self.silenced, *excused))
        paired = {id(partner) for partner in partners.values()}
        return attrs.evolve(
            self,
            findings=_in_order(findings),
            silenced=tuple(silenced),
            against=old.rule_set,
            refused=refused,
            gone=tuple(f for f in older.findings if id(f) not in paired),
        )

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """The findings, silenced or not."""
        return (*self.findings, *(suppressed.finding for suppressed in self.silenced))


@attrs.frozen(eq=False)
class _Older:
    """The report of the older rule set, at the places that its tables have in the newer file.

    Attributes:
        report: of the newer rule set.
        rule_set: the reference of the older one.
        findings: in the older one, silenced or not.
        hidden: which of them it silences, by identity of object.
        silences: of the older one.
    """

    report: Report
    rule_set: str
    findings: tuple[Diagnostic, ...]
    hidden: frozenset[int]
    silences: tuple[Silence, ...]

    @classmethod
    def of(cls, old: Report, new: Report) -> _Older:
        """Return the report of the older rule set beside that of the newer one.

        A step before another moves it on in its list: what is found of it is the same all the same.
        """
        moved: Mapping[str, str] = {}
        if new.scorer is not None and old.scorer is not None:
            moved = renumbered(old.scorer.loaded, new.scorer.loaded)

        def placed(path: str) -> str:
            for before, after in moved.items():
                if path == before or path.startswith((f"{before}.", f"{before}[")):
                    return after + path.removeprefix(before)
            return path

        findings = tuple(attrs.evolve(f, path=placed(f.path)) for f in old.every)
        silences = (attrs.evolve(s, path=s.path and placed(s.path)) for s in _silences(old))
        hidden = frozenset(map(id, findings[len(old.findings) :]))
        return cls(new, old.rule_set, findings, hidden, tuple(silences))

    def has(self, finding: Diagnostic, partner: Diagnostic | None) -> bool:
        """Return whether a finding of the older one has the same message and figures."""
        if partner is None or _identity(finding) != _identity(partner):
            return False
        figures_of = self.report.checks[finding.code].figures_of
        return figures_of(finding.evidence) == figures_of(partner.evidence)

    def beside(self, finding: Diagnostic, partner: Diagnostic | None) -> Diagnostic:
        """Return a finding with what was found at its place before."""
        if partner is None or self.has(finding, partner):
            return finding
        return attrs.evolve(finding, evidence={**finding.evidence, "before": partner.message})

    def allows(self, silence: Silence) -> bool:
        """Return whether the older one has a silence, or one that covers all that it does."""
        check = self.report.checks.get(silence.code)
        return any(not is_wider(silence, older, check) for older in self.silences)

    def eased(self, finding: Diagnostic) -> Diagnostic:
        """Return a finding; what is a little beyond a silence that both have is a note."""
        found = self._outgrown_by(finding)
        check = self.report.checks[found.code]
        slight = any(
            is_slightly_beyond(found, silence, check) and self.allows(silence)
            for silence in _silences(self.report)
        )
        return attrs.evolve(finding, severity="note") if slight else finding

    def _outgrown_by(self, finding: Diagnostic) -> Diagnostic:
        """Return the finding that has outgrown its silence, of what says so; else the finding."""
        silenced = (finding.evidence.get("silenced"), finding.path)
        reported = self.report.findings if finding.code == OUTGROWN else ()
        return next((f for f in reported if _place(f) == silenced), finding)

    def unexcused(
        self, suppressed: Suppressed, partner: Diagnostic | None
    ) -> tuple[Diagnostic, ...]:
        """Return what is told of a finding that no silence of the older one was written for."""
        finding, checks = suppressed.finding, self.report.checks
        check = checks[finding.code]
        older = [s for s in self.silences if not is_wider(suppressed.silence, s, check)]
        if partner is None or not older:
            return (self.beside(finding, partner),)
        there = [other for other in self.findings if _place(other) == _place(finding)]
        beyond = exceeded(finding, {**worst_of(there, check), **bounds_of(older[0])}, check)
        if not beyond and check.figures_of(finding.evidence):
            return ()
        return self.beside(finding, partner), outgrown(finding, beyond, check, checks[OUTGROWN])

    def new_silences(self, silenced: Sequence[Suppressed]) -> Iterator[Diagnostic]:
        """Find the silences that the older one has not, or only with lesser figures."""
        scorer, check = self.report.scorer, self.report.checks[NEW]
        for number, silence in enumerate(_silences(self.report)):
            if scorer is None or self.allows(silence):
                continue
            hidden = [s.finding for s in silenced if s.silence is silence]
            same = [s for s in self.silences if is_of_same_place(silence, s)]
            where = f" at {silence.path}" if silence.path else ""
            lacks = "does not silence it" if not same else "silences it up to lesser figures"
            finding = Finding(
                ("lint", "silence", number),
                f"{silence.code}{where} is silenced, and {self.rule_set} {lacks}: "
                f"lint is to leave out {numbered(len(hidden), 'finding')}",
                {
                    "silenced": silence.code,
                    "reason": silence.reason,
                    "figures": {name: str(number) for name, number in silence.figures.items()},
                    "left_out": [f"{f.severity}: {f.message}" for f in hidden],
                },
            )
            yield _placed(check, finding, scorer.loaded)


def _silences(report: Report) -> tuple[Silence, ...]:
    return () if report.scorer is None else report.scorer.rule_set.lint.silence


def report(
    reference: PathLike, registry: Registry | None = None, lints: Catalog | None = None
) -> Report:
    """Return what is found in a rule set, silenced or not, each in the order of the file.

    Args:
        reference: ``name@version``, a path, or a digest, as for loading.
        registry: the plugins to use; by default the installed ones.
        lints: the checks to make; by default those of the installed owners.

    Raises:
        RuleSetError: there is no such file, or it cannot be read; what does not load is a finding.
    """
    plugins, catalog = registry or installed_plugins(), lints or installed_lints()
    try:
        loaded = load(reference, plugins)
    except RuleSetError as error:
        if not find(reference, plugins).is_readable:
            raise
        findings = _in_order(unloaded(_counted(error, str(reference))))
        return Report(str(reference), findings, checks=catalog.checks)
    try:
        scorer = bind(loaded, loaded.registry)
    except RuleSetError as error:
        findings = _in_order(unbound(loaded, loaded.registry, error))
        return Report(loaded.rule_set.reference, findings, checks=catalog.checks)
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
    made = ((c, partial(c.find, scorer)) for c in checks.values() if c.find is not None)
    findings = _made(made, loaded, refused)
    findings += [_placed(c, mistake, loaded) for c, mistake in mistakes(silences, checks, findings)]
    reported, silenced = apart(_in_order(findings), silences, checks)
    reported += list(beyond_silences(tuple(reported), silences, checks))
    return Report(
        scorer.rule_set.reference,
        _in_order(reported),
        tuple(silenced),
        checks=checks,
        refused=refused,
        scorer=scorer,
    )


def _made(
    checks: Iterable[tuple[Check, Callable[[], Iterable[Finding]]]],
    loaded: LoadedRuleSet,
    refused: dict[str, str],
) -> list[Diagnostic]:
    """Return the findings of some checks in a rule set.

    Args:
        checks: each with what finds; a stranger's may fail, or give what is no finding.
        loaded: the rule set.
        refused: gets why a check is not made, by its code.
    """
    findings = list[Diagnostic]()
    for check, asked in checks:
        if "/" not in check.code:
            findings += [_placed(check, finding, loaded) for finding in asked()]
            continue
        try:
            found = [_placed(check, finding, loaded) for finding in asked()]
            for finding in found:
                # what is compared with silences and printed as JSON, tried where its owner is known
                check.figures_of(finding.evidence)
                canonical_bytes(
                    [escaped(finding.message), finding.evidence, SEVERITIES.index(finding.severity)]
                )
        except (Exception, SystemExit) as error:  # noqa: BLE001  # the other checks are made
            refused[check.code] = f"it failed: {failure(error)}"
        else:
            findings += found
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
    refused = dict(report.refused)
    made = (
        (check, partial(check.compare, old.scorer, new))
        for check in report.checks.values()
        if check.compare is not None and (check.code in asked or not check.on_request)
    )
    findings = _made(made, new.loaded, refused)
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
