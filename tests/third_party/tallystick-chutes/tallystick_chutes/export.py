"""The hourly export of the validator of Chutes, read as records.

A folder has ``entry.json``, an entry of ``GET /audit/`` with what the chain has of it;
``report.json``, which the entry leads to; the CSV files that the report names, under the paths that
it names; ``gpu_counts.json``; and ``metagraph.csv``. Columns that are personal are dropped as they
are read: of users, and the free text of reports and of errors.
"""

from __future__ import annotations

import ast
import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any

import attrs

from tallystick_chutes.record import MICROSECONDS
from tallystick_state.audit.export import Export, ExportFormat, StatedDigest

tallystick_api = 1

Row = Mapping[str, Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = 3600 * MICROSECONDS
_HOURS = 7 * 24
_LONGEST = 4096
"""The longest text of metrics that is read."""
_METRICS = "p", "nc", "steps", "masps", "it", "ot", "maspt"
_INVOCATION = (
    "invocation_id",
    "parent_invocation_id",
    "chute_id",
    "miner_uid",
    "miner_hotkey",
    "started_at",
    "completed_at",
    "compute_multiplier",
    "bounty",
    "metrics",
)


def read(folder: Path) -> Export:
    """What the files of one hour come to."""
    entry, report = (json.loads((folder / f"{n}.json").read_bytes()) for n in ("entry", "report"))
    files = {name: _inside(folder, each["path"]) for name, each in report["csv_exports"].items()}
    nodes = list(_rows(folder / "metagraph.csv", ("hotkey", "coldkey", "uid", "incentive")))
    twice = [hotkey for hotkey, n in Counter(each["hotkey"] for each in nodes).items() if n > 1]
    if twice:
        raise ValueError(f"found {twice[0]} twice in metagraph.csv, expected each hotkey once")
    reader = _Reader(
        uids={each["hotkey"]: int(each["uid"]) for each in nodes if int(each["uid"]) >= 0},
        now=_microseconds(entry["end_time"]) or 0,
    )
    reported = frozenset(
        each["invocation_id"]
        for each in _rows(files["reports"], ("invocation_id", "confirmed_at"))
        if each["confirmed_at"]
    )
    gpus = {
        each["chute_id"]: int(each["gpu_count"])
        for each in json.loads((folder / "gpu_counts.json").read_bytes())
        if each["gpu_count"] is not None
    }
    calls = list(reader.calls(_calls(files["invocations"]), reported))
    instances = reader.lives(report["instance_audit"])
    return Export(
        records=[*calls, *reader.instances(instances), *reader.chutes(instances, gpus)],
        round={
            "format": 1,
            "round": {},
            "miners": {each["hotkey"]: {"coldkey": each["coldkey"]} for each in nodes},
        },
        published={
            each["hotkey"]: Decimal(each["incentive"]) for each in nodes if int(each["uid"]) >= 0
        },
        digests=[
            StatedDigest(
                "report.json", "the chain", entry["sha256"], _sha256(folder / "report.json")
            ),
            *(
                StatedDigest(each["path"], "report.json", each["sha256"], _sha256(files[name]))
                for name, each in report["csv_exports"].items()
            ),
        ],
        dropped=dict(reader.dropped),
    )


FORMAT = ExportFormat(
    name="chutes/hour",
    summary="The report of one hour, with its files, GPU counts and the metagraph",
    read=read,
    unproved=(
        "at which instant the weights were computed: here it is the end of the hour",
        "which GPU counts and coldkeys held at that instant",
        "which of two exports holds a call across the hour: here the completed row counts once",
        "the order of ties, which is that of a database upstream, and of hotkeys here",
        "that the export is whole: a score counts seven days, which are 168 reports",
    ),
)


@attrs.frozen(eq=False)
class _Reader:
    """Makes records of rows.

    Attributes:
        uids: the slot of each hotkey of the metagraph; others never count.
        now: the end of the hour, in microseconds.
        dropped: how many rows are left out, by why.
    """

    uids: Mapping[str, int]
    now: int
    dropped: Counter[str] = attrs.field(factory=Counter)

    def calls(self, rows: Iterable[Row], reported: frozenset[str]) -> Iterator[Row]:
        """The calls of miners that are on the metagraph, each once."""
        kept = dict[str, Row]()
        for row in rows:
            if int(row["miner_uid"]) < 0:
                self.dropped["calls of no slot"] += 1
            elif row["miner_hotkey"] not in self.uids:
                self.dropped["calls of hotkeys off the metagraph"] += 1
            else:
                name, before = row["invocation_id"], kept.get(row["invocation_id"])
                self.dropped["repeated calls"] += before is not None
                if before is None or (row["completed_at"] and not before["completed_at"]):
                    kept[name] = row
        for name, row in kept.items():
            record = self._record("invocation", name, row["miner_hotkey"])
            yield record | _parts(row, is_reported=row["parent_invocation_id"] in reported)

    def lives(self, rows: Iterable[Row]) -> list[Row]:
        """One row of each instance: a live one is in the report of every hour."""
        found = dict[str, dict[str, Any]]()
        for row in sorted(rows, key=lambda each: str(each.get("verified_at") or "")):
            name = row["instance_id"]
            if row["miner_hotkey"] not in self.uids:
                self.dropped["instances of hotkeys off the metagraph"] += 1
                continue
            self.dropped["repeated instances"] += name in found
            times = {
                key: _microseconds(row.get(key))
                for key in ("activated_at", "deleted_at", "stop_billing_at")
            }
            before = found.get(name, times)
            found[name] = {
                "instance_id": name,
                "chute_id": row["chute_id"],
                "miner_hotkey": row["miner_hotkey"],
                "compute_multiplier": row["compute_multiplier"],
                "billed": bool(row.get("billed_to")) or before.get("billed", False),
                "deletion_reason": row.get("deletion_reason") or before.get("deletion_reason"),
                "activated_at": _least(times["activated_at"], before["activated_at"]),
                "deleted_at": _largest(times["deleted_at"], before["deleted_at"]),
                "stop_billing_at": _largest(times["stop_billing_at"], before["stop_billing_at"]),
            }
        return list(found.values())

    def instances(self, lives: Iterable[Row]) -> Iterator[Row]:
        """The private instances, and those that are none: the rules say which count."""
        for life in lives:
            yield self._record("instance", life["instance_id"], life["miner_hotkey"]) | {
                "task": {
                    "chute_id": life["chute_id"],
                    "compute_multiplier": float(life["compute_multiplier"]),
                },
                "submission": {},
                "checks": {
                    "billed": life["billed"],
                    "activated_us": life["activated_at"],
                    "stop_billing_us": life["stop_billing_at"],
                    "deleted_us": life["deleted_at"],
                    "deletion_reason": life["deletion_reason"],
                    "now_us": self.now,
                },
            }

    def chutes(self, lives: Iterable[Row], gpus: Mapping[str, int]) -> Iterator[Row]:
        """For each miner the GPU counts of its chutes, summed over the hours of seven days."""
        last = self.now // _HOUR * _HOUR
        hours = range(last - _HOURS * _HOUR, last + 1, _HOUR)
        active = defaultdict[str, set[tuple[int, str]]](set)
        for life in lives:
            for hour in hours:
                if _is_active(life, hour):
                    active[life["miner_hotkey"]].add((hour, life["chute_id"]))
        for hotkey, found in sorted(active.items()):
            checks = {
                "gpus": sum(gpus.get(chute, 1) for _, chute in found),
                "hours": len({hour for hour, _ in found}),
            }
            record = self._record("unique", f"chutes-of-{hotkey}", hotkey)
            yield record | {"task": {}, "submission": {}, "checks": checks}

    def _record(self, kind: str, name: str, hotkey: str) -> dict[str, Any]:
        return {
            "skill_type": f"chutes/{kind}",
            "task_id": name,
            "round": 0,
            "epoch": 0,
            "validator": "export",
            "miner": {"uid": self.uids[hotkey], "hotkey": hotkey},
            "role": "primary",
        }


def _parts(row: Row, *, is_reported: bool) -> dict[str, Any]:
    return {
        "task": {
            "chute_id": row["chute_id"] or None,
            "compute_multiplier": float(row["compute_multiplier"]),
            "bounty": int(row["bounty"] or 0),
        },
        "submission": {
            "started_us": _microseconds(row["started_at"]),
            "completed_us": _microseconds(row["completed_at"]),
            "has_error": row["has_error"],
            "metrics": _metrics(row["metrics"]),
        },
        "checks": {"reported": is_reported},
    }


def _is_active(life: Row, hour: int) -> bool:
    """Whether an instance is there at an hour, and is billed or has been for an hour."""
    activated, deleted = life["activated_at"], life["deleted_at"]
    if activated is None or activated > hour or (deleted is not None and deleted < hour):
        return False
    return life["billed"] or (hour if deleted is None else deleted) - activated >= _HOUR


def _calls(path: Path) -> Iterator[Row]:
    """The rows of calls; of an error only whether there is one."""
    for row in _rows(path, (*_INVOCATION, "error_message")):
        kept = {name: row[name] for name in _INVOCATION}
        yield kept | {"has_error": bool(row["error_message"].strip())}


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[Row]:
    """Some columns of a CSV file; the others are not kept."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, strict=True):
            yield {name: row[name] or "" for name in columns}


def _metrics(text: str) -> dict[str, Any] | None:
    """The numbers of a dict of Python as text; None where it is none."""
    if not text:
        return None
    if len(text) > _LONGEST:
        raise ValueError(f"found metrics of {len(text)} characters, expected at most {_LONGEST}")
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    if not isinstance(found, dict):
        return None
    return {name: found[name] for name in _METRICS if found.get(name) is not None}


def _microseconds(text: str | None) -> int | None:
    if not text:
        return None
    found = datetime.fromisoformat(text)
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return (found - _EPOCH) // timedelta(microseconds=1)


def _least(*times: int | None) -> int | None:
    return min((each for each in times if each is not None), default=None)


def _largest(*times: int | None) -> int | None:
    return max((each for each in times if each is not None), default=None)


def _inside(folder: Path, name: str) -> Path:
    """A file that a report names, which has to be in the folder of the export."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"found the path {name!r}, expected one inside the folder")
    return folder / path


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
