"""``tallystick``, killed at a call of its chain, or cut off from it, as files of its folder say.

The file ``trap`` has the call, what it is about and a delay in seconds: ``commit before 0``,
``submit_row after 0.02``, or ``neurons 344 0``, the read of a block. It is of one kill. As long as
the file ``cut`` is there, no call of the chain is answered: it is refused, or hangs.
"""

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from tallystick.cli.main import main
from tallystick_chain.chain import ChainError, Refusal
from tallystick_chain.simulated import shared_chain
from tallystick_chain.simulated.model import Block
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_chain.simulated.simulation import HotkeyView, SimulatedChain

TRAP, CUT = Path("trap"), Path("cut")


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


class CutChain(SharedChain):
    """The chain of a file, which the test can cut off."""

    def now(self) -> SimulatedChain:
        _pass()
        return super().now()

    def do(self, name: str, netuid: int, **arguments: Any) -> Block:  # noqa: ANN401  # of any rule
        _pass()
        return super().do(name, netuid, **arguments)


def _pass() -> None:
    while CUT.exists():
        if CUT.read_text() == "refuse":
            raise ChainError("the chain is cut off", Refusal.UNREACHABLE)
        time.sleep(0.05)


if __name__ == "__main__":
    shared_chain.SharedChain = CutChain  # type: ignore[misc]
    for name in ("commit", "submit_row", "neurons"):
        _trapped(name)
    main()
