"""Shadow: rules that are tried beside those in force, and change nothing.

A shadow is a history and a back-test. Each round that is closed leaves the facts of its records in
a folder, beside a file that says which rules were in force and which are tried. A state holds
nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs

from tallystick.canonical import PREFIX, canonical_bytes
from tallystick.errors import InputError, StateError
from tallystick.io.atomic import atomic_files
from tallystick.io.documents import read_json
from tallystick.io.json_schema import first_problem
from tallystick.io.sources import Chunk, input_digest
from tallystick.plugins.registry import Plugins, installed
from tallystick.records.decoding import Item
from tallystick.rules.reading import LoadedRuleSet
from tallystick.scoring.bound_rules import BoundRules
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick.scoring.sources import source_of
from tallystick.scoring.threshold_snapshots import ThresholdSnapshot
from tallystick_consensus.run import GroupFile, bound_consensus
from tallystick_governance.backtest.candidates import Candidate, candidates_of
from tallystick_state.answers import ClosedRound
from tallystick_state.event import StateEvent
from tallystick_state.event_decoder import EventDecoder
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.round_groups import RoundGroups
from tallystick_state.rules import state_rules_of

FILE, FACTS = "shadow.json", "facts"
"""The contents of the folder of a shadow: the file, and a folder of facts."""
OTHER_SHADOW = "other-shadow"
"""The code of a folder that is of other rules."""
OTHER_CONSENSUS = "other-consensus"
"""The code of rules that compute another consensus of groups than those in force."""
LARGEST_FILE = 2**20
"""The largest file of a folder, in bytes."""
_DIGITS = 16


@attrs.frozen(eq=False)
class _Snapshots(Mapping[int, ThresholdSnapshot]):
    """The snapshots of a state, as far as other rules know their skill types and tiers."""

    scorer: Scorer
    queries: StateQueries

    def __getitem__(self, epoch: int) -> ThresholdSnapshot:
        pinned = self.queries.pinned(epoch)
        if pinned is None:
            raise KeyError(epoch)
        tiered = {name for name, bound in self.scorer.types.items() if bound.tiers is not None}
        snapshot = pinned.thresholds.items()
        thresholds = {name: of_type for name, of_type in snapshot if name in tiered}
        return ThresholdSnapshot(thresholds, self.queries.snapshot_digest(epoch))

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return self.queries.state.epoch + 1


def shadowing(scorer: Scorer, queries: StateQueries) -> Scorer:
    """Return other rules that score by the thresholds of a state, or else by their seeds."""
    return scorer.with_snapshots(_Snapshots(scorer, queries))


@attrs.frozen(eq=False)
class _Decoder:
    """Makes events of records by some rules, with the consensus that these compute of groups."""

    scorer: Scorer
    groups: RoundGroups | None

    @classmethod
    def of(cls, scorer: Scorer, groups: Path | None) -> _Decoder:
        """Seeds are left out: they draw who is to be run again, and nothing of a score."""
        if groups is None:
            return cls(scorer, None)
        return cls(scorer, RoundGroups.of(GroupFile(groups).lines(), scorer, {}))

    @cached_property
    def _decoder(self) -> EventDecoder:
        return EventDecoder(self.scorer, self.groups)

    def events(self, chunk: Chunk) -> Iterable[tuple[int, StateEvent]]:
        return self._decoder.events(chunk).events

    def filled(self, event: StateEvent, item: Item) -> Item:
        return item if self.groups is None else self.groups.filled(event, item)

    def rules_of(self, event: StateEvent) -> BoundRules:
        return self.scorer.rules_at(event.epoch).line_of(event.skill_type)


@attrs.frozen(eq=False)
class Shadow:
    """Rules that are tried beside those of a state.

    Attributes:
        folder: where facts are kept.
        scorer: the rules.
        name: its key in what ``round close --json`` prints.
        heading: the line above its scores.
    """

    folder: Path
    scorer: Scorer
    name: str = "shadow"
    heading: str = "shadow, of rules that are not in force:"

    def check(self) -> None:
        """Refuse a folder that is of other rules.

        Raises:
            StateError: the folder is of other rules.
            InputError: its file cannot be read.
        """
        if not (self.folder / FILE).exists():
            return
        header = read(self.folder)["shadow"]
        if header["digest"] != self.scorer.digest:
            raise StateError(
                f"{self.folder}: found the shadow of {header['reference']} {header['digest']}, "
                f"expected that of {self.scorer.rule_set.reference} {self.scorer.digest}: "
                "name another folder",
                code=OTHER_SHADOW,
            )

    def check_consensus(self, ledger: Ledger) -> None:
        """Refuse rules that compute another consensus of groups than those in force.

        Facts are kept once for both, and the consensus of a record is one of them.

        Raises:
            StateError: they compute another one.
        """
        with ledger.queries() as queries:
            own = ledger.scorer.rules_at(queries.state.epoch)
        if not any(self._agrees(line) for line in own.lines or (own,)):
            raise StateError(
                f"found another consensus of groups in {self.scorer.rule_set.reference} than in "
                f"{own.rule_set.reference}, expected [consensus] to compute the same components: "
                "try rules that differ elsewhere, or compare both by tallystick backtest --groups",
                code=OTHER_CONSENSUS,
            )

    def _agrees(self, rules: BoundRules) -> bool:
        own, theirs = bound_consensus(rules), bound_consensus(self.scorer)
        return own is not None and theirs is not None and theirs.computes_as(own)

    def close(
        self,
        ledger: Ledger,
        records: Path,
        rounds: Sequence[ClosedRound],
        groups: Path | None = None,
    ) -> dict[int, dict[str, Decimal]]:
        """Keep the facts of rounds that were closed, and return the scores of each by the rules.

        It may be called again with the same records, and then writes the same files.

        Args:
            ledger: the state that closed them.
            records: the file that was recorded.
            rounds: what was closed.
            groups: the file of the groups that came with the records.

        Raises:
            InputError: a file cannot be read.
            OutputError: the folder cannot be written.
        """
        with ledger.queries() as queries, TemporaryDirectory() as temporary:
            recorded = frozenset().union(*(queries.recorded(closed.round) for closed in rounds))
            lines = Path(temporary) / "records.jsonl"
            decoders = self._decoders(ledger, queries, groups)
            scored = self._scored(decoders, records, recorded, lines)
            if lines.stat().st_size:
                self._keep(queries, records, lines)
            rules = state_rules_of(self.scorer)
            return {e.round: queries.shadow_scores(e.round, scored, rules) for e in rounds}

    def _decoders(
        self, ledger: Ledger, queries: StateQueries, groups: Path | None
    ) -> tuple[_Decoder, _Decoder]:
        """Return the decoders of the rules in force, and of those that are tried."""
        scorers = ledger.scorer, shadowing(self.scorer, queries)
        own, theirs = (_Decoder.of(scorer, groups) for scorer in scorers)
        return own, theirs

    def _scored(
        self,
        decoders: tuple[_Decoder, _Decoder],
        records: Path,
        recorded: frozenset[str],
        kept: Path,
    ) -> dict[str, StateEvent]:
        """Return the events of recorded records by their digests; their lines go to a file."""
        own, theirs = decoders
        scored = dict[str, StateEvent]()
        with kept.open("wb") as file:
            for chunk in source_of(records):
                items = dict(enumerate(chunk.items(), chunk.first))
                events = dict(own.events(chunk))
                lines = {n: e.record for n, e in events.items() if e.record in recorded}
                for number in sorted(lines):
                    filled = own.filled(events[number], items[number])
                    # a late one of rules with another consensus has no facts that both share
                    if filled is items[number] or self._agrees(own.rules_of(events[number])):
                        file.write(_line(filled))
                tried = ((lines.get(number), event) for number, event in theirs.events(chunk))
                scored |= {digest: event for digest, event in tried if digest is not None}
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


def _line(item: Item) -> bytes:
    return (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n"


def read(folder: Path) -> dict[str, Any]:
    """Return the file of a folder.

    Raises:
        InputError: there is none, or it is of no shadow.
    """
    path = folder / FILE
    try:
        document: dict[str, Any] = read_json(path, largest=LARGEST_FILE)
    except (OSError, ValueError) as error:
        raise _no_shadow(path, str(getattr(error, "strerror", None) or error).lower()) from error
    problem = first_problem("shadow-1", document)
    if problem is not None:
        raise _no_shadow(path, f"{problem.path or 'the document'}: {problem.message}")
    return document


def _no_shadow(path: Path, reason: str) -> InputError:
    return InputError(
        f"{path}: found no file of a shadow ({reason}), expected the folder of "
        "tallystick round close --shadow-folder"
    )


def candidates(folder: Path, plugins: Plugins) -> tuple[Candidate, ...]:
    """Return the rules that were in force last, and those that were tried, for a back-test.

    Raises:
        InputError: the folder is of no shadow.
        RuleSetError: one of the rule sets does not load any more.
    """
    document = read(folder)
    with TemporaryDirectory() as temporary:
        paths = []
        for name, rules in (("in-force", document["in_force"]), ("shadow", document["shadow"])):
            path = Path(temporary) / f"{name}.toml"
            path.write_text(rules["text"], encoding="utf-8")
            paths.append(str(path))
        return tuple(candidates_of(paths, [], plugins))
