"""Mistakes that a council has to see: each is named by lint beside the rules in force."""

from __future__ import annotations

from pathlib import Path

import pytest
from linted import shipped

from tallystick_governance.lint.linting import Report, report

Change = tuple[str, str]
SKILLS, WORKFLOW = "skills@1.2.0", "workflow@1.2.0"
PART = '  { name = "part", do = "share", of = "average" },'
MEAN = '  { name = "part", do = "share", of = "mean", zero = "zero" }'
DONE = 'do = "collect", value = "quality", as = "count", last = 20, empty = 0'
WARM = 'do = "formula", formula = "allocation/warm-up@1", tasks = 100000'

MISTAKES: dict[str, tuple[str, tuple[Change, ...], str, str]] = {
    "a newcomer at the ceiling": (
        *(SKILLS, (("initial = 0.5 ", "initial = 1 "),)),
        *("newcomer-begins-high", "reputation.initial"),
    ),
    "a validator that ejects alone": (
        *(SKILLS, (("eject_at = 3", "eject_at = 1"), ("quorum = 2 ", "quorum = 1 "))),
        *("one-flag-ejects", "reputation.collusion.eject_at"),
    ),
    "31 samples in 30 rounds": (
        *(SKILLS, (("minimum_samples = 5", "minimum_samples = 31"),)),
        *("detection-never-fires", "reputation.collusion.detection.minimum_samples"),
    ),
    "ties by hotkey": (
        *(SKILLS, (('"round_and_hotkey_digest"', '"hotkey"'),)),
        *("ties-by-hotkey", "groups.ties"),
    ),
    "a verdict two steps off is worth more than one": (
        *(SKILLS, (("one_step = 0.6, two_steps = 0", "one_step = 0, two_steps = 1"),)),
        *("verdict-distance-pays", "consensus.components.verdict_agreement"),
    ),
    "findings within 5000 lines": (
        *(SKILLS, (("lines = 5, missing", "lines = 5000, missing"),)),
        *("finding-lines-wide", "consensus.finding_lines.lines"),
    ),
    "a score that is a sum": (
        SKILLS,
        (
            ('as = "weighted_mean"', 'as = "sum"'),
            ('times = ["reputation"], over = ["base_weight"], ', ""),
        ),
        *("volume-pays", "allocation.steps[0].as"),
    ),
    "an average of the newest value": (
        *(SKILLS, (("new = 0.2,", "new = 1,"),)),
        *("average-forgets", "allocation.steps[1].new"),
    ),
    "a filter above what there can be": (
        SKILLS,
        (
            (
                PART,
                '  { name = "kept", do = "filter", of = "average", above = 10 },\n'
                + PART.replace("average", "kept"),
            ),
        ),
        *("filter-above-all", "allocation.steps[2].above"),
    ),
    "a window of one task": (
        *(WORKFLOW, (("last = 100,", "last = 1,"),)),
        *("one-task-decides", "allocation.steps[0].last"),
    ),
    "a warm-up of 100 000 tasks": (
        WORKFLOW,
        (
            (
                MEAN,
                f'  {{ name = "done", {DONE} }},\n  {{ name = "warm", {WARM} }},\n'
                + MEAN.replace('"mean"', '"warm"'),
            ),
        ),
        *("warm-up-too-long", "allocation.steps[2]"),
    ),
}


@pytest.fixture(scope="module")
def in_force() -> dict[str, Report]:
    return {reference: report(reference) for reference in (SKILLS, WORKFLOW)}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake: str, in_force: dict[str, Report], tmp_path: Path) -> None:
    base, changes, code, path = MISTAKES[mistake]
    proposal = tmp_path / "proposal.toml"
    proposal.write_text(shipped(base, *changes), encoding="utf-8")
    findings = report(proposal).since(in_force[base]).findings
    named = {(each.code, each.path): each.severity for each in findings}
    assert named[code, path] in {"error", "warning"}
