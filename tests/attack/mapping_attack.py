"""Hostile mappings and locks against whoever reads them.

What is accepted has to be what it says:

- with a mapping, an audit comes to a verdict about every record;
- a lock is written again as the one that was read.
"""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random

from attack import hostile_files
from attack.hostile_lines import mixed, of_bytes

import tallystick
from tallystick.lock import lock_file
from tallystick.lock.write import lock_of
from tallystick_state.audit import published
from tallystick_state.audit.results_audit import audit_results

RULES = "skills@1.1.0"


_MAPPING = """format = 1
missing = ["", "n/a"]

[columns]
record = "line"
task_id = "task"
miner_hotkey = "who"
tier = "level"
quality = "q"
"axes.policy" = "scores.pi"

[match]
by = ["task_id", "miner_hotkey"]

[numbers]
scale = "nano"

[values.tier]
T2 = "structured_automation"
"""


@cache
def _scored(folder: Path) -> Sequence[Path]:
    records, results = folder / "audited.jsonl", folder / "audited.csv"
    records.write_bytes(mixed("audited", 8, ("mcp_server", "declarative"), good=1).data)
    scorer = tallystick.load(RULES)
    scorer.score_file(records, results)
    return records, results


def mapped(folder: Path, random: Random) -> str:
    """A mapping, with which published results are audited."""
    (records, results), path = _scored(folder), folder / "mapping.toml"
    text = _MAPPING
    if random.random() < 0.5:
        for name in ("line", "task", "who", "level", "q"):
            ours = {"line": "record", "task": "task_id", "who": "miner_hotkey", "level": "tier"}
            text = text.replace(f'"{name}"', f'"{ours.get(name, "quality")}"')
    path.write_bytes(hostile_files.rule_set(random, text.encode()))
    found = audit_results(
        tallystick.load(RULES), records, results, mapping=published.read_mapping(path)
    )
    assert found.records == records.read_bytes().count(b"\n")
    return found.verdict


@cache
def _locked() -> bytes:
    return lock_of([tallystick.load(RULES)], Path.cwd()).to_text().encode()


def locked(_: Path, random: Random) -> str:
    """A lock."""
    whole = _locked()
    make = random.choice((of_bytes, hostile_files.rule_set))
    found = lock_file.parse(make(random, whole), "tallystick.lock")
    assert lock_file.parse(found.to_text().encode(), "again.lock") == found
    return "the same" if found == lock_file.parse(whole, "whole.lock") else "another"


KINDS: dict[str, Callable[[Path, Random], str]] = {
    "mapping": mapped,
    "lock": locked,
}
