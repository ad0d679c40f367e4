"""The section ``[claims]``: limits of the claims of one validator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from tallystick.rules.model import SectionKind
from tallystick.rules.section import Section

if TYPE_CHECKING:
    from tallystick.rules.model import RuleSet

tallystick_api = 1


@attrs.frozen
class Claims:
    """The limits of the claims of one validator; None for no limit.

    Attributes:
        event_task: which task an event that came alone may be about: ``any``, or only one that the
            validator of the event has ``recorded`` in the state; until then the event waits.
        per_round: the most claims of one validator about one round.
        per_epoch: the most claims of one validator that are pinned to one epoch.
        rounds_per_epoch: the most rounds of one epoch that a validator may claim something about.
        facts: what a state keeps of the facts of a record: ``none``, or their ``digest``.
    """

    event_task: Literal["any", "recorded"] = "any"
    per_round: int | None = None
    per_epoch: int | None = None
    rounds_per_epoch: int | None = None
    facts: Literal["none", "digest"] = "none"


CLAIMS = SectionKind("claims", Claims, Claims())


def claims_of(rule_set: RuleSet) -> Claims:
    """Return what a rule set lets a state take of one validator; no limit where it says nothing."""
    return rule_set.section(CLAIMS) or Claims()


SECTION = Section(
    kind=CLAIMS, schema=Path(__file__).parent.parent / "schemas" / "claims-1.schema.json"
)
