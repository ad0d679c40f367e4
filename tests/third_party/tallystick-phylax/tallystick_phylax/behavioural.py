"""A task of a behavioural track: the verdict, what it counts as, and how good the findings are."""

from tallystick.plugins.author import (
    UNIT,
    Formula,
    Node,
    Parameters,
    cases,
    clip,
    label,
    measure,
    published,
    root,
)
from tallystick_phylax.record import (
    allowed,
    completed,
    findings,
    is_labelled,
    is_malicious,
    warned,
)

_FLAGGED = label("flagged", 2 * allowed < completed)
"""Whether the verdict is WARN or BLOCK: fewer than half of the runs say ALLOW."""


@measure("phylax/verdict@1", within=(0, 2), applies=completed > 0)
def verdict(_p: Parameters) -> Node:
    """The lower median of the completed repetitions: 0 ALLOW, 1 WARN, 2 BLOCK."""
    return cases(
        (2 * allowed >= completed, 0),
        (2 * (allowed + warned) >= completed, 1),
        otherwise=2,
    )


def _counted(name: str, truth: Node, answer: Node) -> Formula:
    @measure(f"phylax/{name}@1", within=UNIT)
    def counted(_p: Parameters) -> Node:
        """1 for a task that counts as such, 0 for any other; one without a verdict is none."""
        return cases((is_labelled & (completed > 0) & truth & answer, 1), otherwise=0)

    return counted


tp = _counted("tp", is_malicious, _FLAGGED)
fn = _counted("fn", is_malicious, ~_FLAGGED)
fp = _counted("fp", ~is_malicious, _FLAGGED)
tn = _counted("tn", ~is_malicious, ~_FLAGGED)

_matched, _expected, _reported = findings("checks.findings")


@measure(
    "phylax/findings@1",
    within=UNIT,
    applies=is_labelled & (completed > 0) & (_expected > 0),
)
def quality(_p: Parameters) -> Node:
    """F1 of the findings of a task that has some, 0 where the verdict is wrong."""
    is_right = (is_malicious & _FLAGGED) | (~is_malicious & ~_FLAGGED)
    return cases(
        (_expected == 0, 0),
        (is_right, 2 * _matched / (_reported + _expected)),
        otherwise=0,
    )


@measure(
    "phylax/score@1",
    within=UNIT,
    correctness=UNIT,
    quality=UNIT,
    sums_to_one=("correctness", "quality"),
)
def score(p: Parameters) -> Node:
    """MCC of the verdicts, at least 0, with the mean quality of the findings where there is one."""
    tp, fp, tn, fn, q = map(published, ("tp", "fp", "tn", "fn", "q"))
    margins = label("margins", (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
    # at most 1 by Cauchy and Schwarz: the clip binds below 0 alone
    mcc = cases((margins <= 0, 0), otherwise=clip((tp * tn - fp * fn) / root(margins, 2)))
    correctness = label("MCC", mcc)
    return cases(
        (tp + fp + tn + fn <= 0, 0),
        (q < 0, correctness),
        otherwise=clip(p.correctness * correctness + p.quality * q),
    )
