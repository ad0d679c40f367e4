"""The verdict of a gate as text for a terminal, as Markdown for a proposal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.io.text import escaped
from tallystick.json_values import JsonObject
from tallystick.numbers.text import numbered
from tallystick_governance import exercised
from tallystick_governance.gate.clauses import KINDS, Judgement
from tallystick_governance.gate.gate import Verdict
from tallystick_governance.gate.measurement import MeasuredOn
from tallystick_governance.gate.policy import Clause, Policy
from tallystick_governance.markdown import bullets, cell, code, page, paragraph, section, table

_MARKS = {"kept": "kept", "broken": "BROKEN", "not asked": "not asked"}


def as_json(verdict: Verdict) -> JsonObject:
    """Return the verdict as JSON: the receipt, with its digest and the reasons of the clauses."""
    reasons = {j.clause.name: j.clause.reason for j in verdict.judgements if j.clause.reason}
    content = {**verdict.receipt.content}
    return {**content, "receipt": verdict.receipt.digest, "reasons": reasons}


def as_text(verdict: Verdict) -> str:
    """Return the verdict for a terminal."""
    content = verdict.receipt.content
    lines = [f"{side['reference']}  {side['digest']}" for side in (content["old"], content["new"])]
    lines += [f"policy {verdict.policy.name}  {verdict.policy.digest}"]
    lines += [f"measured on {_world(verdict.measured_on)}"]
    lines += [*exercised.line(verdict.measured_on.not_exercised), ""]
    width = max(len(judgement.clause.name) for judgement in verdict.judgements)
    for judgement in verdict.judgements:
        mark = _MARKS[judgement.outcome]
        figure = f"{judgement.figure} ({judgement.limit})"
        lines.append(f"{mark:9}  {judgement.clause.name:{width}}  {figure}")
        if judgement.is_broken:
            lines += [f"    {detail}" for detail in judgement.details]
            lines += [f"    why it is asked: {r}" for r in [judgement.clause.reason] if r]
    # what is named in a line may have line ends
    return "\n".join(map(escaped, [*lines, "", sentence(verdict)]))


def as_markdown(verdict: Verdict) -> str:
    """Return the verdict as a comment on a proposal."""
    content = verdict.receipt.content
    sides = (content["old"], content["new"])
    rows = (
        (code(j.clause.name), _MARKS[j.outcome], cell(j.figure), cell(j.limit))
        for j in verdict.judgements
    )
    policy = f"By the policy {verdict.policy.name}, measured on {_world(verdict.measured_on)}."
    world = "history" if verdict.measured_on.kind == "history" else exercised.NETWORK
    return page(
        f"Gate: {content['old']['reference']} → {content['new']['reference']}",
        paragraph(f"{sentence(verdict)}."),
        paragraph(policy),
        *map(paragraph, exercised.sentence(verdict.measured_on.not_exercised, world)),
        table(("clause", "outcome", "figure", "limit"), rows),
        *map(_section, verdict.broken),
        table(
            ("", "digest"),
            [
                *((cell(side["reference"]), f"`{side['digest']}`") for side in sides),
                (cell(f"policy {verdict.policy.name}"), f"`{verdict.policy.digest}`"),
                ("receipt", f"`{verdict.receipt.digest}`"),
            ],
        ),
    )


def _section(judgement: Judgement) -> list[str]:
    """Return the section of a broken clause, with its reason and what breaks it."""
    reason = judgement.clause.reason
    lines = paragraph(f"{KINDS[judgement.clause.name].summary}: found {judgement.figure}.")
    lines += paragraph(f"Why it is asked: {reason}.") if reason else []
    return section(
        f"Broken: {judgement.clause.name}", [*lines, *bullets(map(code, judgement.details))]
    )


def sentence(verdict: Verdict) -> str:
    """Return whether a change passes, in one line; a broken clause is named with its figure."""
    if verdict.has_passed:
        unasked = sum(judgement.outcome == "not asked" for judgement in verdict.judgements)
        more = f", {unasked} of them not asked" if unasked else ""
        return f"passed: {numbered(len(verdict.judgements), 'clause')}{more}"
    names = "; ".join(f"{j.clause.name} ({j.figure})" for j in verdict.broken)
    return f"not passed: broken: {names}"


def _world(measured_on: MeasuredOn) -> str:
    """Return the world that figures were measured on, in words."""
    seeds = ", ".join(map(str, measured_on.seeds))
    network = f"a made-up network of {measured_on.epochs} epochs, seed {seeds}"
    match measured_on.kind:
        case "history":
            counts = numbered(measured_on.records or 0, "record")
            groups = "" if measured_on.groups is None else f", with groups {measured_on.groups}"
            return f"a history of {counts}, {measured_on.digest}{groups}"
        case "network":
            return network
        case "state":
            return f"{network}, from epoch {measured_on.epoch} of a state, {measured_on.digest}"
        case "nothing":
            return "nothing, as no clause is about weights"


# a policy by itself


def policy_as_json(policy: Policy) -> JsonObject:
    """Return a policy as JSON: its digest, and each clause with its limit."""
    return {
        "name": policy.name,
        "digest": policy.digest,
        "summary": policy.summary,
        "clauses": [
            {
                "clause": clause.name,
                "limit": _limit(clause),
                "optional": clause.is_optional,
                "reason": clause.reason,
            }
            for clause in policy.clauses
        ],
    }


def policy_as_text(policy: Policy) -> str:
    """Return a policy for a terminal: its digest, and what each clause asks."""
    return "\n".join(map(escaped, _policy_lines(policy)))


def _policy_lines(policy: Policy) -> Iterator[str]:
    yield f"policy {policy.name}  {policy.digest}"
    if policy.summary:
        yield f"    {policy.summary}"
    for clause in policy.clauses:
        optional = ", optional" if clause.is_optional else ""
        yield f"{clause.name}: {_limit(clause)}{optional}"
        yield f"    {KINDS[clause.name].summary}"
        if clause.reason:
            yield f"    why: {clause.reason}"


def _limit(clause: Clause) -> str:
    return KINDS[clause.name].limit(clause.options)
