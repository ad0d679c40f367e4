"""Lints of collusion: whom detection flags, and what ejects.

Rows of alignment are made up, and the engine's own functions flag and eject: a colluder agrees with
primaries wholly and with auditors not at all, an honest miner with both sides alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import check, comparison, figure, less, more, old_and_new
from tallystick.scoring.scorer import Scorer
from tallystick_state.collusion import AlignmentRow, collusion_of, flags_of
from tallystick_state.groups import is_ejected
from tallystick_state.miners import ENGINE
from tallystick_state.model import MinerEntry
from tallystick_state.rules import state_rules_of
from tallystick_state.sections.reputation import Collusion

_COLLUSION: KeyPath = ("reputation", "collusion")
_DETECTION: KeyPath = (*_COLLUSION, "detection")
_ROUNDS = 500
"""Number of rounds in which a miner is watched."""
_FLAGS = 1000
"""Maximum number of flags of one validator that are tried."""
_GRID = 50
"""Number of steps of an alignment from 0 to 1."""


def _rows(primaries: int, auditors: int, rounds: int = _ROUNDS) -> list[AlignmentRow]:
    """Return the rows of a miner that is aligned alike in each round, in nano."""
    return [AlignmentRow(number, primaries, auditors) for number in range(rounds)]


def _first_flag(collusion: Collusion) -> int | None:
    """Return the number of rounds until a colluder is flagged; None if it never is."""
    flags = flags_of(_rows(NANO, 0), collusion)
    return flags[0] + 1 if flags else None


def _ejected_after(scorer: Scorer) -> int | None:
    """Return the number of rounds until the engine's own flags eject a colluder; None if never."""
    collusion = collusion_of(scorer.rule_set)
    if collusion is None:
        return None
    flags = flags_of(_rows(NANO, 0), collusion)
    rules = state_rules_of(scorer)
    for index, number in enumerate(flags, 1):
        if is_ejected(rules, _flagged(ENGINE, index)):
            return number + 1
    return None


def _flagged(validator: str, flags: int) -> MinerEntry:
    return MinerEntry("miner", 0, (), {}, flags, {validator: flags})


def _flags_of_one(scorer: Scorer) -> int | None:
    """Return the number of flags with which one validator alone ejects a miner; None if none."""
    if collusion_of(scorer.rule_set) is None:
        return None
    rules = state_rules_of(scorer)
    counts = range(1, _FLAGS + 1)
    return next((n for n in counts if is_ejected(rules, _flagged("validator", n))), None)


def _is_flagged(collusion: Collusion, primaries: int, auditors: int) -> bool:
    """Return whether a miner that is aligned alike in each round is ever flagged."""
    detection = collusion.detection
    # of rows that are alike, the fewest that count are flagged, or none
    rounds = min(_ROUNDS, detection.rounds, max(1, detection.minimum_samples))
    return bool(flags_of(_rows(primaries, auditors, rounds), collusion))


@lru_cache(maxsize=4)
def _flagged_part(collusion: Collusion) -> Fraction:
    """Return the part of pairs of alignments, each in steps from 0 to 1, that are flagged."""
    ends = [NANO * step // _GRID for step in range(_GRID + 1)]
    flagged = sum(_is_flagged(collusion, p, a) for p in _flaggable(collusion, ends) for a in ends)
    return Fraction(flagged, len(ends) ** 2)


def _flaggable(collusion: Collusion, ends: list[int]) -> list[int]:
    """Return the alignments with primaries with which anybody at all is flagged."""
    return [primaries for primaries in ends if _is_flagged(collusion, primaries, 0)]


@check("detection-never-fires", "error")
def _never_fires(scorer: Scorer) -> Iterator[Finding]:
    """Detection flags nobody, however it behaves.

    A miner that agrees with primaries wholly and with auditors not at all is watched for 500
    rounds, each with a sample. It is never flagged: the window holds fewer rounds than samples are
    asked for, or no alignment is beyond a bound.

    Remedy: ask for fewer samples than the window has rounds, and for bounds inside [0, 1].
    """
    collusion = collusion_of(scorer.rule_set)
    if collusion is None or _first_flag(collusion) is not None:
        return
    detection = collusion.detection
    if detection.minimum_samples > detection.rounds:
        yield Finding(
            (*_DETECTION, "minimum_samples"),
            f"{detection.minimum_samples} samples never lie in a window of {detection.rounds} "
            "rounds, so that nobody is flagged",
            {"minimum_samples": detection.minimum_samples, "rounds": detection.rounds},
        )
    elif detection.primaries_above >= 1 or detection.auditors_below <= 0:
        key = "primaries_above" if detection.primaries_above >= 1 else "auditors_below"
        yield Finding(
            (*_DETECTION, key), "no alignment is beyond the bound, so that nobody is flagged", {}
        )
    else:
        yield Finding(
            _DETECTION,
            f"nobody is flagged in {_ROUNDS} rounds",
            {"minimum_samples": detection.minimum_samples, "rounds": detection.rounds},
        )


@check("detection-flags-honest", "error", more("alignment"))
def _flags_honest(scorer: Scorer) -> Iterator[Finding]:
    """Detection flags miners that agree with both sides alike.

    Miners whose alignment with primaries is that with auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. Who agrees with both sides alike does not collude,
    and some of them are flagged.

    Remedy: let auditors_below be at most primaries_above.
    """
    collusion = collusion_of(scorer.rule_set)
    if collusion is None:
        return
    ends = [NANO * step // _GRID for step in range(_GRID + 1)]
    flagged = [end for end in ends if _is_flagged(collusion, end, end)]
    if flagged:
        yield Finding(
            _DETECTION,
            f"who agrees with both sides by {to_text(flagged[0])} to {to_text(flagged[-1])} is "
            "flagged",
            {"lowest": to_text(flagged[0]), "alignment": to_text(flagged[-1])},
        )


@check("one-sample-flags", "warning")
def _one_sample(scorer: Scorer) -> Iterator[Finding]:
    """One round is enough to be flagged.

    Two miners can agree, and an auditor can be wrong, in one round by chance. Detection looks at a
    window, and asks for no more than one sample in it.

    Remedy: ask for more samples.
    """
    collusion = collusion_of(scorer.rule_set)
    if collusion is not None and _first_flag(collusion) == 1:
        path = (*_DETECTION, "minimum_samples")
        yield Finding(path, "one sample is enough to be flagged", {"minimum_samples": 1})


@check("one-flag-ejects", "error")
def _one_flag(scorer: Scorer) -> Iterator[Finding]:
    """One flag of one validator ejects a miner.

    A validator reports flags of its own. With one flag, and no quorum, any validator ejects any
    miner from every group, at once and alone.

    Remedy: raise reputation.collusion.quorum to at least 2, and let more flags eject.
    """
    if _flags_of_one(scorer) == 1:
        yield Finding((*_COLLUSION, "eject_at"), "one flag of one validator ejects a miner", {})


@check("flags-eject-nobody", "warning", more("eject_at"))
def _eject_nobody(scorer: Scorer) -> Iterator[Finding]:
    """The flags that detection gives never eject.

    A miner that colludes in every round is watched for 500 rounds, and is still in the pool.

    Remedy: lower reputation.collusion.eject_at.
    """
    collusion = collusion_of(scorer.rule_set)
    if collusion is None or _first_flag(collusion) is None:
        return
    if _ejected_after(scorer) is None:
        flags = len(flags_of(_rows(NANO, 0), collusion))
        yield Finding(
            (*_COLLUSION, "eject_at"),
            f"who colludes in each of {_ROUNDS} rounds is flagged {flags} times, and is ejected at "
            f"{collusion.eject_at}",
            {"flags": flags, "eject_at": collusion.eject_at},
        )


@comparison("validator-ejects-alone", "warning", less("new"))
def _ejects_alone(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """One validator alone can eject a miner, or with fewer flags than before.

    The number of flags with which one validator ejects a miner, if it can. It is an error where
    none could alone before.

    Remedy: raise reputation.collusion.quorum to at least 2.
    """
    if collusion_of(old.rule_set) is None:
        return
    was, now = _flags_of_one(old), _flags_of_one(new)
    if now is not None and (was is None or now * 2 < was):
        before = "no validator could alone" if was is None else f"{was} flags"
        yield Finding(
            (*_COLLUSION, "quorum") if was is None else (*_COLLUSION, "eject_at"),
            f"one validator ejects a miner with {now} flags; before {before}",
            {"old": was, "new": now},
            "error" if was is None else None,
        )


@comparison("collusion-goes-on", "warning", more("new"))
def _goes_on(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A colluder is ejected much later than before, or never.

    A miner colludes in every round. The number of rounds until the engine's own flags eject it is
    compared; it is an error where it is ejected no more.

    Remedy: let fewer flags eject, or fewer samples flag.
    """
    was, now = _ejected_after(old), _ejected_after(new)
    if was is None or (now is not None and now < 3 * was):
        return
    has = collusion_of(new.rule_set) is not None
    never = "stays" if has else "stays: the rule set has no collusion"
    yield Finding(
        _COLLUSION if has else _COLLUSION[:1],
        f"a colluder {never if now is None else f'is ejected after {now} rounds'}; before it was "
        f"ejected after {was}",
        {"old": was, "new": now},
        "error" if now is None else None,
    )


@comparison("collusion-judged-soon", "warning", less("new"))
def _judged_soon(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A miner is ejected in less than half of the rounds of before.

    A miner colludes in every round. The number of rounds until the engine's own flags eject it is
    compared. The fewer they are, the more often chance ejects honest miners.

    Remedy: let more flags eject, or more samples flag, or a flag start the window anew.
    """
    was, now = _ejected_after(old), _ejected_after(new)
    if was is not None and now is not None and now * 2 < was:
        yield Finding(
            _COLLUSION,
            f"a miner is ejected after {now} rounds; before after {was}",
            {"old": was, "new": now},
        )


@comparison("detection-narrowed", "warning", less("new"))
def _narrowed(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Detection flags less than half of what it flagged.

    Miners with each pair of alignments with primaries and auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. The part that is flagged is compared.

    Remedy: lower primaries_above, or raise auditors_below.
    """
    yield from _parts(old, new, widened=False)


@comparison("detection-widened", "warning", more("new"))
def _widened(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """Detection flags more than three times what it flagged.

    Miners with each pair of alignments with primaries and auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. Where the part that is flagged is much larger,
    honest miners are in it.

    Remedy: raise primaries_above, or lower auditors_below.
    """
    yield from _parts(old, new, widened=True)


def _parts(old: Scorer, new: Scorer, *, widened: bool) -> Iterator[Finding]:
    before, after = collusion_of(old.rule_set), collusion_of(new.rule_set)
    if before is None or after is None or before.detection == after.detection:
        return
    was, now = _flagged_part(before), _flagged_part(after)
    if now > 3 * was if widened else 0 < now < was / 2:
        yield Finding(
            _DETECTION,
            f"{figure(now)} of all pairs of alignments are flagged; before {figure(was)}",
            old_and_new(was, now),
        )
