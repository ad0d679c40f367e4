"""Proofs in simulations: counterexamples become strategies, and proofs retire them.

A file of ``rules prove --json`` is about one rule set. A record that refutes a property there is a
strategy: to answer every task as it does. Under a rule set of which the same question is proved no
record does what that one did, so the strategy is not tried there. A proof is about scores: what an
allocation makes of them stays with the other strategies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import attrs

from tallystick.errors import InputError
from tallystick.io.documents import read_json
from tallystick.json_values import JsonKey, json_object
from tallystick.records.messages import shown
from tallystick_conformance.search import SUBMISSION

_NAMED = ("property", "skill_type", "axis", "status")


@attrs.frozen
class ProvedQuestion:
    """A question about the records of a skill type.

    Attributes:
        property: the name of the property.
        skill_type: of whose records.
        axis: the value that it is about.
        about: what tells questions of one property and value apart; empty for nothing.
    """

    property: str
    skill_type: str
    axis: str
    about: str


@json_object(
    "strategy",
    JsonKey("property", "question.property"),
    JsonKey("axis", "question.axis"),
    "summary",
)
@attrs.frozen
class RetiredStrategy:
    """A strategy that is not tried, as what it does is proved to be impossible.

    Attributes:
        strategy: its name.
        question: that is proved.
        summary: the claim in one sentence; empty for none.
    """

    strategy: str
    question: ProvedQuestion
    summary: str


@attrs.frozen
class ProofFile:
    """The answers about one rule set.

    Attributes:
        path: of the file.
        reference: the rule set.
        digest: its digest.
        proved: the questions that are proved, with the claim of each.
        refuted: the records that refute questions, in the order of the file.
    """

    path: Path
    reference: str
    digest: str
    proved: Mapping[ProvedQuestion, str]
    refuted: tuple[tuple[ProvedQuestion, Mapping[str, Any]], ...]


@attrs.frozen(slots=False)
class Proofs:
    """The answers of some files.

    Attributes:
        files: in order.
    """

    files: tuple[ProofFile, ...] = ()

    @cached_property
    def _refuted(self) -> Mapping[str, tuple[ProvedQuestion, Mapping[str, Any]]]:
        """The counterexamples by the name of their strategy: the property, and a number."""
        named, counts = {}, Counter[str]()
        for file in self.files:
            for question, record in file.refuted:
                counts[question.property] += 1
                named[f"{question.property}:{counts[question.property]}"] = question, record
        return named

    @property
    def examples(self) -> dict[str, dict[str, Any]]:
        """The counterexamples by the name of their strategy."""
        return {name: dict(record) for name, (_, record) in self._refuted.items()}

    def retired(self, digest: str) -> tuple[RetiredStrategy, ...]:
        """Return the strategies that are not tried under a rule set."""
        proved: dict[ProvedQuestion, str] = {}
        for file in self.files:
            if file.digest == digest:
                proved |= file.proved
        return tuple(
            RetiredStrategy(name, question, proved[question])
            for name, (question, _) in self._refuted.items()
            if question in proved
        )


def read_proofs(paths: Iterable[Path], rule_sets: Mapping[str, str]) -> Proofs:
    """Return the answers of some files of ``rules prove --json``.

    Args:
        paths: of the files.
        rule_sets: the references of the rule sets that are simulated, by digest.

    Raises:
        InputError: a file cannot be read, has no such answers, or is about another rule set.
    """
    files = tuple(map(_read, paths))
    for file in files:
        if file.digest not in rule_sets:
            raise InputError(
                f"{file.path}: found proofs of {shown(file.reference)} ({shown(file.digest)}), "
                f"expected those of {' or '.join(rule_sets.values())}: prove it anew"
            )
    return Proofs(files)


def _read(path: Path) -> ProofFile:
    try:
        document: Any = read_json(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:
        raise InputError(f"{path}: found no JSON ({error}), expected {_EXPECTED}") from error
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        raise InputError(f"{path}: found no results, expected {_EXPECTED}")
    heads = document.get("rule_set"), document.get("digest")
    if not all(isinstance(head, str) for head in heads):
        raise InputError(f"{path}: found no rule set or no digest, expected {_EXPECTED}")
    proved, refuted = dict[ProvedQuestion, str](), list[tuple[ProvedQuestion, Any]]()
    for number, result in enumerate(document["results"], 1):
        question = _question(result)
        if question is None:
            raise InputError(f"{path}: found no answer in result {number}, expected {_EXPECTED}")
        if result["status"] == "proved":
            proved[question] = str(result.get("summary") or "")
        elif result["status"] == "counterexample":
            records = (result.get("record"), result.get("other"))
            refuted += ((question, record) for record in records if _is_record(record, question))
    return ProofFile(path, str(heads[0]), str(heads[1]), proved, tuple(refuted))


_EXPECTED = "what `tallystick rules prove --json` prints"


def _question(result: Any) -> ProvedQuestion | None:  # noqa: ANN401  # a JSON value
    if not isinstance(result, dict) or not all(isinstance(result.get(n), str) for n in _NAMED):
        return None
    about = str(result.get("about") or "")
    return ProvedQuestion(result["property"], result["skill_type"], result["axis"], about)


def _is_record(record: Any, question: ProvedQuestion) -> bool:  # noqa: ANN401  # a JSON value
    """Return whether a counterexample is a record, and no group or table of miners."""
    return (
        isinstance(record, dict)
        and record.get("skill_type") == question.skill_type
        and SUBMISSION in record
    )
