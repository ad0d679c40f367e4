"""Shadow: rules that are tried beside those in force, and change nothing.

A shadow is a history and a back-test. Each round that is closed leaves the facts of its records in
a folder, beside a file that says which rules were in force and which are tried. A state holds
nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.errors import InputError, StateError
from tallystick.governance.backtest.candidates import Candidate, candidates_of
from tallystick.io.atomic import atomic_files
from tallystick.io.chunks import Chunk
from tallystick.io.documents import read_json
from tallystick.io.inputs import start_of
from tallystick.io.sources import input_digest
from tallystick.plugins.registry import Plugins, installed
from tallystick.resources import schema_path
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick.state.event import StateEvent
from tallystick.state.event_decoder import EventDecoder
from tallystick.state.ledger import Ledger
from tallystick.state.outcomes import ClosedRound
from tallystick.state.queries import StateQueries
from tallystick.state.rules import state_rules_of

FILE, FACTS = "shadow.json", "facts"
"""What a folder of a shadow holds: the file, and a folder of facts."""
OTHER_SHADOW = "other-shadow"
"""The code of a folder that is of other rules."""
LARGEST_FILE = 2**20
"""The largest file of a folder, in bytes."""
_DIGITS = 16


@attrs.frozen(eq=False)
class _Snapshots(Mapping[int, ThresholdSnapshot]):
    """The snapshots of a state, as far as other rules know their skill types and tiers."""

    scorer: Scorer
    queries: StateQueries

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        found = self.queries.pinned(epoch)
        if found is None:
            raise KeyError(epoch)
        known = {name for name, bound in self.scorer.types.items() if bound.tiers is not None}
        thresholds = {name: each for name, each in found.thresholds.items() if name in known}
        return ThresholdSnapshot(thresholds, self.queries.snapshot_digest(epoch))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return self.queries.state.epoch + 1


def shadowing(scorer: Scorer, queries: StateQueries) -> Scorer:
    """Other rules that score by the thresholds of a state; what they lack there is their seed."""
    return scorer.with_snapshots(_Snapshots(scorer, queries))


@attrs.frozen(eq=False)
class Shadow:
    """Rules that are tried beside those of a state.

    Attributes:
        folder: where facts are kept.
        scorer: the rules.
    """

    folder: Path
    scorer: Scorer

    def check(self) -> None:
        """That the folder is of these rules, if it is of any.

        Raises:
            StateError: it is of others.
            InputError: its file cannot be read.
        """
        if not (self.folder / FILE).exists():
            return
        found = read(self.folder)["shadow"]
        if found["digest"] != self.scorer.digest:
            raise StateError(
                f"{self.folder}: found the shadow of {found['reference']} {found['digest']}, "
                f"expected that of {self.scorer.rule_set.reference} {self.scorer.digest}: "
                "name another folder",
                code=OTHER_SHADOW,
            )

    def close(
        self, ledger: Ledger, records: Path, rounds: Sequence[ClosedRound]
    ) -> dict[int, dict[str, int]]:
        """Keep the facts of rounds that were closed; what the rules would make of each round.

        It may be called again with the same records, and then writes the same files.

        Args:
            ledger: the state that closed them.
            records: the file that was recorded.
            rounds: what was closed.

        Raises:
            InputError: the file cannot be read.
            OutputError: the folder cannot be written.
        """
        with ledger.queries() as queries, TemporaryDirectory() as place:
            recorded = frozenset().union(*(queries.recorded(each.round) for each in rounds))
            kept = Path(place) / "records.jsonl"
            scored = self._scored(ledger, queries, records, recorded, kept)
            if kept.stat().st_size:
                self._keep(queries, records, kept)
            rules = state_rules_of(self.scorer)
            return {e.round: queries.shadow_scores(e.round, scored, rules) for e in rounds}

    def _scored(
        self,
        ledger: Ledger,
        queries: StateQueries,
        records: Path,
        recorded: frozenset[str],
        kept: Path,
    ) -> dict[str, StateEvent]:
        """What the rules make of recorded records, by digest; their lines go to a file."""
        own = EventDecoder(ledger.scorer)
        theirs = EventDecoder(shadowing(self.scorer, queries))
        scored = dict[str, StateEvent]()
        with kept.open("wb") as file:
            for chunk in source_of(records):
                lines = {n for n, each in own.events(chunk).events if each.record in recorded}
                file.writelines(_line(chunk, number) for number in sorted(lines))
                scored |= {
                    each.record: each
                    for number, each in theirs.events(chunk).events
                    if number in lines and each.record is not None
                }
        return scored

    def _keep(self, queries: StateQueries, records: Path, kept: Path) -> None:
        facts = self.folder / FACTS
        facts.mkdir(parents=True, exist_ok=True)
        name = input_digest(records).removeprefix(PREFIX)[:_DIGITS]
        rejects = kept.with_name("rejects.jsonl")
        extract_file(kept, facts / f"{name}.parquet", installed(), rejects=rejects)
        with atomic_files(self.folder / FILE) as (file,):
            file.write(canonical_bytes(self._described(queries)) + b"\n")

    def _described(self, queries: StateQueries) -> dict[str, Any]:
        (timeline,) = queries.in_force.lines.values()
        now = queries.state.epoch
        begun = [(first, rules.loaded) for first, _, rules in timeline.spans() if first <= now]
        return {
            "format": 1,
            "in_force": {**_named(begun[-1][1]), "text": begun[-1][1].text},
            "rules": [{"epoch": first, **_named(loaded)} for first, loaded in begun],
            "shadow": {**_named(self.scorer.loaded), "text": self.scorer.loaded.text},
        }


def _named(loaded: LoadedRuleSet) -> dict[str, str]:
    return {"reference": loaded.rule_set.reference, "digest": loaded.digest}


def _line(chunk: Chunk, number: int) -> bytes:
    item = chunk.items()[number - chunk.first]
    return (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n"


def read(folder: Path) -> dict[str, Any]:
    """The file of a folder.

    Raises:
        InputError: there is none, or it is of no shadow.
    """
    import jsonschema_rs  # noqa: PLC0415  # heavy

    path = folder / FILE
    try:
        data = start_of(path, LARGEST_FILE + 1)
        found: dict[str, Any] = json.loads(data if len(data) <= LARGEST_FILE else b"")
        jsonschema_rs.validate(read_json(schema_path("shadow-1")), found)
    except (OSError, ValueError, RecursionError) as error:
        reason = str(getattr(error, "strerror", None) or error).splitlines()[0].lower()
        raise InputError(
            f"{path}: found no file of a shadow ({reason}), expected the folder of "
            "tallystick round close --shadow-folder"
        ) from error
    return found


def candidates(folder: Path, plugins: Plugins) -> tuple[Candidate, ...]:
    """The rules that were in force last, and those that were tried, for a back-test.

    Raises:
        InputError: the folder is of no shadow.
        RuleSetError: one of the rule sets does not load any more.
    """
    found = read(folder)
    with TemporaryDirectory() as place:
        paths = []
        for name, each in (("in-force", found["in_force"]), ("shadow", found["shadow"])):
            path = Path(place) / f"{name}.toml"
            path.write_text(each["text"], encoding="utf-8")
            paths.append(str(path))
        return tuple(candidates_of(paths, [], plugins))
