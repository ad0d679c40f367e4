"""``tallystick score --shadow``: score by rules that are not in force as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer


@attrs.frozen
class ShadowPass:
    """The second pass, by rules that are tried.

    Attributes:
        rules: what scores by these rules.
        where: the state whose thresholds count; None for the seeds of the rules.
    """

    rules: Scorer
    where: str | None
    name: str = "shadow"
    title: str = "scoring the shadow"
    heading: str = "shadow, of rules that are not in force:"

    @contextmanager
    def scoring(self) -> Iterator[Scorer]:
        """Give the scorer, with the thresholds of the state."""
        if self.where is None:
            yield self.rules
            return
        from tallystick_governance.shadow import shadowing  # noqa: PLC0415  # heavy
        from tallystick_state.ledger import Ledger  # noqa: PLC0415  # as above

        with Ledger.open(self.where) as ledger, ledger.queries() as queries:
            yield shadowing(self.rules, queries)


def shadow_pass(reference: str, options: Mapping[str, Any]) -> ShadowPass:
    """Return the pass by a rule set, beside the state of ``--state`` if one is given.

    Raises:
        RuleSetError: the rule set does not load.
    """
    from tallystick.scoring.scorer import load  # noqa: PLC0415  # heavy

    return ShadowPass(load(reference), options.get("--state"))
