"""``python -m tallystick_phylax CASES.json``: what the rule set says of each case of this subnet.

For each a line ``{"id": …, "exact_nano": …}``, null where the rules refuse. A malformed case is
told on the error output, by its id and the path in it, and the exit status is 2; the others are
answered.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs

import tallystick
from tallystick_phylax.cases import Case, CaseError, cases_in, checked
from tallystick_phylax.record import FAILED, REPETITIONS, VERDICTS

RULES = "phylax@1.0.0"
MODULES = {"phylax": "tallystick_phylax.plugin"}

_REPOSITORIES = "repositories"
_TRACK = "skills"
"""The track of a case that names none; all behavioural ones score alike."""
_MINER = "miner"
_COUNTS = "matched", "expected", "reported"

Record = dict[str, Any]
Task = Mapping[str, Any]


@attrs.frozen
class Answers:
    """Answers cases by a rule set."""

    rules: tallystick.Scorer

    def to(self, case: Case) -> object:
        """What the rules say of a case, in the shape of its answer; None where they refuse."""
        answer: Callable[[Mapping[str, Any]], object] = getattr(self, case["kind"])
        try:
            return answer(case["input"])
        except tallystick.AllocationError:
            return None
        except _TaskError as error:
            raise CaseError(case["id"], error.path, str(error.__cause__)) from error
        except tallystick.TallystickError as error:
            raise CaseError(case["id"], "", str(error)) from error

    def behavioural(self, given: Mapping[str, Any]) -> object:
        """The score of a miner in a track."""
        return {"score": self._score(_TRACK, given["tasks"])}

    def repositories(self, given: Mapping[str, Any]) -> object:
        """The score of a miner in the track of the repositories."""
        return {"score": self._score(_REPOSITORIES, given["tasks"])}

    def vote(self, given: Mapping[str, Any]) -> object:
        """The verdict of some repetitions."""
        record = _record(_TRACK, _MINER, 0) | _behavioural(given["repetitions"], {})
        verdict = self.rules.score(record).measures["verdict"]
        return {"verdict": None if verdict is None else VERDICTS[int(verdict)]}

    def allocation(self, given: Mapping[str, Any]) -> object:
        """What each round comes to from given scores, one after the other."""
        found, carry = [], None
        for each in given["rounds"]:
            scores = {
                track: {hotkey: Decimal(score) for hotkey, score in of_track.items()}
                for track, of_track in each["scores"].items()
            }
            done = tallystick.allocate(
                self.rules,
                [{"hotkey": miner, "track": track} for track in scores for miner in scores[track]],
                round=_round(each, given["reserved"]),
                carry=carry,
                given={"score": scores},
            )
            carry = done
            names = {"new": "new", "smoothed": "smooth", "final": "weight"}
            found.append({name: done.nano(step) for name, step in names.items()})
        return found

    def round(self, given: Mapping[str, Any]) -> object:
        """The scores and the weights of a round."""
        tracks = {track: of for track, of in given.items() if track in (_REPOSITORIES, *_TRACKS)}
        rows = [
            row
            for track, miners in tracks.items()
            for hotkey, tasks in miners.items()
            for row in self._results(track, hotkey, tasks, f"input.{track}.{hotkey}")
        ]
        done = tallystick.allocate(self.rules, rows, round=_round(given, given.get("reserved")))
        scores = done.nano("score")
        return {
            "scores": {
                track: {hotkey: scores[track][hotkey] for hotkey in miners}
                for track, miners in tracks.items()
            },
            "weights": done.nano("weight"),
        }

    def _score(self, track: str, tasks: Sequence[Any]) -> int:
        """The score of a miner of the given tasks, of which there may be none."""
        rows = [*self._results(track, _MINER, tasks, "input.tasks")]
        done = tallystick.allocate(self.rules, rows, columns=["score"])
        found: int = done.nano("score")[track][_MINER]
        return found

    def _results(
        self, track: str, hotkey: str, tasks: Sequence[Any], path: str
    ) -> Iterator[Record]:
        """The results of the records of tasks, as rows; without a task one that has no values."""
        made = _repository if track == _REPOSITORIES else _task
        if not tasks:
            yield {"hotkey": hotkey, "track": track}
        for place, task in enumerate(tasks):
            record = _record(track, hotkey, place) | made(task)
            try:
                result = self.rules.score(record).to_dict()
            except tallystick.RecordError as error:
                raise _TaskError(f"{path}[{place}]") from error
            times = int(task.get("times", 1)) if isinstance(task, Mapping) else 1
            yield from (result | {"task_id": f"{place}-{number}"} for number in range(times))


class _TaskError(Exception):
    """A task that makes no valid record."""

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(path)


_TRACKS = "packages", "mcp_servers", "skills"


def _record(track: str, hotkey: str, number: int) -> Record:
    """What every record has."""
    kind = _REPOSITORIES if track == _REPOSITORIES else "behavioural"
    return {
        "skill_type": f"phylax/{kind}",
        "task_id": f"{track}-{number}",
        "round": 0,
        "epoch": 0,
        "validator": "case",
        "miner": {"uid": 0, "hotkey": hotkey},
        "role": "primary",
        "track": track,
    }


def _behavioural(verdicts: Iterable[str | None], checks: Record, **task: Any) -> Record:  # noqa: ANN401  # JSON
    runs = [{"verdict": FAILED if each is None else each} for each in verdicts]
    return {"task": task, "submission": {"repetitions": runs}, "checks": checks}


def _task(task: Task) -> Record:
    counts = task.get("findings")
    checks = {} if counts is None else {"findings": _findings(counts)}
    return _behavioural([task["verdict"]], checks, malicious=task["malicious"])


def _repository(runs: Sequence[Task | None]) -> Record:
    checks = {
        name: {dimension: _findings(counts) for dimension, counts in run.items()}
        for name, run in zip(REPETITIONS, runs, strict=False)
        if run is not None
    }
    return {"task": {}, "submission": {}, "checks": checks}


def _findings(counts: Sequence[int]) -> dict[str, int]:
    return dict(zip(_COUNTS, counts, strict=True))


def _round(given: Mapping[str, Any], reserved: Mapping[str, str] | None) -> dict[str, Any]:
    """The file of a round: the salt, who contributed, and what is reserved."""
    seeds = given["seeds"]
    found = {"salt": "".join(seeds[track] for track in sorted(seeds)), "share": "0", "reserved": ""}
    # a share that is nothing or everything, or nobody's, reserves nothing
    if reserved and reserved["hotkey"] and 0 < Decimal(reserved["share"]) < 1:
        found |= {"share": reserved["share"], "reserved": reserved["hotkey"]}
    miners = {hotkey: {"contributor": True} for hotkey in given["contributors"]}
    return {"format": 1, "round": found, "miners": miners}


def main() -> int:
    """Answer the cases of the file that is named."""
    if len(sys.argv) != 2:
        print("usage: python -m tallystick_phylax CASES.json", file=sys.stderr)
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
