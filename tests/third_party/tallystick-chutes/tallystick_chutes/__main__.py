"""``python -m tallystick_chutes CASES.json``: what the rule set says of each case of this subnet.

For each a line ``{"id": …, "exact_nano": …}``, null where the rules refuse. A malformed case is
told on the error output, by its id and the path in it, and the exit status is 2; the others are
answered.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs

import tallystick
from tallystick_chutes.cases import Case, CaseError, cases_in, checked

RULES = "chutes@1.0.0"
MODULES = {"chutes": "tallystick_chutes.plugin"}

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_METRICS = "p", "nc", "steps", "masps", "it", "ot", "maspt"
_LEFT_OUT = frozenset((("not-reported", "checks.reported"), ("out-of-range", "miner.uid")))
"""What the rules leave out: a call with a confirmed report on its parent, and one of no slot."""

_GIVEN = "rows", "invoked", "billed", "called", "seconds", "bounty", "instances", "chutes"
"""The steps that collect what records of a miner come to."""

Record = dict[str, Any]


@attrs.frozen
class Answers:
    """Answers cases by a rule set."""

    rules: tallystick.Scorer

    def to(self, case: Case) -> object:
        """What the rules say of a case, in the shape of its answer; None where they refuse."""
        answer: Callable[[Case], object] = getattr(self, case["kind"])
        try:
            return answer(case)
        except tallystick.AllocationError:
            return None
        except tallystick.TallystickError as error:
            raise CaseError(case["id"], "", str(error)) from error

    def features(self, case: Case) -> object:
        """What the calls of each miner come to."""
        rows = [*self._results(case["id"], case["input"])]
        names = {"called": "invocation_count", "bounty": "bounty_count"}
        done = tallystick.allocate(self.rules, rows, columns=[*names, "invoked"])
        counts = {name: done.nano(step) for step, name in names.items()}
        units = done.nano("invoked")
        return {
            hotkey: {name: _whole(count[hotkey]) for name, count in counts.items()}
            | {"compute_units_nano": nano}
            for hotkey, nano in units.items()
        }

    def weights(self, case: Case) -> object:
        """The weights of miners whose features are given: what their records would come to."""
        miners = {each["hotkey"]: each for each in case["input"]["miners"]}
        if len(miners) < len(case["input"]["miners"]):
            raise CaseError(case["id"], "input.miners", "found a hotkey twice, expected it once")
        coldkeys = {hotkey: {"coldkey": each["coldkey"]} for hotkey, each in miners.items()}
        features = {hotkey: self._features(each) for hotkey, each in miners.items()}
        done = tallystick.allocate(
            self.rules,
            [{"hotkey": hotkey} for hotkey in miners],
            round={"format": 1, "round": {}, "miners": coldkeys},
            given={
                step: {hotkey: each[step] for hotkey, each in features.items()} for step in _GIVEN
            },
        )
        return done.nano("weight")

    def _features(self, miner: Mapping[str, Any]) -> dict[str, Any]:
        """What the records of a miner come to, by the steps that collect it."""
        private = miner.get("private") or {"instances": 0, "seconds": "0", "compute_units": "0"}
        sums = miner.get("unique") or (0, 0)
        checks = dict(zip(("gpus", "hours"), sums, strict=True))
        record = _record("unique", miner["hotkey"], 0, 0)
        unique = self.rules.score({**record, "task": {}, "submission": {}, "checks": checks})
        values = (
            *(1, miner["compute_units"], private["compute_units"], miner["invocation_count"]),
            *(private["seconds"], miner["bounty_count"], private["instances"]),
            unique.measures["unique"],
        )
        return dict(zip(_GIVEN, values, strict=True))

    def _results(self, name: str, given: Mapping[str, Any]) -> Iterator[Record]:
        """The results of the calls that the rules do not leave out, as rows."""
        reported = frozenset(given["confirmed_reports"])
        for place, call in enumerate(given["invocations"]):
            try:
                yield self.rules.score(_call(call, place, reported)).to_dict()
            except ValueError as error:
                raise CaseError(name, f"input.invocations[{place}]", str(error)) from error
            except tallystick.RecordError as error:
                if (error.code, error.path) not in _LEFT_OUT:
                    raise CaseError(name, f"input.invocations[{place}]", str(error)) from error


def _record(kind: str, hotkey: str, uid: int, number: int) -> Record:
    """What every record has."""
    return {
        "skill_type": f"chutes/{kind}",
        "task_id": f"{kind}-{number}",
        "round": 0,
        "epoch": 0,
        "validator": "case",
        "miner": {"uid": uid, "hotkey": hotkey},
        "role": "primary",
    }


def _call(call: Mapping[str, Any], number: int, reported: frozenset[str]) -> Record:
    metrics = call["metrics"]
    # a hotkey may have had several slots in its days: only that it had one matters
    uid = min(_first(call, ("uid", "miner_uid")) or 0, 0)
    return {
        **_record("invocation", call["hotkey"], uid, number),
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


def _whole(nano: int) -> int:
    """A count, of its nano."""
    return nano // 10**9


def main() -> int:
    """Answer the cases of the file that is named."""
    if len(sys.argv) != 2:
        print("usage: python -m tallystick_chutes CASES.json", file=sys.stderr)
        return 2
    status = 0
    try:
        cases = cases_in(Path(sys.argv[1]))
        answers = Answers(tallystick.load(RULES, modules=MODULES))
    except (CaseError, tallystick.TallystickError) as error:
        print(error, file=sys.stderr)
        return 2
    for number, given in enumerate(cases, 1):
        try:
            case = checked(given, number)
            if case is not None:
                print(json.dumps({"id": case["id"], "exact_nano": answers.to(case)}))
        except CaseError as error:
            print(error, file=sys.stderr)
            status = 2
    return status


if __name__ == "__main__":
    sys.exit(main())
