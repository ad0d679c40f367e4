"""Every shipped rule set, loaded once."""

import pytest

import tallystick

RULE_SETS = (
    *("skills@1.0.0", "skills@1.1.0", "skills@1.2.0"),
    *("workflow@1.0.0", "workflow@1.1.0", "workflow@1.2.0"),
)


@pytest.fixture(scope="session")
def scorers() -> dict[str, tallystick.Scorer]:
    return {name: tallystick.load(name) for name in RULE_SETS}
