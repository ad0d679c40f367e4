"""How many examples Hypothesis makes: a part of them by default, all of them in a full run.

``TALLYSTICK_EXAMPLES=all`` asks for all, as continuous integration does when it runs the tests once
more against the wheel.
"""

import os

from hypothesis import settings

IS_FULL = os.environ.get("TALLYSTICK_EXAMPLES") == "all"
PART = 3
"""A full run makes this many times the examples of a default one."""


def number(full: int) -> int:
    """Return how many of a number of examples this run makes."""
    return full if IS_FULL else max(1, full // PART)


def examples(full: int) -> settings:
    """Return the settings of a test that makes this many examples in a full run."""
    return settings(max_examples=number(full))
