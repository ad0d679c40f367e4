"""A scheduler or a worker of Dask in a process of its own.

    python dask_process.py '{"kind": "scheduler", …}'

prints its address, and ends at once when its standard input does: with the process that started it,
whatever becomes of that.
"""

import asyncio
import json
import os
import sys
import threading

from distributed import Scheduler, Security, Worker


def end_with_input() -> None:
    """End this process when there is no more input."""
    sys.stdin.buffer.read()
    os._exit(0)


async def serve(kind: str, scheduler: str = "", tls: dict[str, str] | None = None) -> None:
    """Serve until the process ends.

    Args:
        kind: "scheduler" or "worker".
        scheduler: the address of a worker's scheduler.
        tls: the settings of TLS, by default none.
    """
    security = Security(require_encryption=True, **tls) if tls else Security()
    options = {"protocol": "tls" if tls else "tcp", "host": "127.0.0.1", "security": security}
    if kind == "scheduler":
        server = Scheduler(port=0, dashboard_address=None, **options)
    else:
        server = Worker(scheduler, nthreads=1, dashboard_address=None, **options)
    async with server:
        print(server.address, flush=True)  # noqa: T201  # read by who started it
        await server.finished()


if __name__ == "__main__":
    threading.Thread(target=end_with_input, daemon=True).start()
    asyncio.run(serve(**json.loads(sys.argv[1])))
