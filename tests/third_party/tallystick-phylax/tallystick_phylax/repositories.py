"""A task of the track of repositories: F2 over labelled dimensions, or what an audit looks like."""

from tallystick.plugins.author import (
    UNIT,
    Node,
    Parameters,
    cases,
    clip,
    flag,
    given,
    integer,
    label,
    maximum,
    measure,
    minimum,
    summed,
)
from tallystick_phylax.record import DIMENSIONS, REPETITIONS, findings

_FEW = (1, 100)


def _is_labelled(path: str) -> Node:
    first, second, third = (given(f"{path}.{name}") for name in DIMENSIONS)
    return first | second | third


def _is_completed(path: str) -> Node:
    """Whether there is anything to score; an audit of no file is a failed run."""
    return _is_labelled(path) | (integer(f"{path}.audit.files", missing=0) > 0)


def _run(p: Parameters, path: str) -> Node:
    weights = {name: getattr(p, name) * given(f"{path}.{name}") for name in DIMENSIONS}
    present = summed(weights.values())
    dimensions = summed(w * _dimension(p, f"{path}.{name}") for name, w in weights.items())
    return cases((present > 0, dimensions / present), otherwise=_audit(p, f"{path}.audit"))


def _dimension(p: Parameters, path: str) -> Node:
    """F-score of the findings; where none were to be found, 1 less a share for each that was."""
    matched, expected, reported = findings(path)
    return cases(
        (expected == 0, maximum(0, 1 - reported / p.false_alarms)),
        otherwise=(1 + p.recall) * matched / (p.recall * expected + reported),
    )


def _audit(p: Parameters, path: str) -> Node:
    """The verdict, and how many findings there are and say what to do; less with few files."""
    found, documented, files = (
        integer(f"{path}.{name}", missing=0) for name in ("findings", "documented", "files")
    )
    share = cases((found == 0, 0), otherwise=documented / found)
    hygiene = p.number * minimum(1, found / p.enough) + p.documented * share
    integrity = p.audited + (1 - p.audited) * minimum(1, files / p.files)
    return (p.verdict * flag(f"{path}.verdict_right") + p.hygiene * hygiene) * integrity


@measure(
    "phylax/repositories@1",
    within=UNIT,
    vulnerabilities=UNIT,
    supply_chain=UNIT,
    secrets=UNIT,
    recall=_FEW,
    false_alarms=_FEW,
    verdict=UNIT,
    hygiene=UNIT,
    number=UNIT,
    documented=UNIT,
    enough=_FEW,
    audited=UNIT,
    files=_FEW,
)
def repositories(p: Parameters) -> Node:
    """The mean over the completed repetitions; 0 without any."""
    runs = [
        (_is_completed(f"checks.{run}"), label(run, _run(p, f"checks.{run}")))
        for run in REPETITIONS
    ]
    times = label("completed", summed(1 * is_completed for is_completed, _ in runs))
    total = summed(cases((is_completed, value), otherwise=0) for is_completed, value in runs)
    # neither bound ever binds: they spare the proofs that there is a run, and none is above 1
    return clip(total / maximum(1, times))
