"""Work: what is done with a piece, by whoever does it.

Work is a value that can be pickled, and a function of a piece to an answer. An engine has pieces
worked on elsewhere and gives the answers in the order of the pieces. What goes wrong comes back as
a ``Failure``, as not every error can be pickled.
"""

from __future__ import annotations

import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

import attrs

from tallystick import errors
from tallystick.errors import EngineError, TallystickError

Task_contra = TypeVar("Task_contra", contravariant=True)
Answer_co = TypeVar("Answer_co", covariant=True)
Task = TypeVar("Task")
Answer = TypeVar("Answer")
_Pending = TypeVar("_Pending")


class Work(Protocol[Task_contra, Answer_co]):
    """What is done with each piece; it can be pickled, and so can pieces and answers."""

    def __call__(self, task: Task_contra, /) -> Answer_co:
        """The answer of one piece."""


class Engine(Protocol):
    """Has pieces worked on, in worker processes of this machine or of several."""

    def run(self, work: Work[Task, Answer], tasks: Iterable[Task]) -> Iterator[Answer]:
        """The answers, in the order of the pieces.

        Few pieces are asked for ahead, so memory is bounded. Close the iterator to end early.

        Raises:
            EngineError: the workers cannot be used.
            TallystickError: what the work raised.
        """


@attrs.frozen
class Failure:
    """What went wrong in a worker.

    Attributes:
        kind: the name of the error.
        text: what it says; of a defect of the engine or of a plugin, the traceback.
    """

    kind: str
    text: str

    def to_error(self, where: str = "") -> Exception:
        """The error again, with the worker's name if there is one."""
        text = f"{where}: {self.text}" if where else self.text
        kind = getattr(errors, self.kind, None)
        if kind is None:
            return RuntimeError(f"a worker failed\n{text}")
        # those that carry more than a text have become one
        return kind(text) if kind.__init__ is Exception.__init__ else EngineError(text)


def attempted(work: Work[Task, Answer], task: Task) -> Answer | Failure:
    """The answer of one piece, or what went wrong."""
    try:
        return work(task)
    except TallystickError as error:
        return Failure(type(error).__name__, str(error))
    except Exception as error:  # noqa: BLE001  # told where the run was started
        return Failure(type(error).__name__, traceback.format_exc())


def in_order(
    tasks: Iterable[Task],
    submit: Callable[[Task], _Pending],
    result: Callable[[_Pending], Any],
    ahead: int,
) -> Iterator[Any]:
    """The results of tasks in their order, with a bounded number at work or waiting.

    Args:
        tasks: asked for one at a time.
        submit: begins one.
        result: waits for its result.
        ahead: how many are begun before the first result is waited for.
    """
    pending: deque[_Pending] = deque()
    for task in tasks:
        pending.append(submit(task))
        if len(pending) >= ahead:
            yield result(pending.popleft())
    while pending:
        yield result(pending.popleft())
