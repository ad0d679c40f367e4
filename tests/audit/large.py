"""Evidence of an epoch with many made-up results, one of which is of a record that exists."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from state.subnet import Record, record

from tallystick.canonical import canonical_bytes
from tallystick.json_values import json_value
from tallystick.numbers.nano import NANO
from tallystick.plugins.registry import installed_plugins
from tallystick.rules.loading import load
from tallystick_state.audit.evidence import Evidence
from tallystick_state.audit.judgement import Agreed
from tallystick_state.audit.rederive import scored
from tallystick_state.audit.side import RuleText, Side
from tallystick_state.audit.step_rows import StepRows
from tallystick_state.epoch import close_epoch
from tallystick_state.event import StateEvent
from tallystick_state.model import MinerEntry, State
from tallystick_state.rules import StateRules
from tallystick_state.step_roots import (
    Counted,
    EpochLeaf,
    Key,
    LeafRow,
    RootedStep,
    Share,
    StepRoot,
    row_data,
    step_rows,
    step_tree,
)
from tallystick_state.trust.merkle import HASH_SIZE, TILE_WIDTH, TileTree, leaf_hash
from tallystick_state.weights import weights_of

TYPES = ("executable_python", "mcp_server", "rag_knowledge")
MINERS = 250
DIGEST = "sha256:" + 64 * "0"
_HALF = NANO // 2
_OF_EVENTS = ("inputs", "facts", "results", "deltas")
_TASK = b'"t-'
Rows = Mapping[RootedStep, Sequence[bytes] | None]


@attrs.frozen
class Repeated(Sequence[bytes]):
    """Rows of records, each with others behind it that are the same but for the task.

    What is counted are means and medians, which repeating changes nothing of.
    """

    rows: Sequence[bytes]
    times: int

    def __len__(self) -> int:
        return len(self.rows) * self.times

    def __getitem__(self, index: int) -> bytes:  # type: ignore[override]  # of no slices
        row, time = divmod(index, self.times)
        return self._repeated(self.rows[row])[time]

    def __iter__(self) -> Iterator[bytes]:
        for row in self.rows:
            yield from self._repeated(row)

    def _repeated(self, row: bytes) -> list[bytes]:
        before, _, after = row.partition(_TASK)
        task, _, after = after.partition(b'"')
        start = before + _TASK + task
        return [row, *(b'%s-%03d"%s' % (start, time, after) for time in range(1, self.times))]


@attrs.frozen
class Replaced(Sequence[bytes]):
    """Rows of which one is another."""

    rows: Sequence[bytes]
    place: int
    row: bytes

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int | slice) -> Any:  # noqa: ANN401  # as of a sequence
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        return self.row if index == self.place else self.rows[index]

    def __iter__(self) -> Iterator[bytes]:
        for place, row in enumerate(self.rows):
            yield self.row if place == self.place else row


def real_record() -> Record:
    """The record that exists."""
    return record("t-real", "hk-007", "mcp_server", validator="val-1", round=1, epoch=1)


def with_row(side: Side, epoch: int, step: RootedStep, place: int, row: LeafRow) -> Side:
    """The side of evidence that has another row at a place, with every root above it made anew."""
    evidence, data = side.source, row_data(row)
    assert isinstance(evidence, Evidence)
    rows = evidence.steps[epoch][step]
    assert rows is not None
    tiles = (rows.tree.tile(0, tile) for tile in range(-(-len(rows.data) // TILE_WIDTH)))
    hashes = bytearray().join(tiles)
    hashes[place * HASH_SIZE : (place + 1) * HASH_SIZE] = leaf_hash(data)
    other = StepRows(Replaced(rows.data, place, data), TileTree([bytes(hashes)]))
    leaves = list(evidence.leaves)
    root = StepRoot(other.tree.root(), other.tree.size)
    leaves[epoch] = attrs.evolve(leaves[epoch], steps={**leaves[epoch].steps, step: root})
    steps = {**evidence.steps, epoch: {**evidence.steps[epoch], step: other}}
    return Side("b", attrs.evolve(evidence, leaves=tuple(leaves), steps=steps))


def write_large(path: Path, count: int, times: int = 1) -> Path:
    """Write evidence of two epochs, the second with so many records in its one round.

    Args:
        path: the file.
        count: how many records are counted.
        times: how often each of them stands in it.
    """
    plugins = installed_plugins()
    loaded = load("skills@1.2.0", plugins)
    rules = StateRules(loaded, loaded.registry)
    text = RuleText(loaded.digest, loaded.rule_set.reference, loaded.text)
    miners = {
        hotkey: MinerEntry(hotkey, uid, TYPES, dict.fromkeys(TYPES, _HALF))
        for uid, hotkey in enumerate(f"hk-{number:03}" for number in range(MINERS))
    }
    begun = State(1, miners, rules.seeds)
    first = step_rows(_counted(rules, (), State(0, miners, rules.seeds), begun, {}))
    leaves = [_leaf(rules, 0, first)]
    agreed = Agreed({0: leaves[0], 1: leaves[0]}, {text.digest: text}, plugins, _Known(first))
    real = scored(agreed, real_record(), "mcp_server", 1).event
    events = [*_events(count - 1), real]
    after = close_epoch(begun, events, rules, {1: begun})
    averages = after.carry[rules.line]["average"]
    weights = weights_of(rules, averages)
    shares = {
        (hotkey, rules.line): Share(
            *(miner.uid or 0, 1, 1, averages.get(hotkey), weights.get(hotkey)),
            {"average": averages[hotkey]} if hotkey in averages else {},
        )
        for hotkey, miner in miners.items()
    }
    second: Rows = {
        step: rows if rows is None or step not in _OF_EVENTS else Repeated(rows, times)
        for step, rows in step_rows(_counted(rules, events, begun, after, shares)).items()
    }
    leaves.append(_leaf(rules, 1, second))
    header = {
        "epochs": 2,
        "format": 1,
        "genesis": DIGEST,
        "rules": [{"digest": text.digest, "reference": text.reference, "text": text.text}],
        "tallystick_evidence": 1,
    }
    with path.open("wb") as file:
        file.write(canonical_bytes(header) + b"\n")
        for leaf, steps in zip(leaves, (first, second), strict=True):
            file.write(canonical_bytes({"leaf": json_value(leaf), "rows": True}) + b"\n")
            for step, rows in steps.items():
                if rows is not None:
                    file.write(canonical_bytes({"rows": len(rows), "step": step}) + b"\n")
                    file.writelines(row + b"\n" for row in rows)
    return path


class _Known:
    """The rows of the first epoch, by which the real record is scored."""

    def __init__(self, steps: Rows) -> None:
        self._steps = steps

    def __call__(self, epoch: int, step: RootedStep, prefix: Key = ()) -> Sequence[LeafRow]:
        assert epoch == 0
        found = StepRows(self._steps[step] or [])
        low, high = found.span(prefix)
        return [found.row(place) for place in range(low, high)]


def _events(count: int) -> Iterator[StateEvent]:
    for number in range(count):
        nano = (number * 7_919) % NANO
        yield StateEvent(
            validator=f"val-{number % 4}",
            hotkey=f"hk-{number % MINERS:03}",
            skill_type=TYPES[number // MINERS % len(TYPES)],
            task_id=f"t-{number:07}",
            round=1,
            epoch=1,
            events=("rerun_pass",) if number % 3 else ("rerun_fail",),
            role="primary",
            quality=nano,
            emission=nano,
            record=f"sha256:{number:064x}",
            facts=f"sha256:{number:064x}",
        )


def _counted(
    rules: StateRules,
    events: Sequence[StateEvent],
    before: State,
    after: State,
    scores: Mapping[tuple[str, str], Share],
) -> Counted:
    return Counted(
        epoch=before.epoch,
        rules={rules.line: rules},
        line_of=lambda _: rules.line,
        adopted={},
        rules_at={rules.line: lambda _: rules},
        events=events,
        before=before,
        after=after,
        pinned={before.epoch: before},
        scores=scores,
    )


def _leaf(rules: StateRules, epoch: int, steps: Rows) -> EpochLeaf:
    roots = {
        step: None if rows is None else StepRoot(step_tree(rows).root(), len(rows))
        for step, rows in steps.items()
    }
    return EpochLeaf(epoch, DIGEST, {rules.line: rules.digest}, {}, roots, DIGEST)
