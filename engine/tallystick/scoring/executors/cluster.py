"""Workers on any number of machines: a Dask ``distributed`` cluster (extra ``cluster``).

Tasks and answers are pickled, so a cluster must be one that is trusted: who reaches its scheduler
can run code on it, and who is its scheduler can run code here. A task whose worker is lost is done
again by another; answers are functions of the task, so that changes no byte.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import EngineError
from tallystick.extras import missing
from tallystick.scoring.executors.certificates import (
    Certificates,
    client_security,
    is_encrypted,
)
from tallystick.scoring.executors.executor import (
    Answer,
    Failure,
    Function,
    Task,
    attempted,
    in_order,
)

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_SECONDS = 8
"""Seconds that a scheduler has to answer, and that a cluster may be without a worker."""

_AHEAD = 3
"""Tasks begun for each thread of a worker."""


@attrs.frozen
class Cluster:
    """A cluster by the address of its scheduler, such as ``tls://host:8786``.

    Attributes:
        address: of the scheduler.
        patience: seconds that it may take to answer, or be without a worker.
        certificates: for TLS; by default those that Dask is configured with.
    """

    address: str
    patience: float = CONNECT_SECONDS
    certificates: Certificates | None = None
    is_elsewhere = True

    def map(
        self, function: Function[Task, Answer], tasks: Iterable[Task]
    ) -> Generator[Answer, None, None]:
        """Yield the answers, in the order of the tasks.

        Raises:
            EngineError: the cluster cannot be reached or has no workers.
            TallystickError: what the function raised, with the address of the worker.
        """
        with self._client() as client, self._told():
            ahead = _AHEAD * sum(self._threads(client).values())
            yield from in_order(
                tasks,
                lambda task: client.submit(_answer, function, task, pure=False),
                lambda future: self._result(client, future),
                ahead,
            )

    @contextmanager
    def _client(self) -> Iterator[Client]:
        make = _imported(self.address)
        security = client_security(self.address, self.certificates)
        from distributed.comm.addressing import get_address_host

        try:
            # before there is a client: one that cannot begin to connect never ends well
            get_address_host(self.address)
            client = make(
                self.address, timeout=self.patience, set_as_default=False, security=security
            )
        except (OSError, ValueError, TimeoutError) as error:
            raise EngineError(
                f"{self.address}: the cluster cannot be reached ({_said(error)}): "
                f"check {self._hint}"
            ) from error
        try:
            yield client
        finally:
            client.close(timeout=self.patience)  # type: ignore[no-untyped-call]  # as released

    @property
    def _hint(self) -> str:
        if is_encrypted(self.address):
            return (
                "the address of its scheduler, and that its certificates and this client's are "
                "signed by the same authority"
            )
        return (
            "the address of its scheduler, such as tcp://host:8786, or tls://host:8786 where it "
            "takes no other connections"
        )

    def _threads(self, client: Client) -> dict[str, int]:
        """Return the threads of each worker, once there is one."""
        try:
            client.wait_for_workers(1, timeout=self.patience)
        except TimeoutError as error:
            raise self._deserted() from error
        return dict(client.nthreads())  # type: ignore[no-untyped-call]  # as released

    def _result(self, client: Client, future: Future[tuple[str, Any]]) -> Any:  # noqa: ANN401  # an answer
        """The answer to a task; a cluster whose workers are all lost has some time for new ones."""
        while True:
            try:
                where, answer = future.result(timeout=self.patience)
            except TimeoutError:
                self._threads(client)
                continue
            future.release()  # type: ignore[no-untyped-call]  # as released
            if isinstance(answer, Failure):
                raise answer.to_error(where)
            return answer

    def _deserted(self) -> EngineError:
        return EngineError(
            f"{self.address}: found a cluster without workers, expected at least one: start "
            f"`dask worker {self.address}`"
        )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tells of what fails between this process, the scheduler and the workers."""
        from concurrent.futures import CancelledError  # with the others

        from distributed import KilledWorker
        from distributed.comm.core import CommClosedError

        try:
            yield
        except (CancelledError, CommClosedError, KilledWorker) as error:
            raise EngineError(
                f"{self.address}: the cluster gave up ({_said(error)}): look into the logs of its "
                "workers and run again"
            ) from error


def _answer(function: Function[Any, Any], task: object) -> tuple[str, Any]:
    """Return the answer of a worker, and which it is."""
    from distributed import get_worker

    return f"worker {get_worker().address}", attempted(function, task)


def _imported(address: str) -> Callable[..., Client]:
    try:
        from distributed import Client  # heavy, and an extra
    except ImportError as error:
        raise EngineError(f"{address}: {missing('distributed')}") from error
    return Client


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
