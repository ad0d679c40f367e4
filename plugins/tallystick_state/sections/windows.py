"""The section ``[windows]``: timing windows, for whoever dispatches tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from tallystick.diagnostics import nearest
from tallystick.rules.findings import Finding, mistake, shown
from tallystick.rules.keys import OTHER_KEYS
from tallystick.rules.model import SectionKind
from tallystick.rules.section import Section
from tallystick_state.roles import Role

if TYPE_CHECKING:
    from tallystick.plugins.registry import Registry
    from tallystick.rules.model import RuleSet
    from tallystick.rules.schema import Declared

tallystick_api = 1


@attrs.frozen
class Window:
    """The timing window of a role, in seconds; reference for whoever dispatches tasks."""

    t_min_s: Decimal
    deadline_s: Decimal


@attrs.frozen
class Windows:
    """The windows of each role, by skill type."""

    of_types: Mapping[str, Mapping[Role, Window]] = attrs.field(factory=dict, metadata=OTHER_KEYS)


WINDOWS = SectionKind("windows", Windows, Windows())


def _check(
    windows: Windows, _rule_set: RuleSet, declared: Declared, _registry: Registry
) -> Iterator[Finding]:
    for skill_type, roles in windows.of_types.items():
        if skill_type not in declared.skill_types:
            hint = nearest(skill_type, declared.skill_types)
            expected = f"a skill type of this rule set{hint}"
            yield mistake(("windows", skill_type), shown(skill_type), expected)
        for role, window in roles.items():
            if window.t_min_s >= window.deadline_s:
                expected = f"more than t_min_s, {shown(window.t_min_s)}"
                path = ("windows", skill_type, role, "deadline_s")
                yield mistake(path, shown(window.deadline_s), expected)


SECTION = Section(
    kind=WINDOWS,
    schema=Path(__file__).parent.parent / "schemas" / "windows-1.schema.json",
    check=_check,
)
