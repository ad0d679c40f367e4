"""The playground, which scores a record of the reader's and says what would earn more.

Its link holds all that is on it. Records are scored in processes of their own, so a page is an
answer even where its record, or its rules, are refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import attrs
from anyio import to_thread
from starlette.responses import Response

from tallystick.errors import TallystickError
from tallystick.json_values import JsonObject
from tallystick.numbers.nano import from_text
from tallystick.records.rejects import Reject
from tallystick.records.struct_builder import is_answered
from tallystick.scoring.scorer import Scorer
from tallystick_service.answer import RefusedQuestionError
from tallystick_service.api.scoring import value_of
from tallystick_service.edits import lines_of
from tallystick_service.known_rules import known_rules
from tallystick_service.route import Parameter, Question, Route
from tallystick_service.scoring_process import Order
from tallystick_service.site import Site

_LONGEST_RECORD = 8192
"""Characters of a record in a link: servers and browsers take links of a few times as much."""
_LONGEST_EDITS = 2048


@attrs.frozen
class Offer:
    """The choices of a reader, by the state of now.

    Attributes:
        epoch: the open one.
        types: the skill types of the rules in force.
        examples: an example record of each, as indented JSON.
        rules: digest and reference of each rule set.
        in_force: by skill type, the digest of the rule set that scores it.
    """

    epoch: int
    types: tuple[str, ...]
    examples: Mapping[str, str]
    rules: tuple[tuple[str, str], ...]
    in_force: Mapping[str, str]


async def offer_of(question: Question) -> Offer:
    """Return what the reader chooses from, made once for each version of the state."""
    site = question.site
    return await to_thread.run_sync(lambda: question.once(("offer",), lambda: _offer(site)))


def _offer(site: Site) -> Offer:
    scorer = site.state.scorer
    with site.state.queries() as queries:
        epoch = queries.state.epoch
        types = tuple(sorted(queries.rules.type_rules))
        known = known_rules(queries.in_force)
        in_force = {name: own.digest for name, own in queries.rules.type_rules.items()}
    examples = {
        name: json.dumps(record, indent=1, ensure_ascii=False)
        for name in types
        if (record := _example_of(scorer, name, epoch)) is not None
    }
    rules = tuple((digest, rules.rule_set.reference) for digest, rules in known.items())
    return Offer(epoch, types, examples, rules, in_force)


def _example_of(scorer: Scorer, skill_type: str, epoch: int) -> Mapping[str, Any] | None:
    """Return the first example of a type that has a submission; None where there is none.

    Args:
        scorer: the rules that score it.
        skill_type: the type.
        epoch: which the record is to name.
    """
    from tallystick_conformance.testing.samples import examples_of  # only with an offer

    kind = scorer.registry.skill_types.get(skill_type)
    for record in examples_of(kind) if kind is not None else ():
        moved = {**record, "epoch": epoch}
        decoded = scorer.decoder.decode(moved, 1)
        if isinstance(decoded, Reject) or not is_answered(decoded):
            continue
        if decoded.skill_type == skill_type:
            return moved
    return None


@attrs.frozen
class Side:
    """One rule set of the playground, and what it makes of the record.

    Attributes:
        rules: the digest or reference that was chosen; empty for the rules in force.
        edits: other values of it, a line each.
        advice: what it makes of the record; None where it is refused.
        refused: why; None where it is not.
    """

    rules: str
    edits: str
    advice: JsonObject | None = None
    refused: RefusedQuestionError | None = None


async def _advised(question: Question, offer: Offer, record: str, side: Side) -> Side:
    edits = lines_of(side.edits)
    # other values than those in force are of the rule set that scores the record's type
    name = side.rules or (offer.in_force.get(_type_of(record), "") if edits else "")
    order = Order(do="advise", record=_line(record), rules=name, edits=edits)
    try:
        return attrs.evolve(side, advice=await value_of(question, order))
    except RefusedQuestionError as error:
        return attrs.evolve(side, refused=error)


def _line(record: str) -> bytes:
    """Return a record as one line: no text of JSON has a line end."""
    return record.replace("\r", " ").replace("\n", " ").encode("utf-8", "surrogatepass")


def _record(question: Question, offer: Offer) -> tuple[str, str]:
    """Return the skill type and the record that a page is about."""
    wanted, record = question.text("skill_type"), question.text("record")
    default = next((name for name in offer.types if name in offer.examples), "")
    if record.strip():
        return wanted or _type_of(record) or default, record
    chosen = wanted if wanted in offer.examples else default
    return chosen, offer.examples.get(chosen, "")


def _type_of(record: str) -> str:
    try:
        value: Any = json.loads(record)
    except (ValueError, RecursionError):
        return ""
    name = value.get("skill_type") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""


def _rules_parameter(name: str, of: str) -> Parameter:
    return Parameter(name=name, meaning=f"the digest or reference of {of}", longest=256)


def _edits_parameter(name: str, of: str) -> Parameter:
    meaning = f"other values of {of}, PATH=VALUE a line"
    return Parameter(name=name, meaning=meaning, longest=_LONGEST_EDITS)


_PARAMETERS = (
    Parameter(name="skill_type", meaning="the skill type whose example is taken", longest=256),
    Parameter(name="record", meaning="a record as JSON", longest=_LONGEST_RECORD),
    _rules_parameter("rules", "a rule set"),
    _edits_parameter("edits", "it"),
    _rules_parameter("other", "a second rule set"),
    _edits_parameter("other_edits", "that"),
)


@partial(Route, "/playground", "scoring", query=_PARAMETERS, reads=False)
async def _playground(question: Question) -> Response:
    """A record and a rule set, edited and explained; what next; two rule sets beside."""
    question = await question.versioned()
    offer = await offer_of(question)
    chosen, record = _record(question, offer)
    first = Side(question.text("rules"), question.text("edits"))
    sides = [first]
    if question.text("other") or question.text("other_edits").strip():
        sides.append(Side(question.text("other"), question.text("other_edits")))
    done = await asyncio.gather(*(_advised(question, offer, record, side) for side in sides))
    return question.page(
        "playground.html",
        offer=offer,
        chosen=chosen,
        record=record,
        sides=done,
        second=Side(question.text("other"), question.text("other_edits")),
        compared=compared(*done) if len(done) > 1 else [],
    )


def compared(first: Side, second: Side) -> list[tuple[str, str | None, str | None, int | None]]:
    """Return the values of two explanations: the name, both values, and the change in nano."""
    if first.advice is None or second.advice is None:
        return []
    old, new = (_values(side.advice["explanation"]) for side in (first, second) if side.advice)
    rows = []
    for name in dict.fromkeys((*old, *new)):
        before, after = old.get(name), new.get(name)
        rows.append((name, before, after, _change(before, after)))
    return rows


def _change(before: str | None, after: str | None) -> int | None:
    try:
        return None if before is None or after is None else from_text(after) - from_text(before)
    except (ValueError, TallystickError):
        return None


def _values(explanation: JsonObject) -> dict[str, str | None]:
    """Return the values of an explanation by name, in the order in which they follow."""
    values = {axis["name"]: axis["value"] for axis in explanation["axes"]}
    values |= {m["name"]: m["value"] for m in explanation.get("measures", ())}
    if explanation["composite"] is not None:
        values["quality"] = explanation["composite"]["quality"]
    if explanation["tier"] is not None:
        values["tier"] = explanation["tier"]["name"]
    values |= {factor["name"]: factor["value"] for factor in explanation["factors"]}
    if explanation["emission"] is not None:
        values["emission"] = explanation["emission"]["value"]
    return values
