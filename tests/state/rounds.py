"""Rounds of nine miners, who do better or worse by turns, of skills or of workflows."""

from state.subnet import Record, missed, record, task

WORKFLOW, SKILLS = "workflow@1.2.0", "skills@1.2.0"
PYTHON = "executable_python"
MINERS = tuple(f"hk-{n}" for n in range(9))
BEFORE = 5
"""After so many rounds all begins again, under other numbers."""


def tasks_of(number: int, epoch: int) -> list[Record]:
    """A round of the workflow line, in which some miners have a task."""
    return [
        task(
            10 * number + n,
            hotkey,
            0.05 + 0.1 * ((3 * (number % BEFORE) + n) % 9),
            round=number,
            epoch=epoch,
        )
        for n, hotkey in enumerate(MINERS)
        if (number % BEFORE + n) % 4
    ]


def skills_of(number: int, epoch: int) -> list[Record]:
    """A round of the skills line, in which some miners have a task and some of these miss it."""
    about, turn = {"round": number, "epoch": epoch}, number % BEFORE
    return [
        missed(f"t{number}-{n}", hotkey, **about)
        if (turn + n) % 7 == 0
        else record(f"t{number}-{n}", hotkey, latency_ms=30_000 + 5_000 * ((turn + n) % 9), **about)
        for n, hotkey in enumerate(MINERS)
        if (turn + n) % 3
    ]


ROUNDS = {WORKFLOW: ("workflow", tasks_of), SKILLS: (PYTHON, skills_of)}
"""By rule set, the type of its records and what makes those of a round in an epoch."""
