"""Return the answer of the rules of Chutes to a case of ``tests/vectors/subnets.json``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from third_party.real_projects import NANO, head_of, rules

import tallystick

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_METRICS = "p", "nc", "steps", "masps", "it", "ot", "maspt"
_LEFT_OUT = {("not-reported", "checks.reported"), ("out-of-range", "miner.uid")}
"""Calls that the rules leave out: one with a confirmed report on its parent, one of no slot."""
_GIVEN = "rows", "invoked", "billed", "called", "seconds", "bounty", "instances", "chutes"
"""The steps that collect what records of a miner come to."""

Record = dict[str, Any]


def features(given: Mapping[str, Any]) -> object:
    """Return the sums of the calls of each miner."""
    names = {"called": "invocation_count", "bounty": "bounty_count"}
    done = tallystick.allocate(rules("chutes"), [*_results(given)], columns=[*names, "invoked"])
    counts = {name: done.nano(step) for step, name in names.items()}
    units = done.nano("invoked")
    return {
        hotkey: {name: count[hotkey] // NANO for name, count in counts.items()}
        | {"compute_units_nano": nano}
        for hotkey, nano in units.items()
    }


def weights(given: Mapping[str, Any]) -> object:
    """The weights of miners whose features are given; None where the rules refuse."""
    miners = {each["hotkey"]: each for each in given["miners"]}
    columns = {hotkey: _features(each) for hotkey, each in miners.items()}
    try:
        done = tallystick.allocate(
            rules("chutes"),
            [{"hotkey": hotkey} for hotkey in miners],
            round={
                "format": 1,
                "round": {},
                "miners": {hotkey: {"coldkey": each["coldkey"]} for hotkey, each in miners.items()},
            },
            given={step: {h: each[step] for h, each in columns.items()} for step in _GIVEN},
        )
    except tallystick.AllocationError:
        return None
    return done.nano("weight")


ANSWERS = {"features": features, "weights": weights}
"""By the kind of the case."""


def _features(miner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the records of a miner, by the steps that collect them."""
    private = miner.get("private") or {"instances": 0, "seconds": "0", "compute_units": "0"}
    sums = miner.get("unique") or (0, 0)
    checks = dict(zip(("gpus", "hours"), sums, strict=True))
    record = record_of("unique", miner["hotkey"]) | {"task": {}, "submission": {}, "checks": checks}
    values = (
        *(1, miner["compute_units"], private["compute_units"], miner["invocation_count"]),
        *(private["seconds"], miner["bounty_count"], private["instances"]),
        rules("chutes").score(record).measures["unique"],
    )
    return dict(zip(_GIVEN, values, strict=True))


def _results(given: Mapping[str, Any]) -> Iterator[Record]:
    """The results of the calls that the rules do not leave out, as rows."""
    reported = frozenset(given["confirmed_reports"])
    for place, call in enumerate(given["invocations"]):
        try:
            yield rules("chutes").score(_call(call, place, reported)).to_dict()
        except tallystick.RecordError as error:
            if (error.code, error.path) not in _LEFT_OUT:
                raise


def record_of(kind: str, hotkey: str, uid: int = 0, number: int = 0) -> Record:
    """The head of a record of a kind."""
    return head_of(f"chutes/{kind}", f"{kind}-{number}", hotkey, uid)


def _call(call: Mapping[str, Any], number: int, reported: frozenset[str]) -> Record:
    metrics = call["metrics"]
    # a hotkey may have had several slots in its days: only that it had one matters
    uid = min(_first(call, ("uid", "miner_uid")) or 0, 0)
    return {
        **record_of("invocation", call["hotkey"], uid, number),
        "task": {
            "chute_id": _first(call, ("chute", "chute_id")) or None,
            "compute_multiplier": call["compute_multiplier"],
            "bounty": call["bounty"],
        },
        "submission": {
            "started_us": _microseconds(call.get("started_at")),
            "completed_us": _microseconds(call.get("completed_at")),
            "has_error": bool(_first(call, ("error", "error_message"))),
            "metrics": metrics and {name: metrics[name] for name in _METRICS if name in metrics},
        },
        "checks": {"reported": _first(call, ("parent", "parent_invocation_id")) in reported},
    }


def _first(call: Mapping[str, Any], names: Sequence[str]) -> Any:  # noqa: ANN401  # JSON
    return next((call[name] for name in names if call.get(name) is not None), None)


def _microseconds(text: str | None) -> int | None:
    if not text:
        return None
    found = datetime.fromisoformat(text)
    return (found.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
