"""Linting a rule set: every check asked, every finding with its place in the file."""

from __future__ import annotations

from collections.abc import Collection

import attrs

from tallystick.diagnostics import Diagnostic, problem
from tallystick.errors import RuleSetError
from tallystick.governance.lint.catalog import CHECKS
from tallystick.governance.lint.check import Check
from tallystick.governance.lint.load_errors import unbound, unloaded
from tallystick.governance.lint.suppressions import Suppressed, apart, mistakes
from tallystick.io.paths import PathLike
from tallystick.plugins.registry import Registry, installed_plugins
from tallystick.rules.findings import Finding, dotted
from tallystick.rules.loading import find, load
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.scorer import Scorer, bind


@attrs.frozen
class Report:
    """The findings of the linter, in the order of the file.

    Attributes:
        rule_set: its ``name@version``; of one that does not load, what it was referred to by.
        findings: those that the rule set does not silence; beside another report, the new ones.
        silenced: those that it silences, with its reasons; beside another, the newly silenced.
        loaded: whether it loads; of one that does not, only that is known.
        against: the rule set that it is compared with, if with any.
        gone: what is found in that one and no longer in this.
    """

    rule_set: str
    findings: tuple[Diagnostic, ...]
    silenced: tuple[Suppressed, ...] = ()
    loaded: bool = True
    against: str | None = None
    gone: tuple[Diagnostic, ...] = ()

    def of(
        self, selected: Collection[str] | None = None, ignored: Collection[str] | None = None
    ) -> Report:
        """The findings of some codes; why a rule set does not load is always reported."""
        if not self.loaded:
            return self
        return attrs.evolve(
            self,
            findings=tuple(f for f in self.findings if _is_asked(f, selected, ignored)),
            silenced=tuple(s for s in self.silenced if _is_asked(s.finding, selected, ignored)),
        )

    def since(self, old: Report) -> Report:
        """Only what is new beside the findings in another rule set, and what is gone.

        A finding is the same if its code, severity, path and message are: other figures are
        another finding. What is only silenced now is not gone, but newly silenced.
        """
        told = {_identity(f) for f in old.findings}
        excused = {_identity(s.finding) for s in old.silenced}
        here = {_identity(f) for f in self.every}
        return attrs.evolve(
            self,
            findings=tuple(f for f in self.findings if _identity(f) not in told),
            silenced=tuple(s for s in self.silenced if _identity(s.finding) not in excused),
            against=old.rule_set,
            gone=tuple(f for f in old.every if _identity(f) not in here),
        )

    @property
    def every(self) -> tuple[Diagnostic, ...]:
        """What is found, silenced or not."""
        return (*self.findings, *(each.finding for each in self.silenced))


def lint(reference: PathLike, registry: Registry | None = None) -> tuple[Diagnostic, ...]:
    """The findings that a rule set does not silence, in the order of the file.

    Args:
        reference: ``name@version``, a path, or a digest, as for loading.
        registry: the plugins to use; by default the installed ones.

    Raises:
        RuleSetError: there is no such file, or it cannot be read; what does not load is a finding.
    """
    return report(reference, registry).findings


def report(reference: PathLike, registry: Registry | None = None) -> Report:
    """As ``lint``, with what is silenced."""
    known = registry or installed_plugins()
    try:
        loaded = load(reference, known)
    except RuleSetError as error:
        if not find(reference, known).is_readable:
            raise
        return Report(
            str(reference), _in_order(list(unloaded(_counted(error, str(reference))))), loaded=False
        )
    try:
        scorer = bind(loaded, loaded.registry)
    except RuleSetError as error:
        found = _in_order(list(unbound(loaded, loaded.registry, error)))
        return Report(loaded.rule_set.reference, found, loaded=False)
    return report_of(scorer)


def _counted(error: RuleSetError, file: str) -> tuple[Diagnostic, ...]:
    """The problems that an error tells, and how many it does not."""
    if not error.more:
        return error.problems
    return *error.problems, problem(file, 0, "", f"{error.more} more problems", "none")


def report_of(scorer: Scorer) -> Report:
    """The findings in a rule set that is loaded."""
    silences = scorer.rule_set.lint.silence
    loaded = scorer.loaded
    found = [_placed(c, each, loaded) for c in CHECKS.values() for each in c.find(scorer)]
    found += [_placed(c, each, loaded) for c, each in mistakes(silences, CHECKS, found)]
    reported, silenced = apart(_in_order(found), silences, CHECKS)
    return Report(scorer.rule_set.reference, tuple(reported), tuple(silenced))


def _identity(finding: Diagnostic) -> tuple[str, ...]:
    """What a finding says, wherever in its file."""
    return finding.code, finding.severity, finding.path, finding.message


def _is_asked(
    finding: Diagnostic, selected: Collection[str] | None, ignored: Collection[str] | None
) -> bool:
    return (selected is None or finding.code in selected) and finding.code not in (ignored or ())


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


def _in_order(findings: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(findings, key=lambda f: (f.line, f.path, f.code, f.message)))
