"""``--shadow`` of ``score`` and ``round close``: score by rules that are not in force as well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import click

if TYPE_CHECKING:
    from tallystick.scoring.scorer import Scorer
    from tallystick_governance.shadow import Shadow

_RULES, _FOLDER = "--shadow", "--shadow-folder"
_HEADING = "shadow, of rules that are not in force:"


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
    heading: str = _HEADING

    @contextmanager
    def scoring(self) -> Iterator[Scorer]:
        """Yield the scorer, with the thresholds of the state."""
        if self.where is None:
            yield self.rules
            return
        from tallystick_governance.shadow import shadowing
        from tallystick_state.ledger import Ledger

        with Ledger.open(self.where) as ledger, ledger.queries() as queries:
            yield shadowing(self.rules, queries)


def shadow_pass(reference: str, options: Mapping[str, Any]) -> ShadowPass:
    """Return the pass by a rule set, beside the state of ``--state`` if one is given.

    Raises:
        RuleSetError: the rule set does not load.
    """
    from tallystick.scoring.scorer import load

    return ShadowPass(load(reference), options.get("--state"))


def round_shadow(reference: str, options: Mapping[str, Any]) -> Shadow:
    """Return the pass by a rule set over the records of rounds, with the folder of its facts.

    Raises:
        UsageError: no folder is named.
        RuleSetError: the rule set does not load.
        StateError: the folder is of other rules.
    """
    if _FOLDER not in options:
        raise _both()
    from tallystick.scoring.scorer import load
    from tallystick_governance.shadow import Shadow

    shadow = Shadow(Path(options[_FOLDER]), load(reference))
    shadow.check()
    return shadow


def check_folder(_folder: str, options: Mapping[str, Any]) -> None:
    """Refuse a folder without rules.

    Raises:
        UsageError: none are named.
    """
    if _RULES not in options:
        raise _both()


def _both() -> click.UsageError:
    return click.UsageError(f"found one of {_RULES} and {_FOLDER}, expected both")
