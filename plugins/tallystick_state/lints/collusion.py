"""Lints of collusion: whom detection flags, and what ejects.

Rows of alignment are made up, and the engine's own functions flag and eject: a colluder agrees with
primaries wholly and with auditors not at all, an honest miner with both sides alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property, lru_cache

import attrs

from tallystick.numbers.nano import NANO, to_text
from tallystick.rules.findings import Finding
from tallystick.rules.toml import KeyPath
from tallystick.scoring.lint import both, check, comparison, finding, less, more
from tallystick.scoring.scorer import Scorer
from tallystick_state.collusion import AlignmentRow, collusion_of, flags_of
from tallystick_state.groups import is_ejected
from tallystick_state.miners import ENGINE
from tallystick_state.model import MinerEntry
from tallystick_state.rules import StateRules, state_rules_of
from tallystick_state.sections.reputation import Collusion

_COLLUSION: KeyPath = ("reputation", "collusion")
_DETECTION: KeyPath = (*_COLLUSION, "detection")
_ROUNDS = 500
"""Number of rounds in which a miner is watched."""
_FLAGS = 1000
"""Maximum number of flags of one validator that are tried."""
_GRID = 50
"""Number of steps of an alignment from 0 to 1."""


_FLAGGED = "{new} of all pairs of alignments are flagged; before {old}"
_SIDES = [NANO * step // _GRID for step in range(_GRID + 1)]
"""Alignments with one side, in nano."""


@attrs.frozen(eq=False, slots=False)
class Trial:
    """The collusion rules of a rule set, tried on made-up miners."""

    rules: StateRules
    collusion: Collusion

    @cached_property
    def flags(self) -> tuple[int, ...]:
        """The rounds for which a colluder is flagged."""
        return self._flags(NANO, 0)

    @cached_property
    def ejected_after(self) -> int | None:
        """The number of rounds until the engine's own flags eject a colluder; None if never."""
        flags = enumerate(self.flags, 1)
        return next((number + 1 for n, number in flags if self._ejects(ENGINE, n)), None)

    @cached_property
    def flags_of_one(self) -> int | None:
        """The number of flags with which one validator alone ejects a miner; None if none."""
        counts = range(1, _FLAGS + 1)
        return next((n for n in counts if self._ejects("validator", n)), None)

    @cached_property
    def flagged_part(self) -> Fraction:
        """The part of pairs of alignments, each in steps from 0 to 1, that are flagged."""
        some = [primaries for primaries in _SIDES if self.is_flagged(primaries, 0)]
        flagged = sum(self.is_flagged(p, auditors) for p in some for auditors in _SIDES)
        return Fraction(flagged, len(_SIDES) ** 2)

    def is_flagged(self, primaries: int, auditors: int) -> bool:
        """Return whether a miner that is aligned alike in each round, in nano, is ever flagged."""
        detection = self.collusion.detection
        # of rows that are alike, the fewest that count are flagged, or none
        rounds = min(_ROUNDS, detection.rounds, max(1, detection.minimum_samples))
        return bool(self._flags(primaries, auditors, rounds))

    def _flags(self, primaries: int, auditors: int, rounds: int = _ROUNDS) -> tuple[int, ...]:
        rows = (AlignmentRow(number, primaries, auditors) for number in range(rounds))
        return flags_of(rows, self.collusion)

    def _ejects(self, validator: str, flags: int) -> bool:
        return is_ejected(self.rules, MinerEntry("miner", 0, (), {}, flags, {validator: flags}))


@lru_cache(maxsize=4)
def trial_of(scorer: Scorer) -> Trial | None:
    """Return the trial of the rules of collusion; None without such."""
    collusion = collusion_of(scorer.rule_set)
    return None if collusion is None else Trial(state_rules_of(scorer), collusion)


@check("detection-never-fires", "error", of=trial_of)
def _never_fires(trial: Trial) -> Iterator[Finding]:
    """Detection flags nobody, however it behaves.

    A miner that agrees with primaries wholly and with auditors not at all is watched for 500
    rounds, each with a sample. It is never flagged: the window holds fewer rounds than samples are
    asked for, or no alignment is beyond a bound.

    Remedy: ask for fewer samples than the window has rounds, and for bounds inside [0, 1].
    """
    if trial.flags:
        return
    detection = trial.collusion.detection
    samples, rounds = detection.minimum_samples, detection.rounds
    if samples > rounds:
        path = (*_DETECTION, "minimum_samples")
        message = "{minimum_samples} samples never lie in a window of {rounds} rounds"
        message += ", so that nobody is flagged"
        yield finding(path, message, minimum_samples=samples, rounds=rounds)
    elif detection.primaries_above >= 1 or detection.auditors_below <= 0:
        key = "primaries_above" if detection.primaries_above >= 1 else "auditors_below"
        message = "no alignment is beyond the bound, so that nobody is flagged"
        yield finding((*_DETECTION, key), message)
    else:
        message = f"nobody is flagged in {_ROUNDS} rounds"
        yield finding(_DETECTION, message, minimum_samples=samples, rounds=rounds)


@check("detection-flags-honest", "error", more("alignment"), of=trial_of)
def _flags_honest(trial: Trial) -> Iterator[Finding]:
    """Detection flags miners that agree with both sides alike.

    Miners whose alignment with primaries is that with auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. Who agrees with both sides alike does not collude,
    and some of them are flagged.

    Remedy: let auditors_below be at most primaries_above.
    """
    flagged = [to_text(side) for side in _SIDES if trial.is_flagged(side, side)]
    if flagged:
        message = "who agrees with both sides by {lowest} to {alignment} is flagged"
        yield finding(_DETECTION, message, lowest=flagged[0], alignment=flagged[-1])


@check("one-sample-flags", "warning", of=trial_of)
def _one_sample(trial: Trial) -> Iterator[Finding]:
    """One round is enough to be flagged.

    Two miners can agree, and an auditor can be wrong, in one round by chance. Detection looks at a
    window, and asks for no more than one sample in it.

    Remedy: ask for more samples.
    """
    if trial.flags[:1] == (0,):
        path = (*_DETECTION, "minimum_samples")
        yield finding(path, "one sample is enough to be flagged", minimum_samples=1)


@check("one-flag-ejects", "error", of=trial_of)
def _one_flag(trial: Trial) -> Iterator[Finding]:
    """One flag of one validator ejects a miner.

    A validator reports flags of its own. With one flag, and no quorum, any validator ejects any
    miner from every group, at once and alone.

    Remedy: raise reputation.collusion.quorum to at least 2, and let more flags eject.
    """
    if trial.flags_of_one == 1:
        yield finding((*_COLLUSION, "eject_at"), "one flag of one validator ejects a miner")


@check("flags-eject-nobody", "warning", more("eject_at"), of=trial_of)
def _eject_nobody(trial: Trial) -> Iterator[Finding]:
    """The flags that detection gives never eject.

    A miner that colludes in every round is watched for 500 rounds, and is still in the pool.

    Remedy: lower reputation.collusion.eject_at.
    """
    if trial.flags and trial.ejected_after is None:
        yield finding(
            (*_COLLUSION, "eject_at"),
            f"who colludes in each of {_ROUNDS} rounds is flagged {{flags}} times, and is ejected "
            "at {eject_at}",
            flags=len(trial.flags),
            eject_at=trial.collusion.eject_at,
        )


def _ejected_after(*scorers: Scorer) -> list[int | None]:
    """Return the rounds until each rule set ejects a colluder; None where none does."""
    trials = map(trial_of, scorers)
    return [None if trial is None else trial.ejected_after for trial in trials]


@comparison("validator-ejects-alone", "warning", less("new"), of=both(trial_of))
def _ejects_alone(before: Trial, after: Trial) -> Iterator[Finding]:
    """One validator alone can eject a miner, or with fewer flags than before.

    The number of flags with which one validator ejects a miner, if it can. It is an error where
    none could alone before.

    Remedy: raise reputation.collusion.quorum to at least 2.
    """
    was, now = before.flags_of_one, after.flags_of_one
    if now is not None and (was is None or now * 2 < was):
        ejected = "no validator could alone" if was is None else "{old} flags"
        yield finding(
            (*_COLLUSION, "quorum" if was is None else "eject_at"),
            f"one validator ejects a miner with {{new}} flags; before {ejected}",
            "error" if was is None else None,
            old=was,
            new=now,
        )


@comparison("collusion-goes-on", "warning", more("new"))
def _goes_on(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A colluder is ejected much later than before, or never.

    A miner colludes in every round. The number of rounds until the engine's own flags eject it is
    compared; it is an error where it is ejected no more.

    Remedy: let fewer flags eject, or fewer samples flag.
    """
    was, now = _ejected_after(old, new)
    if was is None or (now is not None and now < 3 * was):
        return
    has = collusion_of(new.rule_set) is not None
    never = "stays" if has else "stays: the rule set has no collusion"
    yield finding(
        _COLLUSION if has else _COLLUSION[:1],
        f"a colluder {never if now is None else 'is ejected after {new} rounds'}; before it was "
        "ejected after {old}",
        "error" if now is None else None,
        old=was,
        new=now,
    )


@comparison("collusion-judged-soon", "warning", less("new"))
def _judged_soon(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A miner is ejected in less than half of the rounds of before.

    A miner colludes in every round. The number of rounds until the engine's own flags eject it is
    compared. The fewer they are, the more often chance ejects honest miners.

    Remedy: let more flags eject, or more samples flag, or a flag start the window anew.
    """
    was, now = _ejected_after(old, new)
    if was is not None and now is not None and now * 2 < was:
        message = "a miner is ejected after {new} rounds; before after {old}"
        yield finding(_COLLUSION, message, old=was, new=now)


def _parts(old: Scorer, new: Scorer) -> tuple[Fraction, Fraction] | None:
    """Return the parts that are flagged before and after, where detection changed."""
    before, after = trial_of(old), trial_of(new)
    if before is None or after is None:
        return None
    is_same = before.collusion.detection == after.collusion.detection
    return None if is_same else (before.flagged_part, after.flagged_part)


@comparison("detection-narrowed", "warning", less("new"), of=_parts)
def _narrowed(was: Fraction, now: Fraction) -> Iterator[Finding]:
    """Detection flags less than half of what it flagged.

    Miners with each pair of alignments with primaries and auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. The part that is flagged is compared.

    Remedy: lower primaries_above, or raise auditors_below.
    """
    if 0 < now < was / 2:
        yield finding(_DETECTION, _FLAGGED, old=was, new=now)


@comparison("detection-widened", "warning", more("new"), of=_parts)
def _widened(was: Fraction, now: Fraction) -> Iterator[Finding]:
    """Detection flags more than three times what it flagged.

    Miners with each pair of alignments with primaries and auditors, from 0 to 1 in fiftieths, are
    watched for as many rounds as the window has. Where the part that is flagged is much larger,
    honest miners are in it.

    Remedy: raise primaries_above, or lower auditors_below.
    """
    if now > 3 * was:
        yield finding(_DETECTION, _FLAGGED, old=was, new=now)
