"""Scoring as validators write it today: ``json.loads`` and floats, without validation.

``python tests/benchmarks/float_loop.py FILE`` prints the sum of the qualities of a file of records.
It imports what it needs and no more, as its start is measured too.
"""

import json
import sys
from pathlib import Path
from typing import Any


def float_quality(record: dict[str, Any]) -> float:
    """Q of one record as validators write it today: floats, no validation."""
    task, sent, checks = record["task"], record["submission"], record["checks"]
    match = sent["verdict"] == task["ground_truth"]
    alpha = 1.0 if match else 0.5 if sent["verdict"] == "REVIEW" else 1 - 0.4 * sent["risk_score"]
    epsilon = 0.3 * bool(checks.get("probe_verified")) + 0.3 * bool(
        checks.get("trace_hashes_consistent")
    )
    epsilon += 0.2 * bool(checks.get("sandbox_digest_correct"))
    epsilon += 0.2 * bool(checks.get("findings_cited"))
    mine = {tuple(rule.values()) for rule in sent.get("recommended_policy", [])}
    wanted = {tuple(rule.values()) for rule in task.get("expected_policy", [])}
    shared = len(mine & wanted)
    pi = 5 * shared / (4 * len(mine) + len(wanted)) if mine or wanted else 1.0
    window = (task["deadline_s"] - task["t_min_s"]) * 1000
    eta = max(0.0, 1 - (sent["latency_ms"] - task["t_min_s"] * 1000) / window)
    quality = 1.0
    for axis, weight in zip((alpha, epsilon, pi, eta), (0.35, 0.30, 0.20, 0.15), strict=True):
        quality *= axis**weight
    return quality


def main() -> None:
    """Print the sum of the qualities of the answered records of a file; nothing else is written."""
    total = 0.0
    with Path(sys.argv[1]).open("rb") as file:
        for line in file:
            record = json.loads(line)
            if "submission" in record:
                total += float_quality(record)
    print(total)


if __name__ == "__main__":
    main()
