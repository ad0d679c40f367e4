"""What the linter says of allocations."""

import pytest
from governance.lint.linted import SOUND, report_on

MEAN = 'name = "mean", do = "collect", value = "quality", as = "mean", empty = 0'
PART = 'name = "part", do = "share", of = "mean", zero = "zero"'
WEIGHT = 'name = "weight", do = "share", of = "mean", zero = "zero", publish = true'


def found(*steps: str) -> dict[str, str]:
    """The messages by code, of what the linter says of an allocation."""
    listed = "".join(f"  {{ {step} }},\n" for step in steps)
    told = report_on(f"{SOUND}\n[allocation]\nsteps = [\n{listed}]\n").findings
    return {e.code: e.message for e in told if e.path.startswith("allocation")}


CAP = (
    'name = "weight", do = "cap", of = "part", share = 0.3, excess = "water_filling", '
    "publish = true"
)
CASES: dict[str, tuple[tuple[str, ...], dict[str, str]]] = {
    "nothing is wrong": ((MEAN, WEIGHT), {}),
    "unread": (
        (MEAN, 'name = "spare", do = "filter", of = "mean", above = 0', WEIGHT),
        {"allocation-unread": "no step reads spare"},
    ),
    "refused": (
        (MEAN, 'name = "weight", do = "share", of = "mean", publish = true'),
        {"share-undefined": "where all of mean is 0, weight has no shares, and nobody a weight"},
    ),
    "shares below 0": (
        (
            MEAN,
            'name = "seconds", do = "collect", value = "seconds", as = "sum", within = [-9, 9]',
            'name = "spent", do = "share", of = "seconds", below = "keep"',
            'name = "part", do = "share", of = "mean", zero = "zero", below = "keep"',
            'name = "mixed", do = "mix", of = { spent = 0.25, part = 0.75 }',
            'name = "weight", do = "share", of = "mixed", zero = "zero", publish = true',
        ),
        {
            "share-undefined": "where seconds sums to 0, spent has no shares, and nobody a weight",
            "share-turned": (
                "where seconds sums to less than 0, who has more of it has less of spent"
            ),
            "negative-stops-pay": (
                "mixed can be -9000000000000000.000000000, and weight refuses less than 0"
            ),
        },
    ),
    "the cap of few": (
        (MEAN, PART, CAP),
        {"cap-cannot-hold": "fewer than 4 miners have no weights: the cap is 0.3"},
    ),
    "C-SWON": (
        (
            MEAN,
            'name = "kept", do = "filter", of = "mean", above = 0.05, others = "zero"',
            'name = "z", do = "z_score", of = "kept", deviation = "population", zero = "stop"',
            'name = "lifted", do = "lift", of = "z", lowest = 0.00001',
            'name = "part", do = "share", of = "lifted"',
            'name = "capped", do = "cap", of = "part", share = 0.15, excess = "once"',
            'name = "weight", do = "share", of = "capped", publish = true',
        ),
        {
            "cap-cannot-hold": "fewer than 7 miners exceed it: the cap is 0.15",
            "z-score-flat": "equal values of kept all become 0",
            "allocation-inverts": (
                "of 2 miners, who has 1.000000000 of mean gets 0.150000000, and who has "
                "0.500000000 gets 0.850000000"
            ),
            "weight-vanishes": "of 256 miners 12 have a weight that is 0 on the chain",
        },
    ),
    "nobody": (
        (
            MEAN,
            'name = "kept", do = "filter", of = "mean", above = 1, others = "zero"',
            'name = "weight", do = "share", of = "kept", zero = "zero", publish = true',
        ),
        {
            "allocation-nobody": "whatever mean is, nobody has a weight",
            "filter-above-all": "mean is at most 1.000000000, and the filter asks for more than 1",
        },
    ),
    "gates of others": (
        (
            MEAN,
            'name = "tasks", do = "collect", value = "quality", as = "count", last = 9, empty = 0',
            'name = "busy", do = "gate", of = "mean", by = "tasks", at_least = 9',
            'name = "old", do = "gate", of = "busy", by = "miner.age", above = 1000',
            'name = "never", do = "gate", of = "old", by = "tasks", above = 9',
            'name = "weight", do = "share", of = "never", zero = "zero", publish = true',
        ),
        {
            "filter-above-all": "tasks is at most 9.000000000, and the gate asks for more than 9",
        },
    ),
    "forgetful": (
        (
            MEAN.replace('as = "mean"', 'as = "mean", records = "round"'),
            WEIGHT,
        ),
        {"weights-forget": "mean is of one round alone: weights are of who was drawn in it"},
    ),
    "remembering": (
        (
            MEAN.replace('as = "mean", empty = 0', 'as = "mean", records = "round"'),
            (
                'name = "average", do = "average", of = "mean", new = 0.5, leaver = "keep", '
                "normalise = true"
            ),
            'name = "weight", do = "share", of = "average", publish = true',
        ),
        {},
    ),
    "averages without leavers": (
        (
            MEAN.replace('as = "mean", empty = 0', 'as = "mean", records = "round"'),
            (
                'name = "average", do = "average", of = "mean", new = 0.5, leaver = "drop", '
                "normalise = true"
            ),
            'name = "weight", do = "share", of = "average", publish = true',
        ),
        {"weights-forget": "mean is of one round alone: weights are of who was drawn in it"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_allocation_is_told_of(case: str) -> None:
    steps, expected = CASES[case]
    assert found(*steps) == expected
