"""The tasks that are drawn: by SHA-256 of the salt and the task, in whole numbers."""

from collections.abc import Iterable, Iterator
from fractions import Fraction
from hashlib import sha256

from tallystick import Reject, Result
from tallystick_reviews.rules import Reviews

_BITS = 256


def is_drawn(reviews: Reviews, skill_type: str, task: str) -> bool:
    """Whether people look at a task: its digest is below the share of all digests."""
    number = int.from_bytes(sha256(f"{reviews.salt}\n{task}".encode()).digest())
    return number < Fraction(reviews.share_of(skill_type)) * (1 << _BITS)


def drawn(reviews: Reviews, outcomes: Iterable[Result | Reject]) -> Iterator[str]:
    """Yield the names of the scored tasks that are drawn."""
    for outcome in outcomes:
        if isinstance(outcome, Result) and is_drawn(reviews, outcome.skill_type, outcome.task_id):
            yield outcome.task_id
