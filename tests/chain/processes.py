"""The simulated chain of a file: served from this process, or in one of its own."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cli.command import COMMAND

from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.server import serving


@contextmanager
def simulated(file: Path) -> Iterator[str]:
    """Serve the simulated chain of a file from this process; gives its URL."""
    content = SimulationFile.load(file)
    with serving(content.begin(), is_signed=content.is_signed) as url:
        yield url


@contextmanager
def simulated_process(file: Path) -> Iterator[str]:
    """Run the same in a process of its own."""
    command = [*COMMAND, "chain", "simulate", "--file", str(file), "--json", "--stepped"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            text = ""
            for line in process.stdout:
                text += line
                if line.startswith("}"):
                    break
            yield json.loads(text)["url"]
        finally:
            process.terminate()
