"""An independent oracle: what a record scores, written straight from the three documents.

It shares no code with the engine. Numbers are `fractions.Fraction`; roots are decided in integers.
It is slow and simple on purpose, and it expects records that fit the record description.

Citations: `scoring.txt`, `reputation.txt` and `workflow.txt` by section, which docs/sources.md has;
E-numbers are the rows of docs/errata.md.
"""

from oracle.composites import composite
from oracle.consensus import band, combine
from oracle.decimals import text
from oracle.emissions import emission
from oracle.rows import score
from oracle.tiers import thresholds, tier
from oracle.validity import InvalidRecordError, refusals

__all__ = [
    "InvalidRecordError",
    "band",
    "combine",
    "composite",
    "emission",
    "refusals",
    "score",
    "text",
    "thresholds",
    "tier",
]
