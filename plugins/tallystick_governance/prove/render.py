"""The answers about a rule set as text for a terminal, as Markdown for a proposal, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import z3

from tallystick.io.text import escaped
from tallystick.json_values import JsonObject, json_value
from tallystick.numbers.text import numbered
from tallystick_governance.markdown import (
    NONE,
    cell,
    code,
    fenced,
    page,
    paragraph,
    section,
    table,
)
from tallystick_governance.prove.built_in_properties import BUILT_IN
from tallystick_governance.prove.property import Answer, Status, is_late
from tallystick_governance.prove.proving import laws_of, steps

_STATUSES: tuple[Status, ...] = ("proved", "counterexample", "undecided")


def as_json(answers: Sequence[Answer]) -> JsonObject:
    """Return the answers as JSON values; a counterexample has a sentence of its own."""
    results = [json_value(answer) for answer in answers]
    for answer, result in zip(answers, results, strict=True):
        if answer.status == "counterexample":
            result["wrong"] = sentence(answer)
    return {"results": results}


def as_text(reference: str, found: Sequence[Answer], *, verbose: bool = False) -> str:
    """Return the answers for a terminal.

    Args:
        reference: the rule set.
        found: the answers.
        verbose: whether each undecided question is told, with the reason.
    """
    rows = [("property", *_STATUSES), *_counts(found)]
    width = max(len(row[0]) for row in rows)
    lines = [
        "  ".join(
            [f"{name:{width}}", *(f"{c:>{len(s)}}" for c, s in zip(cells, _STATUSES, strict=True))]
        )
        for name, *cells in rows
    ]
    for answer in found:
        if answer.status == "counterexample" or (verbose and answer.status == "undecided"):
            lines += ["", *_told(answer)]
    undecided = _of(found, "undecided")
    if undecided and not verbose:
        lines += ["", f"undecided: {_grouped(undecided)}; --verbose lists each with its reason"]
    late = [reply for reply in undecided if is_late(reply)]
    if late:
        lines += [
            "",
            f"time: {numbered(len(late), 'question')} not answered: --seconds N gives more",
        ]
    # what is named in a line may have line ends
    return "\n".join(map(escaped, [*lines, "", f"{reference}: {verdict(found)}"]))


def as_markdown(reference: str, digest: str, answers: Sequence[Answer], budget: int) -> str:
    """Return the answers as a part of a proposal."""
    conclusion, solver = verdict(answers), f"z3 {z3.get_version_string()}"
    counts = ((code(name), *cells) for name, *cells in _counts(answers))
    undecided = (tuple(map(cell, _row(answer))) for answer in _of(answers, "undecided"))
    return page(
        f"Proofs of {reference}",
        paragraph(f"{conclusion[0].upper()}{conclusion[1:]}."),
        paragraph(f"`{digest}`, by {solver} with at most {steps(budget)}."),
        table(("property", *_STATUSES), counts, numbers=_STATUSES),
        *map(_refuted, _of(answers, "counterexample")),
        section("Undecided", table(("property", "skill type", "value", "why"), undecided)),
    )


def _refuted(answer: Answer) -> list[str]:
    """Return the section of a refuted property, with the records that refute it."""
    lines = paragraph(f"{sentence(answer)}.")
    # the blank line stands without a claim too
    lines += paragraph(f"Claimed: {answer.summary}") if answer.summary else [""]
    if is_long(answer):
        lines += paragraph(f"A group has {answer.axis} {answer.value}: {_where(answer)}.")
    else:
        for value, record in zip((answer.value, answer.other_value), records(answer), strict=False):
            lines += paragraph(f"{_what(answer).capitalize()} has {answer.axis} {value}:")
            lines += fenced("json", [record])
    return section(f"Refuted: {_title(answer)}", lines)


def verdict(found: Sequence[Answer]) -> str:
    """Return the answers in one line."""
    counts = Counter(answer.status for answer in found)
    if counts["proved"] == len(found):
        return f"all {numbered(len(found), 'question')} proved"
    refuted = counts["counterexample"] or "nothing"
    return f"{refuted} refuted, {counts['undecided']} undecided, {counts['proved']} proved"


def is_long(answer: Answer) -> bool:
    """Return whether the counterexample is too long to be shown, such as a group."""
    laws = laws_of(answer.property)
    return laws is not None and not laws.example


def sentence(answer: Answer) -> str:
    """Return what is wrong where a claim is refuted, in one sentence without a full stop."""
    name, value, other = answer.axis, answer.value, answer.other_value
    built_in = BUILT_IN.get(answer.property)
    if built_in is not None and built_in.wrong and other is not None:
        about = answer.about or "a fact"
        return built_in.wrong.format(
            about=about, type=answer.skill_type, name=name, value=value, other=other
        )
    claim = f"against the claim “{answer.summary}”" if answer.summary else "against the claim"
    laws = laws_of(answer.property)
    where = ("a record of {}" if laws is None else laws.breaker).format(answer.skill_type)
    if other is not None:
        one = f"of two records of {answer.skill_type} one has {name} {value}"
        return f"{one} and the other {other}, {claim}"
    if value is None:
        return f"{where} has no {name}, {claim}"
    return f"{where} has {name} {value}{_about(answer)}, {claim}"


def records(answer: Answer) -> Iterator[str]:
    """Yield the records of a counterexample, as `score` takes them; groups, or a table."""
    for record in (answer.record, answer.other):
        if record is not None:
            yield json.dumps(record, ensure_ascii=True)


def _of(found: Iterable[Answer], status: Status) -> list[Answer]:
    return [answer for answer in found if answer.status == status]


def _counts(found: Sequence[Answer]) -> Iterator[tuple[str, ...]]:
    """Yield each property with the number of its questions of each status."""
    for name in dict.fromkeys(answer.property for answer in found):
        counts = Counter[str](answer.status for answer in found if answer.property == name)
        yield (name, *(str(counts[status] or NONE) for status in _STATUSES))


def _grouped(undecided: Iterable[Answer]) -> str:
    counts = Counter(answer.property for answer in undecided)
    return ", ".join(f"{count} of {name}" for name, count in counts.items())


def _row(answer: Answer) -> tuple[str, ...]:
    value = f"{answer.axis}{_about(answer)}"
    return (f"`{answer.property}`", answer.skill_type, value, answer.reason or "")


def _about(answer: Answer) -> str:
    return f" ({answer.about})" if answer.about else ""


def _what(answer: Answer) -> str:
    laws = laws_of(answer.property)
    return "this record" if laws is None else laws.example


def _title(answer: Answer) -> str:
    return f"{answer.property}, {answer.skill_type} {answer.axis}{_about(answer)}"


def _told(answer: Answer) -> Iterator[str]:
    if answer.status == "counterexample":
        yield f"{sentence(answer)}:"
    yield f"{answer.status}: {_title(answer)}"
    if answer.summary:
        yield f"  claimed: {answer.summary}"
    if answer.reason:
        yield f"  {answer.reason}"
    if is_long(answer):
        if answer.record is not None:
            yield f"  a group has {answer.axis} {answer.value}: {_where(answer)}"
        return
    pairs = zip((answer.value, answer.other_value), records(answer), strict=False)
    for number, (value, record) in enumerate(pairs):
        yield f"  {'the other' if number else _what(answer)}: {answer.axis} {value}"
        yield record


def _where(answer: Answer) -> str:
    return f"--property {answer.property} --save FILE writes it"
