"""The effect of an adoption as text for a terminal, as Markdown for a proposal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.io.text import escaped
from tallystick.numbers.nano import to_text
from tallystick.numbers.text import numbered
from tallystick_governance import exercised
from tallystick_governance.adoption_effect import AdoptionEffect, ThresholdChange
from tallystick_governance.markdown import NONE, cell, code, paragraph, section, table

_ASIDE = "Scores are not made again; tallystick backtest --with-state --adopt does that."


def as_text(found: AdoptionEffect) -> str:
    """Return the effect for a terminal."""
    lines = [f"what it does to the state as it is in epoch {found.epoch}"]
    lines += [f"    {': '.join(row)}" for row in _rows(found)] or ["    nothing"]
    lines += [f"    {text}" for text in exercised.line(_not_exercised(found))]
    return "\n".join(map(escaped, [*lines, "", _ASIDE]))


def as_markdown(found: AdoptionEffect) -> str:
    """Return the effect as a part of a proposal."""
    rows = ((cell(subject), code(change)) for subject, change in _rows(found))
    title = f"What it does to the state in epoch {found.epoch}"
    changes = table(("what", "change"), rows) or paragraph("nothing")
    texts = (*exercised.sentence(_not_exercised(found), exercised.NETWORK), _ASIDE)
    blocks = (section(title, changes), *map(paragraph, texts))
    return "\n".join(line for block in blocks for line in block) + "\n"


def _not_exercised(found: AdoptionEffect) -> tuple[str, ...]:
    """Return the switches that the made-up miners did not exercise, where there were any."""
    return () if found.weight is None else found.weight.not_exercised


def _rows(found: AdoptionEffect) -> Iterator[tuple[str, str]]:  # noqa: C901  # a case for each
    """Yield the changes, each with its kind and its text."""
    if found.weight is not None:
        moved = to_text(found.weight.moved)
        yield "share of weight that changes hands", f"{moved}, {found.weight.basis}"
    for pool in found.pools:
        if pool.enter:
            yield f"enter the pool of {pool.skill_type}", ", ".join(pool.enter)
        if pool.leave:
            yield f"leave the pool of {pool.skill_type}", ", ".join(pool.leave)
    if found.ejected:
        yield "ejected by their flags", ", ".join(found.ejected)
    if found.lifted:
        yield "ejected no more", ", ".join(found.lifted)
    for change in found.thresholds:
        yield f"threshold {change.name} of {change.skill_type}", _ends(change)
    for name, miners in found.dropped:
        yield f"carried column {name}", f"dropped, of {numbered(miners, 'miner')}"
    for name in found.begun:
        yield f"carried column {name}", "begins empty"
    for move in found.tiers:
        records = f"{numbered(move.records, 'record')} of epoch {found.judged}"
        yield f"{move.hotkey}, {move.skill_type}", f"{move.before} → {move.after}, {records}"


def _ends(change: ThresholdChange) -> str:
    before, after = (
        NONE if nano is None else to_text(nano) for nano in (change.before, change.after)
    )
    return f"{before} → {after}"
