"""The best candidate of the sweeps of a back-test, as a rule-set file."""

from __future__ import annotations

from pathlib import Path

import attrs

from tallystick.errors import TallystickError
from tallystick_governance.backtest.candidates import Candidate
from tallystick_governance.backtest.comparison import ranked
from tallystick_governance.backtest.selection import Selection
from tallystick_governance.revision import revise


@attrs.frozen
class Best:
    """The best candidate, as it was written.

    Attributes:
        candidate: its name in the back-test.
        by: by what it is the best.
        rule_set: the ``name@version`` of the file: the version is raised.
        digest: of that rule set.
        file: where it is.
    """

    candidate: str
    by: str
    rule_set: str
    digest: str
    file: str


def best_of(
    baseline: Candidate, found: Selection, file: Path, *, follow_links: bool = False
) -> Best:
    """Write the best candidate that a sweep made of the baseline, as `revise` revises it.

    Raises:
        TallystickError: no candidate is of a sweep alone: each is one that was given.
        OutputError: the file cannot be written.
    """
    swept = [each for each in found.every if each.identity.changes]
    if not swept:
        raise TallystickError(
            "found no candidate of a sweep beside those that were given, expected one to write"
        )
    best = ranked(swept, found.best_by)[0].identity
    revision = revise(baseline.rules, [(each.path, each.value) for each in best.changes])
    revision.write(file, follow_links=follow_links)
    new = revision.loaded
    return Best(best.name, found.best_by, new.rule_set.reference, new.digest, str(file))
