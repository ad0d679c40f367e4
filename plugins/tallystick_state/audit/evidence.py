"""Evidence: the rows of every step of closed epochs, as one's own engine computed them, in a file.

It is JSON lines (``evidence-1``): a header; for each epoch a line with its leaf, and for each step
that has rows a line with their number, then the rows, which are the data of leaves themselves. Rows
that do not lead to the root of their leaf are refused, so the file says what a checkpoint signs.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import attrs

from tallystick.canonical import canonical_bytes
from tallystick.errors import DamagedError, NumberError, StateError, TrustError
from tallystick.io.atomic import OutputFile, atomic_files, output_path
from tallystick.io.inputs import opened
from tallystick.io.paths import PathLike, path_of
from tallystick.json_values import json_value
from tallystick_state.audit.carried import CarriedValues
from tallystick_state.audit.step_rows import FileRows, StepRows
from tallystick_state.checkpoints import check_leaves
from tallystick_state.ledger import Ledger
from tallystick_state.step_roots import STEPS, EpochLeaf, RootedStep
from tallystick_state.trust.checkpoint import MAX_NOTE_BYTES, Checkpoint, read_checkpoint
from tallystick_state.trust.encoding import check_schema, sound_json
from tallystick_state.trust.merkle import TileTree, leaf_hash

FORMAT = 1
"""The version of the file."""
LONGEST_LINE = 1 << 26
"""The most bytes of a line."""
_START = re.compile(
    rb'\{("carried":|("checkpoint":"([^"\\]|\\.)*",)?"epochs":[0-9]+,"format":1,"genesis")'
)


@attrs.frozen
class Evidence:
    """The content of a file of evidence.

    Attributes:
        checkpoint: what covers its leaves; None where nobody signed them.
        rules: the rule sets, each with its digest, reference and text.
        leaves: of every closed epoch.
        steps: the rows of those epochs that the file has rows of.
        carried: the values with which the state began; None where it began without.
    """

    checkpoint: Checkpoint | None
    rules: Sequence[Mapping[str, str]]
    leaves: tuple[EpochLeaf, ...]
    steps: Mapping[int, Mapping[RootedStep, StepRows | None]]
    carried: CarriedValues | None = None

    def rows(self, epoch: int) -> Mapping[RootedStep, StepRows | None]:
        """Return the rows of an epoch.

        Raises:
            StateError: the file has none.
        """
        if epoch not in self.steps:
            raise StateError(
                f"found evidence without the rows of epoch {epoch}, expected them: write it again "
                "with that epoch"
            )
        return self.steps[epoch]


def write_evidence(
    ledger: Ledger,
    path: PathLike,
    *,
    epochs: Sequence[int] = (),
    checkpoint: Checkpoint | None = None,
    follow_links: bool = False,
) -> int:
    """Write the evidence of a state; gives the number of rows.

    Args:
        ledger: the state.
        path: the file.
        epochs: those whose rows it has; by default all. It has the leaf of every closed epoch.
        checkpoint: a signed one that covers them.
        follow_links: whether a name that is a link is followed.

    Raises:
        OutputError: the file cannot be written.
        StateError: an epoch is not closed.
        TrustError: the state is not what the checkpoint says.
    """
    output, count = output_path(path_of(path, "a file for evidence"), follow_links=follow_links), 0
    with ledger.epoch_log() as log, atomic_files(output) as (file,):
        if checkpoint is not None:
            check_leaves(log, checkpoint)
        wanted = sorted(set(epochs)) or range(len(log.closed))
        if wanted and wanted[-1] >= len(log.closed):
            raise StateError(
                f"found the epoch {wanted[-1]}, expected one of the {len(log.closed)} that are "
                "closed"
            )
        rules = [json_value(rule_set) for rule_set in log.in_force.rule_sets().values()]
        signed = {} if checkpoint is None else {"checkpoint": checkpoint.to_text()}
        values = CarriedValues.of_log(log.in_force.origin.carry, log.transaction)
        header = {
            **signed,
            **({} if values is None else {"carried": values.to_value()}),
            "epochs": len(log.leaves),
            "format": FORMAT,
            "genesis": log.in_force.genesis,
            "rules": rules,
            "tallystick_evidence": FORMAT,
        }
        _write(file, header)
        for leaf in log.leaves:
            _write(file, {"leaf": json_value(leaf), "rows": leaf.epoch in wanted})
            steps = log.rows(leaf.epoch) if leaf.epoch in wanted else {}
            for step, rows in steps.items():
                if rows is not None:
                    _write(file, {"rows": len(rows), "step": step})
                    for row in rows:
                        file.write(row + b"\n")
                    count += len(rows)
    return count


def is_evidence(path: Path) -> bool:
    """Return whether a path is a file that begins as evidence does.

    Raises:
        InputError: it cannot be read.
    """
    if not path.is_file():
        return False
    with opened(path) as file:
        return _START.match(file.read(MAX_NOTE_BYTES)) is not None


@contextmanager
def read_evidence(path: Path) -> Iterator[Evidence]:
    """Open the evidence of a file, whose rows are read from it as long as the block lasts.

    Raises:
        InputError: the file cannot be read.
        TrustError: it is no evidence, or its rows are not those of its leaves.
    """
    with opened(path) as file:
        yield _Reader(path, file).evidence()


class _Reader:
    """Reads evidence line by line and remembers where rows are."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._number = path, file, 0

    def evidence(self) -> Evidence:
        header = self._object("header")
        signed = header.get("checkpoint")
        checkpoint = None if signed is None else read_checkpoint(signed.encode())
        carried = self._carried(header.get("carried"))
        leaves, steps = list[EpochLeaf](), dict[int, Mapping[RootedStep, StepRows | None]]()
        for epoch in range(header["epochs"]):
            line = self._object("epoch")
            check_schema("epoch-leaf-1", line["leaf"], self._where, "bad-evidence")
            leaf = EpochLeaf.of_value(line["leaf"])
            if (leaf.epoch, leaf.genesis) != (epoch, header["genesis"]):
                raise self._bad(f"the leaf of epoch {leaf.epoch}", f"that of {epoch}")
            if carried is not None and carried.digest != leaf.carry:
                raise self._bad("carried values of another digest", f"those of {leaf.carry}")
            leaves.append(leaf)
            if line["rows"]:
                steps[epoch] = {step: self._rows(leaf, step) for step in STEPS}
        if self._file.read(1):
            raise self._bad("more lines", "no more")
        if checkpoint is not None:
            self._check(checkpoint, leaves)
        return Evidence(checkpoint, header["rules"], tuple(leaves), steps, carried)

    def _carried(self, value: Mapping[str, Any] | None) -> CarriedValues | None:
        try:
            return None if value is None else CarriedValues.of_value(value)
        except (ValueError, KeyError, TypeError, AttributeError, DamagedError, NumberError):
            raise self._bad("carried values that are none", "a state and records") from None

    def _check(self, checkpoint: Checkpoint, leaves: Sequence[EpochLeaf]) -> None:
        tree = TileTree(leaf_hash(leaf.to_bytes()) for leaf in leaves)
        if checkpoint.size > tree.size or tree.root_at(checkpoint.size) != checkpoint.root:
            raise self._bad("leaves of another root", "those of the checkpoint")

    def _rows(self, leaf: EpochLeaf, step: RootedStep) -> StepRows | None:
        root = leaf.steps[step]
        if root is None:
            return None
        header = self._object("step")
        if header["step"] != step or header["rows"] != root.size:
            raise self._bad(f"{header['rows']} rows of {header['step']}", f"{root.size} of {step}")
        start, ends = self._file.tell(), array("Q")
        # a leaf may name more rows than any memory holds: what counts is what is there
        at, hashes = start, bytearray()
        for _ in range(root.size):
            line = self._line()
            at += len(line)
            ends.append(at)
            hashes += leaf_hash(line[:-1])
        tree = TileTree([bytes(hashes)])
        if tree.root() != root.root:
            raise self._bad(f"rows of {step} that lead to {tree.root().hex()}", root.root.hex())
        return StepRows(FileRows(self._file, ends, start), tree)

    def _object(self, part: str) -> Mapping[str, Any]:
        value = sound_json(self._line(), self._where, "bad-evidence")
        check_schema("evidence-1", value, self._where, "bad-evidence")
        line: Mapping[str, Any] = value
        expected = {"header": "genesis", "epoch": "leaf", "step": "step"}[part]
        if expected not in line:
            raise self._bad("another line", f"that of an {part}")
        return line

    def _line(self) -> bytes:
        line = self._file.readline(LONGEST_LINE)
        self._number += 1
        if not line.endswith(b"\n"):
            raise self._bad("a line that is cut" if line else "the end", "a whole line")
        return line

    @property
    def _where(self) -> str:
        return f"{self._path}:{self._number}"

    def _bad(self, found: str, expected: str) -> TrustError:
        return TrustError(
            f"{self._where}: found {found}, expected {expected}: the evidence was cut or changed",
            code="bad-evidence",
        )


def _write(file: OutputFile, value: Mapping[str, Any]) -> None:
    file.write(canonical_bytes(value) + b"\n")
