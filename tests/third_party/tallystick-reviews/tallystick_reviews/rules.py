"""The values of the section ``[reviews]``."""

from collections.abc import Mapping
from decimal import Decimal

import attrs

from tallystick.rules.model import SectionKind


@attrs.frozen
class Reviews:
    """Which tasks people look at.

    Attributes:
        salt: begins the text whose digest draws a task.
        share: the share of the tasks of a type that are drawn.
        types: another share for some skill types.
    """

    salt: str
    share: Decimal
    types: Mapping[str, Decimal] = attrs.field(factory=dict)

    def share_of(self, skill_type: str) -> Decimal:
        """Return the share of the tasks of a type that are drawn."""
        return self.types.get(skill_type, self.share)


REVIEWS = SectionKind("reviews", Reviews)
"""The section, by which a rule set is asked for its values."""
