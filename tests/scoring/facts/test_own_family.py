"""A family of facts that a plugin brings: from the record to the score, and its refusals."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from governance.prove.sample import essay, sample

from tallystick.errors import FormulaError, RuleSetError
from tallystick.formula.text import fact_text
from tallystick.plugins.author import (
    Domain,
    ExtractionCode,
    FactReader,
    Node,
    Parameters,
    axis,
    fact_at,
    family,
    path_of,
)
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.scorer import Scorer

Record = dict[str, Any]

TOPICS = "submission.topics"


def longest(path: str) -> Node:
    """The length of the longest text of a list."""
    return fact_at("sample/longest", path)


class Longest(FactReader):
    """The length of the longest text of a list."""

    name = "sample/longest"

    def domain(self, fact: Node, schema: Mapping[str, Any]) -> Domain:
        """Up to ten letters, which the fact stops at."""
        self.single(fact, schema)
        return Domain(0, 10)

    def extraction(self, fact: Node, code: ExtractionCode) -> str:
        """The length, which an empty list has none of."""
        return f"min(10, max(map(len, {code.listed(path_of(fact))}), default=0))"

    def text(self, fact: Node, named: Callable[[str], str]) -> str:
        """As people read it."""
        return f"longest of {named(path_of(fact))}"


family(Longest())


@axis("sample/longest@1")
def wordy(_p: Parameters) -> Node:
    """How near the longest topic is to ten letters."""
    return longest(TOPICS) / 10


def record(number: int) -> Record:
    topics = ["abcdefghijkl"[: 1 + (number * step) % 12] for step in range(number % 4)]
    return essay(number, submission={"words": 1, "topics": topics})


def by_hand(made: Record) -> str:
    length = min(10, max(map(len, made["submission"]["topics"]), default=0))
    return f"{length // 10}.{length % 10}00000000"


@pytest.fixture
def scorer(tmp_path: Path) -> Scorer:
    return sample(tmp_path, style="sample/longest", further=(wordy,))


def styles_in_every_way(
    scorer: Scorer, records: Sequence[Record], folder: Path
) -> Iterator[list[Decimal]]:
    """One axis of records that are scored alone, of a file, and of a file of their facts."""
    yield [scorer.score(record).axes["style"] for record in records]
    lines, facts, output = (folder / name for name in ("in.jsonl", "f.parquet", "out.jsonl"))
    lines.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    extract_file(lines, facts, scorer.registry)
    for source in (lines, facts):
        scorer.score_file(source, output)
        rows = map(json.loads, output.read_text("utf-8").splitlines())
        yield [Decimal(row["axes"]["style"]) for row in rows]


def test_a_family_of_a_plugin_is_scored_alike_in_every_way(scorer: Scorer, tmp_path: Path) -> None:
    records = [record(number) for number in range(40)]
    wanted = [by_hand(made) for made in records]
    assert len(set(wanted)) > 5
    for styles in styles_in_every_way(scorer, records, tmp_path):
        assert [f"{each:f}" for each in styles] == wanted


def test_it_has_its_text_its_description_and_its_identity(scorer: Scorer) -> None:
    fact = longest(TOPICS)
    assert fact_text(fact) == "longest of topics"
    assert fact.digest in scorer.types["essay"].domains
    assert scorer.types["essay"].domains[fact.digest] == Domain(0, 10)
    assert pickle.loads(pickle.dumps(fact)).digest == fact.digest  # noqa: S301 - of our own making


class _Taken(Longest):
    name = "count"


class _Doubled(Longest):
    pass


class _Unnamed(Longest):
    name = "Longest One"


@pytest.mark.parametrize(
    ("reader", "message"),
    [
        (_Taken, "found two readers of facts of the name 'count', tallystick.formula.facts."),
        (_Doubled, "found two readers of facts of the name 'sample/longest', "),
        (_Unnamed, "found a reader of facts of the name 'Longest One', expected a name such as"),
    ],
)
def test_a_reader_whose_name_is_taken_or_none_is_refused(
    reader: type[FactReader], message: str
) -> None:
    with pytest.raises(FormulaError, match=message):
        family(reader())
    family(Longest())  # again, as where its module runs twice


def test_a_fact_without_a_family_is_told(tmp_path: Path) -> None:
    @axis("sample/longest@1")
    def unknown(_p: Parameters) -> Node:
        """By a fact that nobody reads."""
        return fact_at("sample/shortest", TOPICS) / 10

    with pytest.raises(
        RuleSetError, match="found a fact of the reader 'sample/shortest', expected"
    ):
        sample(tmp_path, style="sample/longest", further=(unknown,))
