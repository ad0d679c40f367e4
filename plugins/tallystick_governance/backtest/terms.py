"""The terms of a report, each explained where it first occurs."""

from __future__ import annotations

from collections.abc import Iterable

TERMS = {
    "baseline": "the rule set that the others are compared with, usually the one in force",
    "candidate": "a rule set that is proposed, or one of the values of a sweep",
    "share": (
        "what part of all emission a miner gets; where no rule set has an emission, its summed "
        "quality takes that place"
    ),
    "point": "a percentage point: a share that goes from 2 % to 3 % gains one",
    "changes hands": (
        "half the sum of all changes of shares: the part of everything that goes to someone else"
    ),
    "interval": (
        "where the value would lie in 95 of 100 histories of the same kind, from epochs that are "
        "drawn with replacement; an interval of a change without 0 says that its direction does "
        "not depend on which epochs the history happens to have"
    ),
    "by chance": (
        "the probability that as much changes hands when, in each epoch, the gains and losses are "
        "dealt to its miners at random; up to 0.05 it is seldom chance whom a change favours"
    ),
    "tier": "the level that a record reaches by its quality, which multiplies its emission",
    "gate": "a limit of one axis; below it, the quality of a record is set whatever the rest says",
    "flip": "a record that reaches another tier, or that another gate decides",
    "rank": "the place by amount, from 1; equals share one (1, 2, 2, 4)",
    "tau-b": (
        "Kendall's rank correlation: 1 when two rankings are the same, 0 when they have nothing to "
        "do with each other, −1 when one is the reverse of the other"
    ),
    "Gini": "how unequal: 0 when everyone gets the same, towards 1 when one gets everything",
    "HHI": (
        "the Herfindahl-Hirschman index, the sum of the squares of the shares: 1 when one gets "
        "everything; 1 ÷ HHI equal miners would be as concentrated"
    ),
    "distance": (
        "how far a flipped record is from the threshold that it crossed; many flips at a tiny "
        "distance mean that chance decides them"
    ),
    "relative": "the change of a share as a part of what the share was",
    "incentive": "what part of the emission for miners one of them gets, as the chain computes it",
    "consensus": (
        "the largest weight of a miner that enough of the stake gives it; what is above counts for "
        "nothing"
    ),
    "kappa": "the part of the stake that is enough, a half on most subnets",
    "trust": "the part of a validator's weights that counts; the less, the less it earns",
    "dividends": "what part of the emission for validators one of them gets",
    "refused": "records that only the candidate refuses, by a requirement of its own",
}
"""What each means, to stand after a colon."""


GLOSSES = {
    "tau-b": "1: same order, −1: reversed",
    "Gini": "0: equal, 1: one has all",
    "HHI": "sum of squared shares",
    "changes hands": "share that others get",
    "by chance": "probability",
    "refused": "by it alone",
}
"""The meaning of each column, which stands in its head."""


class Terms:
    """The terms that a page has explained so far."""

    def __init__(self) -> None:
        """None yet."""
        self._known: set[str] = set()

    def first(self, names: Iterable[str]) -> list[tuple[str, str]]:
        """Those of some terms that occur for the first time, each with what it means."""
        found = [name for name in dict.fromkeys(names) if name not in self._known]
        self._known.update(found)
        return [(name, TERMS[name]) for name in found]
