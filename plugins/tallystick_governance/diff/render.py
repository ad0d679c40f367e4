"""A difference as text for a terminal, as Markdown for a proposal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor

from tallystick.io.text import escaped
from tallystick.json_values import JsonObject, json_form, json_value
from tallystick.numbers.nano import NANO, to_text
from tallystick_governance.diff.change import Change, FormulaChange
from tallystick_governance.diff.difference import RuleSetDifference
from tallystick_governance.diff.effect import Effect
from tallystick_governance.diff.outcome import Cause, Outcome
from tallystick_governance.diff.policy import Level
from tallystick_governance.markdown import (
    NONE,
    bullets,
    cell,
    code,
    fenced,
    page,
    paragraph,
    section,
    table,
)
from tallystick_governance.ranges import ONE, Interval

_UNKNOWN = "no bound known"
_NO_SCORE = "nothing"
_MOVES = "what can move, of the same submissions"


def as_json(found: RuleSetDifference) -> JsonObject:
    """Return the difference as JSON values; exact numbers are text of nine places."""
    return {
        "old": {"rule_set": found.old, "digest": found.old_digest},
        "new": {
            "rule_set": found.new,
            "digest": found.new_digest,
            "summary": found.summary,
        },
        "sections": json_value(found.sections),
        "not_analysed": json_value(found.not_analysed),
        **({"not_analysed_values": json_value(found.unknown)} if found.unknown else {}),
        "thresholds_of_epoch": found.epoch,
        "measure": _command(found) if _is_to_measure(found) else None,
        "changes": json_value(found.changes),
        "formulas": json_value(found.formulas),
        "added_types": json_value(found.added_types),
        "removed_types": json_value(found.removed_types),
        "gone": json_value(found.gone),
        "effects": json_value(found.effects),
        "moves": json_value(found.outcomes),
        "breaking": found.is_breaking,
        "needed": str(found.needed),
        "raised": str(found.raised),
        "enough": found.is_enough,
    }


def as_text(found: RuleSetDifference) -> str:
    """Return the difference for a terminal."""
    lines = [f"{found.old}  {found.old_digest}", f"{found.new}  {found.new_digest}"]
    lines += [f"    {_summary(found)}", ""]
    lines += [f"it changes: {', '.join(found.sections)}", ""] if found.sections else []
    lines += _section("changes", (_change_text(change) for change in found.changes))
    lines += _section("formulas", (line for f in found.formulas for line in _formula_text(f)))
    types = [f"+ {name}" for name in found.added_types]
    types += [f"- {name}" for name in found.removed_types]
    lines += _section("skill types", types)
    title = f"what it can do to a score{_of_state(found)}"
    effects = [e for e in found.effects if not (e.is_none and found.moves_more)]
    lines += _section(title, (line for e in effects for line in _effect_text(e)))
    lines += _section(_MOVES, _outcome_lines(found)) if found.changes or found.formulas else []
    lines += [line for text in _limits(found) for line in (text, "")]
    lines += _section("gone, though others name it", found.gone)
    # what is named in a line may have line ends
    return "\n".join(map(escaped, [*lines, verdict(found)]))


def as_markdown(found: RuleSetDifference) -> str:
    """Return the difference as a part of a proposal."""
    sides = (found.old, found.old_digest), (found.new, found.new_digest)
    changes = ((code(c.path), cell(c.old), cell(c.new)) for c in found.changes)
    moves = (
        (cell(effect.skill_type), cell(name), low, high or NONE)
        for effect in found.effects
        for name, low, high in _moves(effect)
    )
    recomputed = dict.fromkeys(name for effect in found.effects for name in effect.recomputed)
    effects = table(("skill type", "value", "at least", "at most"), moves)
    names = ("Added", found.added_types), ("Removed", found.removed_types), ("Gone", found.gone)
    return page(
        f"{found.old} → {found.new}",
        paragraph(verdict(found)),
        paragraph(_summary(found)),
        table(("", "digest"), ((cell(name), f"`{digest}`") for name, digest in sides)),
        section("Changes", table(("value", "old", "new"), changes)),
        *(
            section(
                f"Formula {formula.name}, {formula.kind}", fenced("diff", _formula_lines(formula))
            )
            for formula in found.formulas
        ),
        *(section(title, bullets(map(code, listed))) for title, listed in names),
        section(
            f"What it can do to a score{_of_state(found)}",
            (effects or paragraph(_no_record(recomputed, found))) if found.effects else (),
        ),
        section(_MOVES, _outcome_table(found)) if found.changes or found.formulas else (),
        *map(paragraph, _limits(found)),
    )


def _outcome_lines(found: RuleSetDifference) -> Iterator[str]:
    """Yield each result with the ways in which it can move, and the reasons below it."""
    if not found.moving:
        yield _NO_SCORE
        return
    for outcome in found.outcomes:
        yield f"{outcome.result}: {outcome.direction}{_outcome_bound(outcome.bound)}"
        yield from (f"    {_reason(cause)}" for cause in outcome.causes)
    if any(outcome.result == "weights" for outcome in found.moving):
        yield "how far weights move has no bound without records"


def _outcome_table(found: RuleSetDifference) -> Sequence[str]:
    rows = (
        (cell(outcome.result), cell(f"{outcome.direction}{_outcome_bound(outcome.bound)}"), why)
        for outcome in found.outcomes
        for why in ("; ".join(cell(_reason(cause)) for cause in outcome.causes) or NONE,)
    )
    return table(("result", "of the same submissions", "because"), rows)


def _outcome_bound(bound: Interval | None) -> str:
    return "" if bound is None else ", {} to {}".format(*_ends(bound))


def _reason(cause: Cause) -> str:
    """Return a reason on one line: the part, which way it moves, how far, and from what."""
    through = f"through {', '.join(cause.through)}" if cause.through else ""
    moved = cause.bound and not cause.bound.is_zero and not cause.note
    bound = "{} to {}".format(*_ends(cause.bound)) if moved and cause.bound else ""
    told = (str(cause.direction), cause.note, bound, through, ", ".join(cause.paths))
    return f"{cause.subject}: {'; '.join(part for part in told if part)}"


def _summary(found: RuleSetDifference) -> str:
    """Return what the new rule set is for, in its own words."""
    return f"“{found.summary}”" if found.summary else "no summary of its own"


def _of_state(found: RuleSetDifference) -> str:
    """Return whose thresholds bound the effects, as the end of a title."""
    return "" if found.epoch is None else f", by the thresholds of the state in epoch {found.epoch}"


def _is_to_measure(found: RuleSetDifference) -> bool:
    later = found.epoch is not None and found.moves_thresholds
    return bool(found.moves_more or found.any_tier or found.not_analysed or found.unknown or later)


def _command(found: RuleSetDifference) -> str:
    """Return the command that measures on records what bounds cannot tell."""
    return f"tallystick backtest HISTORY --rules {found.old} --rules NEW --with-state -o FOLDER"


def _limits(found: RuleSetDifference) -> Iterator[str]:
    """Yield what the bounds say nothing about, and what measures it."""
    if found.any_tier:
        state = "" if found.epoch is not None else "; --state STATE bounds it by those of a state"
        yield (
            f"thresholds change, so that a record of any tier may reach any other "
            f"({', '.join(found.any_tier)}): these bounds are those of every pair of tiers{state}. "
            f"How much it is depends on the records"
        )
    if found.epoch is not None and found.moves_thresholds:
        yield (
            "after that epoch the thresholds follow the new rules, which no bound here supposes: "
            "how far they move depends on the records"
        )
    if found.not_analysed:
        yield (
            f"not analysed: {', '.join(found.not_analysed)}. These change, and what they move "
            "is not known"
        )
    yield from map(str, found.unknown)
    if _is_to_measure(found):
        yield f"on records it is measured by: {_command(found)}"


def verdict(found: RuleSetDifference) -> str:
    """Return the part of the version that the change needs, and whether it is raised."""
    if found.needed is Level.NONE:
        return "no difference in meaning"
    breaking = "breaking: " if found.is_breaking else ""
    needs = f"{breaking}the change needs a {found.needed} version"
    if not found.same_line:
        return f"{needs}; these are two lines of rule sets, so no version is asked of it"
    has = "none" if found.raised is Level.NONE else f"a {found.raised} one"
    return f"{needs}, and {found.old} → {found.new} is {has}"


def _section(title: str, lines: Iterable[str]) -> list[str]:
    indented = [f"    {line}" for line in lines]
    return [title, *indented, ""] if indented else []


def _change_text(change: Change) -> str:
    match change.kind:
        case "added":
            return f"+ {change.path} = {_line(change.new)}"
        case "removed":
            return f"- {change.path} = {_line(change.old)}"
        case _:
            return f"~ {change.path}: {_line(change.old)} → {_line(change.new)}"


def _formula_text(formula: FormulaChange) -> Iterator[str]:
    yield f"{formula.name}, {formula.kind}"
    yield from (f"    {line}" for line in _formula_lines(formula))


def _formula_lines(formula: FormulaChange) -> list[str]:
    return [*(f"- {line}" for line in formula.old), *(f"+ {line}" for line in formula.new)]


def _effect_text(effect: Effect) -> Iterator[str]:
    if effect.is_none:
        yield f"{effect.skill_type}: {_no_score(effect.recomputed)}"
        return
    yield effect.skill_type
    for name, low, high in _moves(effect):
        yield f"    {name}: {low} to {high}" if high else f"    {name}: {low}"
    if effect.old_emission is not None or effect.new_emission is not None:
        old, new = map(_most, (effect.old_emission, effect.new_emission))
        yield f"    emission at most: {old} → {new}"


def _no_score(recomputed: Iterable[str]) -> str:
    """Return that no score moves, with the values that are proved equal but computed otherwise."""
    names = ", ".join(recomputed)
    return f"{_NO_SCORE}, though computed in another way: {names}" if names else _NO_SCORE


def _no_record(recomputed: Iterable[str], found: RuleSetDifference) -> str:
    """Return that no score of a record moves; "nothing" where nothing else moves either."""
    return "no score of a record" if found.moves_more else _no_score(recomputed)


def _most(emission: Interval | None) -> str:
    return "none" if emission is None else _ends(emission)[1]


def _moves(effect: Effect) -> Iterator[tuple[str, str, str]]:
    """Yield each value that can move, with its bounds; one text where none is known."""
    for name, move in effect.moves.items():
        if move is None:
            yield name, _UNKNOWN, ""
        elif not move.is_zero:
            yield name, *_ends(move)
    ratio = effect.emission_ratio
    if ratio is not None and ratio != ONE:
        yield "new emission / old emission", *_ends(ratio)


def _line(value: str | None) -> str:
    return value or ""


def _ends(interval: Interval) -> tuple[str, str]:
    """Return the ends as text of nine places, rounded outwards."""
    return to_text(floor(interval.low * NANO)), to_text(ceil(interval.high * NANO))


def _bounds(interval: Interval | None) -> JsonObject:
    """Return the ends of an interval as JSON values; they are null where no bound is known."""
    low, high = (None, None) if interval is None else _ends(interval)
    return {"at_least": low, "at_most": high}


def _effect(effect: Effect) -> JsonObject:
    pays = effect.pays
    measures = {name: _bounds(move) for name, move in effect.measures.items()}
    others = {name: _bounds(move) for name, move in effect.others.items()}
    return {
        "skill_type": effect.skill_type,
        "axes": {name: _bounds(move) for name, move in effect.axes.items()},
        **({"measures": measures} if measures else {}),
        "quality": _bounds(effect.quality) if effect.compares_quality else None,
        "emission": _bounds(effect.emission) if pays else None,
        "emission_ratio": _bounds(effect.emission_ratio) if pays else None,
        "old_emission": json_value(effect.old_emission),
        "new_emission": json_value(effect.new_emission),
        "any_tier": effect.any_tier,
        **({"others": others} if others else {}),
    }


def _outcome(outcome: Outcome) -> JsonObject:
    return {
        "result": outcome.result,
        "direction": str(outcome.direction),
        **_bounds(outcome.bound),
        "causes": [
            {
                "subject": cause.subject,
                "direction": str(cause.direction),
                **_bounds(cause.bound),
                "note": cause.note,
                "through": list(cause.through),
                "paths": list(cause.paths),
            }
            for cause in outcome.causes
        ],
    }


json_form(Interval, _bounds)
json_form(Effect, _effect)
json_form(Outcome, _outcome)
