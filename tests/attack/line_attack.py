"""Hostile lines against everything that reads records, and what has to hold whatever they are.

Laws of one file, in which good records stand among what a mutator made:

- every line is one row or one reject with a known code, in order, and nothing else happens;
- each good record has the row that it has in a file without the others;
- facts, single lines and explanations say what the scored file says;
- a state refuses a file for the lines that scoring rejects, with the same codes, or because it does
  not know whose a line is; then nothing of it is recorded;
- a step with the same lines has an outcome for each, the reject that scoring gives or that of a
  state, and leads to the state that its good lines lead to alone.
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
from tallystick.records.rejects import CODES, Reject
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.result import Result
from tallystick.scoring.scorer import Scorer
from tallystick_state import ingest
from tallystick_state.ledger import Ledger
from tallystick_state.replay import verify

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
    """A rule set, and states of its own in which every miner of the attack is registered.

    Attributes:
        folder: takes the files of the attack.
        scorer: of the rule set.
        ledger: takes whole files.
        steps: takes what is good of a file.
        alone: takes the same lines, with no others beside them.
        found: how often there was a row, or a code.
    """

    folder: Path
    scorer: Scorer
    ledger: Ledger
    steps: Ledger
    alone: Ledger
    found: Counter[str] = field(factory=Counter)

    @classmethod
    def of(cls, folder: Path, rules: str) -> "Target":
        """A new target; its folder takes the files of the attack."""
        names = ("state", "steps", "alone")
        ledgers = [Ledger.create(folder / f"{name}.db", rules) for name in names]
        for ledger in ledgers:
            for uid, hotkey in enumerate(MINERS):
                ledger.register(hotkey, uid, tuple(ledger.scorer.types))
        return cls(folder, tallystick.load(rules), *ledgers)

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
        self._same_in_a_step(lines, mixed, scored)

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

    def _same_in_a_step(self, lines: list[bytes], mixed: Mixed, scored: Outcome) -> None:
        _, found = self.steps.close_round(lines, bad="reject")
        rejects = {each.line: each for each in found.results if isinstance(each, Reject)}
        results = {each.record: each for each in found.results if isinstance(each, Result)}
        # a late event that is good has no outcome
        late = set(range(1, len(lines) + 1)) - rejects.keys() - results.keys()
        assert late <= scored.rejects.keys()
        for number, row in scored.rows.items():
            if number in results:
                assert _numberless(results[number].to_json()) == row
            else:
                assert rejects[number].code in ingest.CODES
        for number, told in scored.rejects.items():
            assert number not in results
            if number in rejects and rejects[number].code not in ingest.CODES:
                assert rejects[number].code == told["code"]
        assert {rejects[n].code for n in rejects.keys() & mixed.good.keys()} <= {"other-epoch"}
        assert found.events == len(results) - found.duplicates - sum(found.quarantined.values())
        good = [line for number, line in enumerate(lines, 1) if number not in rejects]
        _, alone = self.alone.close_round(good)
        assert (alone.events, alone.quarantined) == (found.events, found.quarantined)
        assert _digest(self.steps) == _digest(self.alone)
        self.found["in a step"] += len(results)

    def _entries(self) -> int:
        with self.ledger.queries() as queries:
            return queries.head.entries

    def verify(self) -> None:
        """The log of the state leads to everything that it holds."""
        for ledger in (self.ledger, self.steps, self.alone):
            verify(ledger)

    def close(self) -> None:
        """End the use of the states."""
        for ledger in (self.ledger, self.steps, self.alone):
            ledger.close()


def _digest(ledger: Ledger) -> str:
    with ledger.queries() as queries:
        return queries.digest()


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
