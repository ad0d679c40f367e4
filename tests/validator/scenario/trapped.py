"""``tallystick``, killed at a call that a file of its folder names.

The file ``trap`` has the call and a moment: ``commit before`` or ``commit after``. It is of one
kill. A peer that failed is asked again at once, so that no wait decides what comes of a kill.
"""

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

from tallystick.cli.main import main
from tallystick_chain.simulated.simulation import HotkeyView
from tallystick_validator import peers, validator
from tallystick_validator.intake import Intake
from tallystick_validator.peers import Peer

TRAP = Path("trap")
CALLS = {
    "freeze": Intake,
    "commit": HotkeyView,
    "batch": Peer,
    "close": validator,
    "settle": Intake,
    "submit_row": HotkeyView,
}
"""Calls of an epoch by name, and what has them."""


def _meet(moment: str) -> None:
    """Kill this process where the trap is of a moment."""
    if TRAP.exists() and TRAP.read_text() == moment:
        TRAP.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def _trap(name: str, owner: object) -> None:
    call = getattr(owner, name)

    def met(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401  # of any call
        _meet(f"{name} before")
        answer = call(*arguments, **named)
        _meet(f"{name} after")
        return answer

    setattr(owner, name, met)


if __name__ == "__main__":
    peers.Limits = partial(peers.Limits, backoff_seconds=0.0)  # type: ignore[assignment,misc]  # a function that makes them
    for name, owner in CALLS.items():
        _trap(name, owner)
    main()
