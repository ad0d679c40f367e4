"""How fast the consensus of groups is, and that it grows with the number of groups alone.

Run it as ``python tests/benchmarks/consensus.py [--tiny]``. A group has five members with 50
findings each, half of them agreed, beside capabilities, dependencies and a policy. It prints the
least processor time of several repeats, from lines of JSON to what each member has, and how many
functions are called for so many groups and for twice and four times as many, which no machine
changes.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import click

# in the place of this folder, where a module has the name of that of the tests
sys.path.pop(0)
sys.path.append(str(Path(__file__).resolve().parents[1]))

from work import calls

import tallystick

TINY = "--tiny" in sys.argv
"""Whether the sizes only show that it works."""
MEMBERS, FINDINGS = 5, 50
GROUPS, REPEATS, COUNTED = (20, 1, 5) if TINY else (1000, 5, 50)
RULES = ("skills@1.0.0", "skills@1.1.0")


def submission(random: Random) -> dict[str, Any]:
    """Findings of which half are near those of everybody, and some of all else."""
    lines = [20 * number + random.randrange(4) for number in range(FINDINGS // 2)]
    lines += random.sample(range(1000, 9000), FINDINGS - len(lines))
    return {
        "verdict": random.choice(["ALLOW", "REVIEW", "BLOCK"]),
        "risk_score": random.random(),
        "findings": [
            {"category": f"c{line % 3}", "severity": "low", "file": f"f{line % 2}", "line": line}
            for line in lines
        ],
        "capabilities": [
            {"kind": "tool", "value": f"v{each}"} for each in random.sample(range(12), 8)
        ],
        "dependencies": [f"CVE-{each}" for each in random.sample(range(12), 6)],
        "recommended_policy": [
            {"resource": "tool", "action": "call", "pattern": f"v{each}"}
            for each in random.sample(range(12), 6)
        ],
    }


def lines_of(count: int) -> list[bytes]:
    """So many groups, each another one."""
    random = Random("groups")  # made-up groups
    about = {"skill_type": "rag_knowledge", "round": 1, "epoch": 0, "validator": "5V"}
    return [
        json.dumps(
            about
            | {"task_id": f"t{number}"}
            | {
                "members": [
                    {
                        "uid": uid,
                        "hotkey": f"5M{uid}",
                        "role": "primary" if uid < 3 else "auditor",
                        "submission": submission(random),
                    }
                    for uid in range(MEMBERS)
                ]
            }
        ).encode()
        for number in range(count)
    ]


def computed(lines: list[bytes], scorer: tallystick.Scorer) -> int:
    """How many groups have a consensus."""
    return sum(bool(found.rerun) for found in tallystick.consensus(lines, scorer))  # type: ignore[union-attr]


def seconds(work: Callable[[], object]) -> float:
    """The processor time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure both rule sets and print a line for each."""
    lines = lines_of(GROUPS)
    size = sum(map(len, lines)) // len(lines)
    click.echo(f"{GROUPS} groups of {MEMBERS} with {FINDINGS} findings each, {size} bytes a group")
    click.echo(
        f"rules          ms a group   calls a group at {COUNTED}, {2 * COUNTED}, {4 * COUNTED}"
    )
    for reference in RULES:
        scorer = tallystick.load(reference)
        assert computed(lines, scorer) == GROUPS
        least = min(seconds(lambda: computed(lines, scorer)) for _ in range(REPEATS))  # noqa: B023  # called at once
        counted = [
            calls(lambda: computed(lines[:count], scorer)) / count  # noqa: B023  # as above
            for count in (COUNTED, 2 * COUNTED, 4 * COUNTED)
        ]
        shown = "  ".join(f"{each:.0f}" for each in counted)
        click.echo(f"{reference:14} {1e3 * least / GROUPS:10.2f}   {shown}")
        assert max(counted) < 1.1 * min(counted)


if __name__ == "__main__":
    main()
