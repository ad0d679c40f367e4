"""A study as JSON, as lines for a terminal, and as Markdown for a proposal."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.io.text import escaped
from tallystick.json_values import JsonObject, json_value, nano_value
from tallystick.numbers.nano import NANO
from tallystick.numbers.text import UNDEFINED, decimal, numbered, percent, signed
from tallystick_governance import exercised
from tallystick_governance.markdown import cell, page, paragraph, section, table
from tallystick_governance.simulation.proofs import RetiredStrategy
from tallystick_governance.simulation.study import ResponseChange, Study, TypeStudy, changes
from tallystick_simulation.response import Response
from tallystick_simulation.strategy import HONEST

MADE_UP = (
    "of made-up miners: what it says of others rests on assumptions; read it as a change against "
    "the rules in force"
)
_UNCLEAR = " (not clear: in some networks it pays, in others not)"
_SHOWN = 5
"""Maximum number of changes that are printed for a skill type."""


def as_json(after: Study, before: Study | None = None) -> JsonObject:
    """Return a study as JSON values, with what it changes beside another; numbers are exact.

    Args:
        after: the study.
        before: that of the rules in force.
    """
    return {
        "rule_set": after.reference,
        "digest": after.digest,
        "against": None
        if before is None
        else {"rule_set": before.reference, "digest": before.digest},
        "setting": json_value(after.setting),
        "assumptions": json_value(after.assumptions),
        "not_exercised": list(not_exercised(after, before)),
        "types": {of_type.skill_type: _type_as_json(of_type) for of_type in after.types},
        "changes": None
        if before is None
        else [
            {
                "skill_type": change.after.skill_type,
                "strategy": change.after.strategy,
                "before": nano_value(change.before.gain),
                "after": nano_value(change.after.gain),
                "begins_to_pay": change.begins_to_pay,
                "clear": change.is_clear,
            }
            for change in changes(before.responses, after.responses)
        ],
    }


def _type_as_json(of_type: TypeStudy) -> JsonObject:
    best = of_type.best
    return {
        "responses": [
            {
                "strategy": response.strategy,
                "summary": response.summary,
                "honest": response.is_honest,
                "pay": nano_value(response.own.pay),
                "honest_pay": nano_value(response.honest.pay),
                "work": nano_value(response.own.work),
                "ratio": nano_value(response.ratio),
                "ratios": nano_value(response.ratios),
                "gain": nano_value(response.gain),
                "gains": nano_value(response.gains),
                "clear": response.is_clear,
                "pays_from_price": nano_value(response.break_even),
            }
            for response in of_type.responses
        ],
        "retired": json_value(of_type.retired),
        "best": None if best is None else best.strategy,
        "deterred_by": of_type.detection,
        "constant_answer": json_value(of_type.constant),
        "mixtures": json_value(of_type.course),
        "newcomer": json_value(of_type.newcomer),
    }


def as_text(after: Study, before: Study | None = None) -> str:
    """Return a study for a terminal; arguments as of `as_json`."""
    setting = after.setting
    size = (
        f"{numbered(setting.miners, 'miner')}, {numbered(setting.epochs, 'epoch')}, "
        f"{numbered(setting.seeds, 'network')} for each strategy"
    )
    lines = [f"{after.reference}  {after.digest}", f"    {size}"]
    if before is not None:
        lines.append(f"    against {before.reference}  {before.digest}")
    earlier = {} if before is None else {t.skill_type: t for t in before.types}
    for of_type in after.types:
        lines += ["", of_type.skill_type]
        lines += (f"    {line}" for line in type_lines(of_type, earlier.get(of_type.skill_type)))
    lines += ["", *exercised.line(not_exercised(after, before)), MADE_UP]
    # names come from plugins
    return "\n".join(map(escaped, lines))


def not_exercised(after: Study, before: Study | None) -> tuple[str, ...]:
    """Return the switches of either rule set that its networks did not exercise."""
    return tuple(sorted({name for s in (before, after) if s for name in s.not_exercised}))


def type_lines(after: TypeStudy, before: TypeStudy | None) -> Iterator[str]:
    """Yield what a study says of one skill type, a line each.

    Args:
        after: the study.
        before: that of the rules in force; None without.
    """
    best = after.best
    if best is None:
        is_unpaid = any(response.ratio is None for response in after.responses)
        unpaid = "the miner that is tried is paid nothing for honest work"
        yield unpaid if is_unpaid else "no deviation was tried"
    else:
        yield f"best deviation  {_told(best)}"
        if before is not None and before.best is not None:
            yield f"before          {_told(before.best)}"
        yield f"                {_price(best)}; {_detection(after)}"
    constant = after.of_constant
    if constant is not None:
        yield f"constant answer {_told(constant, named=False)}"
        if before is not None and before.of_constant is not None:
            yield f"before          {_told(before.of_constant, named=False)}"
    if before is not None:
        for change in _news(after, before):
            yield f"changed         {change_text(change)}"
    for retired in after.retired:
        yield f"not tried       {_retired(retired, before)}"
    if after.course is not None:
        counts = after.course.last.counts
        parts = ", ".join(f"{name} {many}" for name, many in counts.items())
        end = "where it stays" if after.course.is_fixed else "where it does not stay"
        yield f"mixture         of {sum(counts.values())} miners {parts}, {end}"
    yield f"newcomer        {_newcomer(after)}"


def _retired(retired: RetiredStrategy, before: TypeStudy | None) -> str:
    """Return why a strategy is not tried, and what it gains under the rules in force."""
    claim = f" ({retired.summary})" if retired.summary else ""
    earlier = () if before is None else before.responses
    tried = [_told(response) for response in earlier if response.strategy == retired.strategy]
    question = retired.question
    return "; before ".join(
        [f"{retired.strategy}: {question.property} is proved of {question.axis}{claim}", *tried]
    )


def _news(after: TypeStudy, before: TypeStudy) -> list[ResponseChange]:
    """Return the changes that are worth a line: those that begin to pay first."""
    every = changes(before.responses, after.responses)
    news = [change for change in every if change.is_news and change.after.strategy != HONEST]
    news.sort(key=lambda change: not change.begins_to_pay)
    return news[:_SHOWN]


def change_text(change: ResponseChange) -> str:
    """Return what a change does to the gain of a strategy, as a line."""
    doubt = "" if change.is_clear else _UNCLEAR
    pays = f", begins to pay{doubt}" if change.begins_to_pay else ""
    return (
        f"{change.after.strategy}: {_times(change.before.ratio)} to {_times(change.after.ratio)} "
        f"honest work, gain {_gain(change.before.gain)} to {_gain(change.after.gain)}{pays}"
    )


def _told(response: Response, *, named: bool = True) -> str:
    known = [ratio for ratio in response.ratios if ratio is not None]
    span = f" ({_times(min(known))} to {_times(max(known))})" if len(known) > 1 else ""
    return (
        f"{f'{response.strategy}, ' if named else ''}{_times(response.ratio)} honest work{span}, "
        f"gain {_gain(response.gain)} after its costs{'' if response.is_clear else _UNCLEAR}"
    )


def _times(ratio: int | None) -> str:
    return UNDEFINED if ratio is None else f"{decimal(ratio, 2)} ×"


def _gain(gain: int | None) -> str:
    return UNDEFINED if gain is None else signed(decimal(gain, 2))


def _price(response: Response) -> str:
    at = response.break_even
    if at is None:
        return "it pays at no price of work"
    if at == 0:
        return "it pays at any price of work"
    limit = "" if at <= NANO else ", where honest work loses too"
    return f"it pays once work costs {percent(at, 0)} of what honest work earns{limit}"


def _detection(of_type: TypeStudy) -> str:
    if of_type.detection is None:
        return "honest work does not pay though every dishonest answer is caught"
    if of_type.detection == 0:
        return "honest work pays though nobody is caught"
    return f"honest work pays once {of_type.detection} of 100 dishonest answers are caught"


def _newcomer(of_type: TypeStudy) -> str:
    joined = of_type.newcomer
    parts = [f"{name} {_after(epochs)}" for name, epochs in joined.tiers.items()]
    return ", ".join([*parts, f"the weight of its equal {_after(joined.equal)}"])


def _after(epochs: int | None) -> str:
    return "never" if epochs is None else f"after {numbered(epochs, 'epoch')}"


def as_markdown(after: Study, before: Study | None = None) -> str:
    """Return a study as a part of a proposal; arguments as of `as_json`."""
    against = "" if before is None else f", against {before.reference}"
    earlier = {} if before is None else {t.skill_type: t for t in before.types}
    rows = (
        (
            cell(of_type.skill_type),
            cell(of_type.best.strategy if of_type.best else None),
            cell(_times(of_type.best.ratio) if of_type.best else None),
            cell(_gain(of_type.best.gain) if of_type.best else None),
            cell(_before(earlier.get(of_type.skill_type))),
        )
        for of_type in after.types
    )
    heads = ("skill type", "best deviation", "beside honest work", "gain", "before")
    news = (
        (cell(of_type.skill_type), cell(change_text(change)))
        for of_type in after.types
        if of_type.skill_type in earlier
        for change in _news(of_type, earlier[of_type.skill_type])
    )
    return page(
        f"What miners would do under {after.reference}",
        paragraph(f"Simulated{against}; {MADE_UP}."),
        *map(paragraph, exercised.sentence(not_exercised(after, before), exercised.NETWORK)),
        table(heads, rows),
        section("Strategies whose gain changes", table(("skill type", "strategy"), news)),
    )


def _before(of_type: TypeStudy | None) -> str | None:
    if of_type is None or of_type.best is None:
        return None
    return f"{of_type.best.strategy} {_gain(of_type.best.gain)}"
