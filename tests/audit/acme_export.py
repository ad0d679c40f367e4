"""A format of exports, as a plugin offers one: the hourly rewards of a made-up subnet.

A folder has ``rewards.jsonl``, a line for each reward, with the person who judged it;
``uids.json``, the slot of each hotkey; ``weights.json``, what was set; and ``index.json``, which
states the digest of the rewards.
"""

import hashlib
import json
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from tallystick_state.audit.export import Export, ExportFormat, StatedDigest

tallystick_api = 1


def read(folder: Path) -> Export:
    """Read the files of an hour; who judged is dropped."""
    data = (folder / "rewards.jsonl").read_bytes()
    index, uids, weights = (
        json.loads((folder / f"{name}.json").read_bytes()) for name in ("index", "uids", "weights")
    )
    rows = [json.loads(line) for line in data.splitlines()]
    kept = [row for row in rows if row["hotkey"] in uids]
    return Export(
        records=[_record(row, uids) for row in kept],
        round={"format": 1, "round": {}, "miners": {}},
        published={hotkey: Decimal(weight) for hotkey, weight in weights.items()},
        digests=[
            StatedDigest(
                "rewards.jsonl", "index.json", index["sha256"], hashlib.sha256(data).hexdigest()
            )
        ],
        dropped={"rewards of hotkeys without a uid": len(rows) - len(kept)},
    )


def _record(row: Mapping[str, Any], uids: Mapping[str, int]) -> dict[str, Any]:
    return {
        "skill_type": "reward",
        "task_id": row["task"],
        "round": 0,
        "epoch": 0,
        "validator": "export",
        "miner": {"uid": uids[row["hotkey"]], "hotkey": row["hotkey"]},
        "role": "primary",
        "checks": {"reward": row["reward"]},
    }


FORMAT = ExportFormat(
    name="acme/hour",
    summary="The rewards of an hour, the uids and the weights",
    read=read,
    unproved=("that these rewards are all there were",),
)
