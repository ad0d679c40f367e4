"""Lints of windows: times in which tasks are to be answered."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.rules.findings import Finding
from tallystick.scoring.lint import comparison, finding
from tallystick.scoring.scorer import Scorer
from tallystick_state.sections.windows import WINDOWS, Window

_FAR = 3


@comparison("window-moved", "warning")
def _moved(old: Scorer, new: Scorer) -> Iterator[Finding]:
    """A window opens or closes at several times, or a fraction, of the time of before.

    Who dispatches tasks takes the windows of their roles from the rule set. Three times as long, or
    a third, and answers that were on time are late, or ones are taken that nobody can have worked
    for.

    Remedy: move the window in smaller steps.
    """
    before, after = old.rule_set.section(WINDOWS), new.rule_set.section(WINDOWS)
    if before is None or after is None:
        return
    for skill_type, roles in before.of_types.items():
        for role, window in roles.items():
            other = after.of_types.get(skill_type, {}).get(role)
            path = ("windows", skill_type, role)
            if other is None:
                is_left = skill_type in after.of_types
                place = path[: 2 if is_left else 1] if after.of_types else ()
                if skill_type in new.rule_set.skill_types:
                    yield finding(place, f"{role} of {skill_type} has no window")
                continue
            for key in _far(window, other):
                was, now = getattr(window, key), getattr(other, key)
                message = f"{key} of {role} is {{new}}; before {{old}}"
                yield finding((*path, key), message, old=str(was), new=str(now))


def _far(window: Window, other: Window) -> Iterator[str]:
    """Yield the keys whose values differ by far."""
    for key in ("t_min_s", "deadline_s"):
        was, now = getattr(window, key), getattr(other, key)
        if was != now and max(was, now) >= _FAR * min(was, now):
            yield key
