"""Fixtures that the tests of back-tests share."""

import pytest

from tallystick_governance.backtest import report


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the pictures out, which take most of the time and say nothing in words."""
    monkeypatch.setattr(report, "plots", lambda: None)
