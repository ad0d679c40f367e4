"""Return the answer of the rules of Phylax to a case of the vectors, by records of tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from third_party.real_projects import head_of, rules

import tallystick

VERDICTS = "ALLOW", "WARN", "BLOCK"
TRACKS = "packages", "mcp_servers", "skills", "repositories"
REPETITIONS = "first", "second", "third", "fourth"
_COUNTS = "matched", "expected", "reported"

Record = dict[str, Any]
Task = Mapping[str, Any]


def behavioural(given: Mapping[str, Any]) -> object:
    """The score of a miner in a behavioural track; all of them score alike."""
    return {"score": _score("skills", given["tasks"])}


def repositories(given: Mapping[str, Any]) -> object:
    """The score of a miner in the track of the repositories."""
    return {"score": _score("repositories", given["tasks"])}


def vote(given: Mapping[str, Any]) -> object:
    """The verdict of some repetitions."""
    record = _head("skills", "miner", 0) | _behavioural(given["repetitions"], {})
    verdict = rules("phylax").score(record).measures["verdict"]
    return {"verdict": None if verdict is None else VERDICTS[int(verdict)]}


def allocation(given: Mapping[str, Any]) -> object:
    """Return the result of each round from given scores, one after the other."""
    found, carry = [], None
    for each in given["rounds"]:
        scores = {
            track: {hotkey: Decimal(score) for hotkey, score in of_track.items()}
            for track, of_track in each["scores"].items()
        }
        carry = tallystick.allocate(
            rules("phylax"),
            [{"hotkey": miner, "track": track} for track in scores for miner in scores[track]],
            round=_round(each, given["reserved"]),
            carry=carry,
            given={"score": scores},
        )
        names = {"new": "new", "smoothed": "smooth", "final": "weight"}
        found.append({name: carry.nano(step) for name, step in names.items()})
    return found


def round_of(given: Mapping[str, Any]) -> object:
    """The scores and the weights of a round."""
    tracks = {track: of for track, of in given.items() if track in TRACKS}
    rows = [
        row
        for track, miners in tracks.items()
        for hotkey, tasks in miners.items()
        for row in _results(track, hotkey, tasks)
    ]
    done = tallystick.allocate(rules("phylax"), rows, round=_round(given, given.get("reserved")))
    scores = done.nano("score")
    return {
        "scores": {
            track: {hotkey: scores[track][hotkey] for hotkey in miners}
            for track, miners in tracks.items()
        },
        "weights": done.nano("weight"),
    }


ANSWERS = {
    "behavioural": behavioural,
    "vote": vote,
    "repositories": repositories,
    "allocation": allocation,
    "round": round_of,
}
"""By the kind of the case."""


def _score(track: str, tasks: Sequence[Any]) -> int:
    """The score of a miner of the given tasks, of which there may be none."""
    rows = [*_results(track, "miner", tasks)]
    done = tallystick.allocate(rules("phylax"), rows, columns=["score"])
    found: int = done.nano("score")[track]["miner"]
    return found


def _results(track: str, hotkey: str, tasks: Sequence[Any]) -> Iterator[Record]:
    """The results of the records of tasks, as rows; without a task one that has no values."""
    if not tasks:
        yield {"hotkey": hotkey, "track": track}
    for place, task in enumerate(tasks):
        result = rules("phylax").score(record_of(track, hotkey, place, task)).to_dict()
        times = int(task.get("times", 1)) if isinstance(task, Mapping) else 1
        yield from (result | {"task_id": f"{place}-{number}"} for number in range(times))


def record_of(track: str, hotkey: str, number: int, task: Any) -> Record:  # noqa: ANN401  # JSON
    """The record of a task of a miner."""
    made = _repository if track == "repositories" else _task
    return _head(track, hotkey, number) | made(task)


def _head(track: str, hotkey: str, number: int) -> Record:
    kind = "repositories" if track == "repositories" else "behavioural"
    return head_of(f"phylax/{kind}", f"{track}-{number}", hotkey) | {"track": track}


def _behavioural(verdicts: Iterable[str | None], checks: Record, **task: Any) -> Record:  # noqa: ANN401  # JSON
    runs = [{"verdict": "FAILED" if each is None else each} for each in verdicts]
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
