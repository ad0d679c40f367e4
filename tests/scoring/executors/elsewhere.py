"""An executor whose function, tasks and answers are pickled, as those of other processes are."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Generator, Iterable
from typing import Any

import attrs

from tallystick.scoring.executors.executor import Failure, attempted, in_order


@attrs.frozen
class Pickled:
    """Calls in this process what would be sent to another, with some tasks begun ahead.

    Attributes:
        ahead: the number of tasks that are begun before the first answer is waited for.
    """

    ahead: int = 6
    is_elsewhere = True

    def map(
        self, function: Callable[[Any], Any], tasks: Iterable[Any]
    ) -> Generator[Any, None, None]:
        """Yield the answers, in the order of the tasks."""
        sent = _copied(function)
        yield from in_order(
            tasks, lambda task: _copied(attempted(sent, _copied(task))), _answered, self.ahead
        )


def _copied(value: Any) -> Any:  # noqa: ANN401  # whatever goes between processes
    return pickle.loads(pickle.dumps(value))  # noqa: S301  # its own


def _answered(answer: Any) -> Any:  # noqa: ANN401  # an answer or a failure
    if isinstance(answer, Failure):
        raise answer.to_error()
    return answer
