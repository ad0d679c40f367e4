"""The conformance kit for pytest: ``pytest --tallystick-plugin NAME-OR-PATH``.

Each check becomes a test, such as ``tallystick-conformance::acme::agreement``; it fails with what
the check found. Without the option nothing is added and nothing is loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tallystick.errors import TallystickError

if TYPE_CHECKING:
    from tallystick_conformance.report import Checked, Report

_OPTION = "--tallystick-plugin"
_DESTINATION = "tallystick_plugins"
_REPORTS = pytest.StashKey[dict[str, "Report"]]()


class ConformanceError(TallystickError):
    """The findings of a check, as text."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that names a plugin."""
    group = parser.getgroup("tallystick", "conformance of Tallystick plugins")
    group.addoption(
        _OPTION,
        action="append",
        default=[],
        dest=_DESTINATION,
        metavar="NAME-OR-PATH",
        help="check an installed plugin, or the project in a folder; may be given several times",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each check of each plugin that is named."""
    for target in config.getoption(_DESTINATION):
        items.extend(_items(session, target))


def _items(session: pytest.Session, target: str) -> Iterator[pytest.Item]:
    from tallystick.errors import PluginError  # only with the option
    from tallystick_conformance.checks import NAMES
    from tallystick_conformance.target import find

    try:
        plugin = find(target).name
    except PluginError as error:
        raise pytest.UsageError(f"{_OPTION}: {error}") from error
    for check in NAMES:
        name = f"tallystick-conformance::{plugin}::{check}"
        yield ConformanceItem.from_parent(
            session, name=name, nodeid=name, target=target, check=check
        )


class ConformanceItem(pytest.Item):
    """One check of one plugin."""

    def __init__(self, *, target: str, check: str, **given: Any) -> None:  # noqa: ANN401  # pytest's
        super().__init__(**given)
        self.target, self.check = target, check

    def runtest(self) -> None:
        """Fail with what the check found; the plugin is looked at once for all checks."""
        report = _report(self.config, self.target)
        checked = next(
            (checked_one for checked_one in report.checked if checked_one.name == self.check), None
        )
        if checked is None:
            pytest.skip(f"not begun: the plugin fails at {report.checked[-1].name!r}")
        if checked.findings:
            raise ConformanceError(_said(checked))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ANN401  # pytest's
    ) -> Any:  # noqa: ANN401  # pytest's
        """Return the findings alone, without a traceback."""
        if isinstance(excinfo.value, ConformanceError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return the name of the test where pytest shows its place."""
        return self.path, None, self.name


def _report(config: pytest.Config, target: str) -> Report:
    from tallystick_conformance.process import check  # only with the option

    reports = config.stash.setdefault(_REPORTS, {})
    if target not in reports:
        reports[target] = check(target)
    return reports[target]


def _said(checked: Checked) -> str:
    from tallystick_conformance.report import lines_of  # only with the option

    return "\n\n".join("\n".join(lines_of(problem)) for problem in checked.findings)
