"""Hostile lines against everything that reads records, and what has to hold whatever they are.

Laws of one file, in which good records stand among what a mutator made:

- every line is one row or one reject with a known code, in order, and nothing else happens;
- each good record has the row that it has in a file without the others;
- facts, single lines and explanations say what the scored file says;
- a state refuses a file for the lines that scoring rejects, with the same codes, or because it does
  not know whose a line is; then nothing of it is recorded.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from attack.hostile_lines import MINERS, Mixed
from attrs import field, frozen
from records.judges import judges_of

import tallystick
from tallystick.errors import INTERNAL_ERROR, RecordError, RefusedError
from tallystick.plugins.registry import installed
from tallystick.records.rejects import CODES
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer
from tallystick.state import ingest
from tallystick.state.ledger import Ledger
from tallystick.state.replay import verify

EXPLAINED = 10
"""One of so many lines is also scored alone, explained, and judged by jsonschema."""
_REQUIREMENTS = {
    *("timing-window", "completed-exceeds-total", "budget-positive", "latency-limit-positive"),
}

Json = dict[str, Any]


@frozen
class Outcome:
    """What became of the lines of a file: rows without their numbers, and codes, by line."""

    rows: dict[int, str]
    rejects: dict[int, Json]


@frozen
class Target:
    """A rule set, and a state of its own in which every miner of the attack is registered."""

    folder: Path
    scorer: Scorer
    ledger: Ledger
    found: Counter[str] = field(factory=Counter)

    @classmethod
    def of(cls, folder: Path, rules: str) -> "Target":
        """A new target; its folder takes the files of the attack."""
        ledger = Ledger.create(str(folder / "state.db"), rules)
        for uid, hotkey in enumerate(MINERS):
            ledger.register(hotkey, uid, tuple(ledger.scorer.types))
        return cls(folder, tallystick.load(rules), ledger)

    def attack(self, mixed: Mixed) -> None:
        """Give a file to everything that reads records."""
        source = self.folder / "records.jsonl"
        source.write_bytes(mixed.data)
        lines = mixed.lines()
        scored = self._scored(source, len(lines))
        self.found["row"] += len(scored.rows)
        self.found.update(each["code"] for each in scored.rejects.values())
        self._same_good_rows(mixed, scored)
        self._same_by_facts(source, scored)
        for number, line in list(enumerate(lines, 1))[::EXPLAINED]:
            self._same_alone(number, line, scored)
        self._same_in_the_state(source, mixed, scored)

    def _scored(self, source: Path, lines: int) -> Outcome:
        output = self.folder / "out.jsonl"
        counts = self.scorer.score_file(source, output).counts
        found = _outcome(output)
        assert sorted([*found.rows, *found.rejects]) == list(range(1, lines + 1))
        assert (counts.records, counts.rejected) == (lines, len(found.rejects))
        known = {*CODES, *_REQUIREMENTS} - {INTERNAL_ERROR}
        assert {each["code"] for each in found.rejects.values()} - known == set()
        return found

    def _same_good_rows(self, mixed: Mixed, scored: Outcome) -> None:
        clean, output = self.folder / "clean.jsonl", self.folder / "clean.out.jsonl"
        clean.write_bytes(mixed.clean())
        self.scorer.score_file(clean, output)
        assert list(_outcome(output).rows.values()) == [scored.rows.get(n) for n in mixed.good]

    def _same_by_facts(self, source: Path, scored: Outcome) -> None:
        facts, output = self.folder / "facts.parquet", self.folder / "facts.out.jsonl"
        extract_file(source, facts, installed())
        self.scorer.score_file(facts, output)
        found, before = _outcome(output), _rejects(facts)
        assert found.rows == scored.rows
        assert sorted([*before, *found.rejects]) == sorted(scored.rejects)

    def _same_alone(self, number: int, line: bytes, scored: Outcome) -> None:
        code = scored.rejects.get(number, {}).get("code")
        try:
            explained = self.scorer.explain(line, line=number)
        except RecordError as error:
            said: str | None = error.code
        else:
            assert _numberless(explained.result.to_json()) == scored.rows[number]
            said = str(explained) and None
        assert said == code
        for name in self.scorer.types:
            if b'"' + name.encode() + b'"' in line and code not in _REQUIREMENTS:
                assert judges_of(name).expected(line) <= (number in scored.rows), line[:300]

    def _same_in_the_state(self, source: Path, mixed: Mixed, scored: Outcome) -> None:
        before, refused = self._entries(), dict[int, str]()
        # both read a file in the same way: in turn
        take = self.ledger.close_round if before % 2 else self.ledger.import_events
        try:
            take(source)
        except RefusedError as error:
            refused = {each.line: each.code for each in error.refusals}
        told = {n: each["code"] for n, each in scored.rejects.items()}
        assert {n: c for n, c in refused.items() if c not in ingest.CODES} == told
        # of a round, what comes first says the epoch
        assert {refused[n] for n in refused.keys() & mixed.good.keys()} <= {"other-epoch"}
        assert self._entries() == before
        assert self.ledger.import_events(self.folder / "clean.jsonl").events == len(mixed.good)

    def _entries(self) -> int:
        with self.ledger.queries() as queries:
            return queries.head.entries

    def verify(self) -> None:
        """The log of the state leads to everything that it holds."""
        verify(self.ledger)


def _outcome(output: Path) -> Outcome:
    # lines end with a line feed alone: other separators stand in texts
    rows = output.read_text(encoding="utf-8").split("\n")[:-1]
    numbered = {int(row[len(_START) : row.index(",")]): _numberless(row) for row in rows}
    return Outcome(numbered, _rejects(output))


def _rejects(output: Path) -> dict[int, Json]:
    lines = output.with_name(output.name + ".rejects.jsonl").read_bytes().splitlines()
    return {each["line"]: each for each in map(json.loads, lines)}


_START = '{"record":'


def _numberless(row: str) -> str:
    assert row.startswith(_START)
    return row[row.index(",") :]
