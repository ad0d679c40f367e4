"""A question about the scores of every record of a type, laws about other things, and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal

import attrs

from tallystick.formula.tree import Node
from tallystick.plugins.property import Direction
from tallystick.scoring.scorer import Scorer

Claim = Literal[
    "in_range", "at_least", "at_most", "below", "other_not_less", "other_not_more", "same"
]
"""The claims about a value of one record, or of two."""

PAIRED: frozenset[Claim] = frozenset({"other_not_less", "other_not_more", "same"})
"""The claims about two records."""

QUALITY = "quality"
"""The name of the composite after its gates."""

Status = Literal["proved", "counterexample", "undecided"]
"""The outcomes of a question."""


@attrs.frozen(eq=False)
class Question:
    """A claim about every record, or about every two records that differ in some way.

    Attributes:
        name: the name of what is claimed.
        value: the name of an axis or a factor, or ``quality``.
        claim: what is claimed of the value.
        summary: the claim in one sentence, for people.
        about: what tells questions of one property and value apart, for people; may be empty.
        bound: what the value is compared with.
        where: which records it is about; for a direction, the other one too.
        instead: the condition of the other record.
        varies: the digests of the facts in which the other may differ; None is all of them.
        direction: the fact that is better in the other record.
        repeats: the list with an item that the other record has more than once.
        raises: the axis that alone is higher in the other record.
        obstacle: why records that break the claim cannot be built; then there is only a proof.
    """

    name: str
    value: str
    claim: Claim
    summary: str = ""
    about: str = ""
    bound: Fraction | None = None
    where: Node | None = None
    instead: Node | None = None
    varies: frozenset[str] | None = frozenset()
    direction: Direction | None = None
    repeats: str | None = None
    raises: str | None = None
    obstacle: str = ""

    @property
    def paired(self) -> bool:
        """True if the claim is about two records."""
        return self.claim in PAIRED

    @property
    def conditions(self) -> tuple[Node, ...]:
        """The conditions that it puts on records."""
        return tuple(c for c in (self.where, self.instead) if c is not None)

    def broken(self, value: Any, other: Any, bound: Any) -> Any:  # noqa: ANN401  # numbers or terms
        """Return whether a value, with that of the other record, breaks the claim."""
        return BROKEN[self.claim](value, other, bound)


BROKEN: Mapping[Claim, Callable[[Any, Any, Any], Any]] = {
    "at_least": lambda value, _, bound: value < bound,
    "at_most": lambda value, _, bound: value > bound,
    "below": lambda value, _, bound: value >= bound,
    "other_not_less": lambda value, other, _: other < value,
    "other_not_more": lambda value, other, _: other > value,
    "same": lambda value, other, _: other != value,
}
"""Whether a value, with that of the other record, or with the bound, breaks each claim."""
CLAIMS: Mapping[str, Claim] = {
    "at_least": "at_least",
    "at_most": "at_most",
    "below": "below",
    "not_less_than_instead": "other_not_more",
}
"""The claim of each kind of promise of a plugin."""


TIME, STOPPED = "time", "stopped"
"""Beginnings of the reason of an answer that did not come in time, or before the user's end."""


@attrs.frozen
class Answer:
    """The answer to a question: proved, refuted by a record that the engine scores, or neither.

    What an answer does not have is None.

    Attributes:
        property: the name of what was asked.
        skill_type: of whose records, or of which groups.
        axis: the value that it is about: an axis, a measure, a factor, or ``quality``, the
            composite after its gates.
        status: proved, counterexample or undecided.
        summary: the claim in one sentence.
        about: the fact, the list or the axis that it is about, where there are several.
        method: how it was proved or refuted: ``reads``, ``steps``, ``intervals``, ``solver``,
            ``lemma`` or ``scored``.
        found_by: ``search`` where a search proposed the record that refutes it; None of laws of
            groups and weights.
        reason: why it is undecided.
        record: the record that refutes it; of weights the table of miners, and the round's file;
            of groups the group.
        other: the other record, where two are compared.
        value: what the record scores, as text of nine places.
        other_value: what the other scores.
        work: how many steps the solver made.
    """

    property: str
    skill_type: str
    axis: str
    status: Status
    summary: str | None = None
    about: str | None = None
    method: str | None = None
    found_by: str | None = None
    reason: str | None = None
    record: Mapping[str, Any] | None = None
    other: Mapping[str, Any] | None = None
    value: str | None = None
    other_value: str | None = None
    work: int = 0


def is_late(answer: Answer) -> bool:
    """Return whether an answer is undecided because the time was over before."""
    return (answer.reason or "").startswith(f"{TIME}:")


@attrs.frozen(eq=False)
class LawQuestion:
    """A question about a law.

    Attributes:
        unanswered: the question as an answer that is undecided.
        answer: returns the answer.
    """

    unanswered: Answer
    answer: Callable[[], Answer]


@attrs.frozen(eq=False)
class Laws:
    """Laws about something else than a record, such as weights.

    Attributes:
        section: the name of the section of a rule set that they are about.
        summaries: each law in one sentence, by its name, in the order in which they are asked.
        questions: yields what is asked of a rule set, or of the one law of a name.
        breaker: what breaks a law, for a sentence; ``{}`` is what the answer is about.
        example: what is shown as the counterexample; empty for one that is too long to be shown.
    """

    section: str
    summaries: Mapping[str, str]
    questions: Callable[[Scorer, str | None], Iterator[LawQuestion]]
    breaker: str
    example: str = ""
