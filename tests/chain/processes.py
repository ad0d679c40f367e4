"""A simulated chain of a file, and processes: of one, and of a validator that kills itself."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs
from cli.command import COMMAND

from tallystick_chain.simulated.document import SimulationFile
from tallystick_chain.simulated.server import serving

SETTER = """
import json, os, signal, sys
from tallystick_chain.chain import ChainError
from tallystick_chain.connect import connect
from tallystick_chain.journal import Journal
from tallystick_chain.network import Network
from tallystick_chain.setter import WeightSetter, journal_subject
from tallystick_chain.weight_rows import WeightsToSet

url, hotkey, file, path, deadline, die = sys.argv[1:]
steps = 0

def checkpoint(name):
    global steps
    if str(steps) == die:
        os.kill(os.getpid(), signal.SIGKILL)
    steps += 1

network = Network.load(file)
chain = connect(url, hotkey)
with Journal.open(path, journal_subject(network, hotkey)) as journal:
    setter = WeightSetter(
        chain, network, journal, deadline_s=float(deadline), mortal_blocks=12, checkpoint=checkpoint
    )
    for line in sys.stdin:
        weights = WeightsToSet(registered={}, **json.loads(line))
        try:
            status = setter.advance(weights)
        except ChainError as error:
            print(json.dumps({"error": error.code}), flush=True)
            continue
        outcomes = {str(epoch): outcome for epoch, (outcome, _) in status.outcomes.items()}
        kind = status.action.kind
        print(json.dumps({"kind": kind, "outcomes": outcomes, "steps": steps}), flush=True)
"""
"""The script of a validator's process: weights come by a line, the status goes by one."""


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


@attrs.define
class SetterProcess:
    """A validator's process, which starts again when it was killed.

    Attributes:
        arguments: URL, hotkey, network file, journal and deadline.
        die: the number of the step before which its first life ends.
        deaths: how often it was killed.
        steps: the number of steps of its life.
    """

    arguments: Sequence[str]
    die: int
    process: subprocess.Popen[str] | None = None
    deaths: int = 0
    steps: int = 0

    def advance(self, weights: dict[str, Any]) -> dict[str, Any] | None:
        """Give it weights; None if it was killed over them."""
        if self.process is None:
            die = "never" if self.deaths else str(self.die)
            self.process = subprocess.Popen(
                [sys.executable, "-c", SETTER, *self.arguments, die],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ,
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(weights) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            assert self.process.wait() == -9
            self.end()
            self.deaths += 1
            return None
        status: dict[str, Any] = json.loads(line)
        self.steps = status.get("steps", self.steps)
        return status

    def end(self) -> None:
        """End the process."""
        if self.process is not None:
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    stream.close()
            self.process.kill()
            self.process.wait()
            self.process = None
