"""A made-up export of one hour: the files and columns of the real one, and nobody's data."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tallystick.plugins.author import Draw
from tallystick_chutes.record import EXEMPT

_END = datetime(2026, 5, 1, 11, tzinfo=UTC)
_CHUTES = 6
_PERSONAL = "made-up-person"
"""What stands in every personal column, so that a test can look for it."""
_CALL = (
    "parent_invocation_id",
    "invocation_id",
    "chute_id",
    "chute_user_id",
    "function_name",
    "image_id",
    "image_user_id",
    "instance_id",
    "miner_uid",
    "miner_hotkey",
    "started_at",
    "completed_at",
    "error_message",
    "compute_multiplier",
    "bounty",
    "metrics",
)
_REPORT = ("invocation_id", "user_id", "timestamp", "confirmed_at", "confirmed_by", "reason")
_JOB = ("job_id", "user_id", "chute_id", "miner_hotkey", "created_at", "finished_at")
_REASONS = (
    "job has been terminated due to insufficient user balance",
    "user-defined/private chute instance has not been used since shutdown_after_seconds",
    "chute has an old version 0.3.1",
    "instance failed its verification",
)

Row = Mapping[str, Any]


def write(folder: Path, seed: int, *, miners: int = 5, calls: int = 60) -> None:
    """Write an export into a folder that is there; equal arguments give equal bytes."""
    draw = Draw.of("chutes", "export", seed)
    hotkeys = [f"5Miner{number:02}" for number in range(miners)]
    chutes = [EXEMPT, *(f"chute-{draw.hexadecimal(8)}" for _ in range(_CHUTES - 1))]
    rows = [_call(draw, number, hotkeys, chutes) for number in range(calls)]
    rows += [row | {"completed_at": ""} for row in rows[:3]]  # as of the hour before
    reports = [
        _reported(draw, row["parent_invocation_id"], is_confirmed=number == 0)
        for number, row in enumerate(rows[4:6])
    ]
    files = {
        "invocations": ("11.csv", _csv(_CALL, rows)),
        "reports": ("11-reports.csv", _csv(_REPORT, reports)),
        "jobs": ("11-jobs.csv", _csv(_JOB, [])),
    }
    hour = f"invocations/exports/{_END:%Y/%m/%d}"
    exports = {}
    for name, (file, data) in files.items():
        path = folder / hour / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        exports[name] = {"path": f"{hour}/{file}", "sha256": hashlib.sha256(data).hexdigest()}
    lives = [_instance(draw, number, hotkeys, chutes) for number in range(4 * miners)]
    report = _json({"instance_audit": [*lives, lives[0]], "csv_exports": exports})
    entry = {
        "entry_id": draw.hexadecimal(16),
        "hotkey": "5Validator",
        "block": 8_000_000,
        "path": "report.json",
        "created_at": _text(_END + timedelta(minutes=2)),
        "start_time": _text(_END - timedelta(hours=1)),
        "end_time": _text(_END),
        "sha256": hashlib.sha256(report).hexdigest(),
    }
    counts = [{"chute_id": name, "gpu_count": draw.whole(1, 8)} for name in chutes[1:]]
    for name, value in (("report", report), ("entry", _json(entry)), ("gpu_counts", _json(counts))):
        (folder / f"{name}.json").write_bytes(value)
    nodes = [
        {"hotkey": h, "coldkey": f"5Cold{max(1, n):02}", "uid": n, "incentive": "0"}
        for n, h in enumerate(hotkeys)
    ]
    publish(folder, nodes)


def publish(folder: Path, nodes: Iterable[Row]) -> None:
    """Write the metagraph of an export."""
    (folder / "metagraph.csv").write_bytes(_csv(("hotkey", "coldkey", "uid", "incentive"), nodes))


def _call(draw: Draw, number: int, hotkeys: Sequence[str], chutes: Sequence[str]) -> dict[str, Any]:
    started = _END - timedelta(microseconds=draw.whole(1, 3_600_000_000))
    place = draw.whole(0, len(hotkeys))
    is_known, is_ok = place < len(hotkeys), draw.chance(85)
    return {
        "parent_invocation_id": f"parent-{number:04}",
        "invocation_id": f"call-{number:04}",
        "chute_id": draw.one(chutes),
        "chute_user_id": _PERSONAL,
        "function_name": "chat",
        "image_id": "image",
        "image_user_id": _PERSONAL,
        "instance_id": f"instance-{draw.whole(0, 9):02}",
        "miner_uid": place if is_known else draw.one((-1, 60)),
        "miner_hotkey": hotkeys[place] if is_known else "5Gone",
        "started_at": _text(started),
        "completed_at": _text(started + timedelta(microseconds=draw.whole(1000, 9_000_000))),
        "error_message": "" if is_ok else f"{_PERSONAL}: out of memory",
        "compute_multiplier": draw.decimal(0.5, 8, places=3),
        "bounty": draw.whole(1, 300) if draw.chance(10) else 0,
        "metrics": str(_metrics(draw)) if is_ok else "",
    }


def _metrics(draw: Draw) -> dict[str, Any]:
    kinds: tuple[dict[str, Any], ...] = (
        {"nc": draw.decimal(0.1, 40, places=4)},
        {"steps": draw.whole(0, 50), "masps": draw.decimal(0.05, 2, places=4)},
        {"it": draw.whole(1, 4000), "ot": draw.whole(0, 900), "maspt": 0.0125},
        {},
    )
    return {"p": draw.chance(20), "tps": None, **draw.one(kinds)}


def _reported(draw: Draw, parent: str, *, is_confirmed: bool) -> Row:
    return {
        "invocation_id": parent,
        "user_id": _PERSONAL,
        "timestamp": _text(_END),
        "confirmed_at": _text(_END) if is_confirmed else "",
        "confirmed_by": _PERSONAL if is_confirmed else "",
        "reason": f"{_PERSONAL} says {draw.hexadecimal(4)}",
    }


def _instance(draw: Draw, number: int, hotkeys: Sequence[str], chutes: Sequence[str]) -> Row:
    activated = _END - timedelta(minutes=draw.whole(1, 12_000))
    is_gone = draw.chance(70)
    deleted = min(activated + timedelta(minutes=draw.whole(1, 6000)), _END)
    return {
        "instance_id": f"instance-{number:02}",
        "chute_id": draw.one(chutes),
        "miner_hotkey": draw.one(hotkeys),
        "created_at": _text(activated - timedelta(minutes=3)),
        "verified_at": _text(activated - timedelta(minutes=1)),
        "activated_at": _text(activated),
        "deleted_at": _text(deleted) if is_gone else None,
        "deletion_reason": draw.one(_REASONS) if is_gone else None,
        "stop_billing_at": _text(deleted) if is_gone and draw.chance(50) else None,
        "billed_to": _PERSONAL if draw.chance(60) else None,
        "compute_multiplier": draw.decimal(0.5, 8, places=3),
    }


def _text(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(sep=" ")


def _json(value: object) -> bytes:
    return json.dumps(value, indent=1).encode() + b"\n"


def _csv(columns: Sequence[str], rows: Iterable[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
