"""A generator: how realistic records of a skill type are made up, part by part.

The engine says who, when and in which role; the generator says what was asked, answered and
verified. A task is asked once, of several miners; an answer is verified by several validators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from tallystick.plugins.draw import Draw

Part = Mapping[str, Any]
"""The JSON value of one part of a record."""


def _nothing(_draw: Draw, _checks: Part) -> Sequence[str]:
    return ()


@attrs.frozen(eq=False)
class Generator:
    """What makes up the parts of a record, valid under the schema and the requirements.

    Every function takes all of its choices from its ``Draw``. ``draw.skill`` is that of the miner;
    a task is asked of all. A function gives a new value, or one that nobody changes.

    Attributes:
        task: the ``task``.
        submission: the ``submission`` of a miner to a task.
        checks: the ``checks`` of one validator, from the task and the submission.
        events: the ``events`` that go with some checks, but a missed deadline; by default none.
    """

    task: Callable[[Draw], Part]
    submission: Callable[[Draw, Part], Part]
    checks: Callable[[Draw, Part, Part], Part]
    events: Callable[[Draw, Part], Sequence[str]] = _nothing
