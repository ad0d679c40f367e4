"""``tallystick``, killed at a call of its chain, as a file of its folder says.

The file ``trap`` has the call, what it is about and a delay in seconds: ``commit before 0``,
``submit_row after 0.02``, or ``neurons 344 0``, the read of a block. It is of one kill.
"""

import os
import signal
import threading
from pathlib import Path
from typing import Any

from tallystick.cli.main import main
from tallystick_chain.simulated.simulation import HotkeyView

TRAP = Path("trap")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _spring(met: str) -> None:
    """Kill this process where the trap is of what it has met."""
    wanted = TRAP.read_text() if TRAP.exists() else ""
    if not wanted.startswith(f"{met} "):
        return
    TRAP.unlink()
    seconds = float(wanted.removeprefix(f"{met} "))
    if seconds:
        threading.Timer(seconds, _kill).start()
    else:
        _kill()


def _trapped(name: str) -> None:
    call = getattr(HotkeyView, name)

    def met(view: HotkeyView, *arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # of any call
        _spring(f"{name} {arguments[-1]}" if name == "neurons" else f"{name} before")
        answer = call(view, *arguments, **named)
        _spring(f"{name} after")
        return answer

    setattr(HotkeyView, name, met)


if __name__ == "__main__":
    for name in ("commit", "submit_row", "neurons"):
        _trapped(name)
    main()
