"""The words of a report, for who meets them for the first time."""

from __future__ import annotations

from collections.abc import Mapping

WORDS: Mapping[str, str] = {
    "Baseline": "The rule set that the others are compared with, usually the one in force.",
    "Candidate": "A rule set that is proposed, or one of the values of a sweep.",
    "Share": (
        "What part of all emission a miner gets. Where a rule set has no emission, its summed "
        "quality takes that place."
    ),
    "Changes hands": (
        "Half the sum of all changes of shares: the part of everything that goes to someone else."
    ),
    "Rank": "The place by amount, from 1; equals share one (1, 2, 2, 4).",
    "Kendall's tau-b": (
        "How alike two rankings are: 1 is the same order, 0 no relation, −1 the reverse. It counts "
        "the pairs of miners in the same order less those in the opposite one."
    ),
    "Gini": "How unequal: 0 when everyone gets the same, towards 1 when one gets everything.",
    "HHI": (
        "The Herfindahl-Hirschman index, the sum of the squares of the shares: 1 when one gets "
        "everything; its inverse is the number of equal miners that would be as concentrated."
    ),
    "Tier": "The level that a record reaches by its quality, which multiplies its emission.",
    "Gate": "A limit of one axis; below it, the quality of a record is set whatever the rest says.",
    "Flip": "A record that reaches another tier, or that another gate decides.",
    "Distance to the cliff": (
        "How far a flipped record is from the threshold that it crossed. Many flips at a tiny "
        "distance mean that chance decides them."
    ),
}
"""What each word means."""
