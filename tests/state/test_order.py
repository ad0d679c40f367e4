"""Two stores that were fed the same records are the same, whatever the order and the batches."""

import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from examples import fast_rows
from state.chronicle import Epoch, clear, digest_of, feed, history, register, snapshots_of
from state.subnet import Record, record, written

from tallystick_state.ledger import Ledger
from tallystick_state.queries import Weights

NAMES = ("skills@1.0.0", "skills@1.1.0")
Feed = Callable[[Ledger, Epoch, Path], None]


def is_late(line: Record) -> bool:
    return "event" in line


def shuffled(lines: Sequence[Record], seed: int = 5) -> list[Record]:
    return random.Random(seed).sample(list(lines), len(lines))


def one_by_one(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    register(ledger, epoch)
    for line in shuffled(epoch.lines):
        ledger.import_events(written(folder / "line.jsonl", [line]))
    clear(ledger, epoch)


def round_by_round(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    """Late events first, then the records of each round, the newest first, half of them twice."""
    register(ledger, epoch)
    lines = shuffled(epoch.lines, 6)
    late = [line for line in lines if is_late(line)]
    if late:
        ledger.import_events(written(folder / "late.jsonl", late))
    records = [line for line in lines if not is_late(line)]
    for number in sorted({line["round"] for line in records}, reverse=True):
        mine = [line for line in records if line["round"] == number]
        ledger.close_round(written(folder / "half.jsonl", mine[::2]))
        ledger.close_round(
            written(folder / "all.jsonl", mine), number, datetime(2026, 1, 1, tzinfo=UTC)
        )
    clear(ledger, epoch)


def late_first(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    """Late events as lines with other spacing and CRLF, before the records."""
    register(ledger, epoch)
    lines = shuffled(epoch.lines, 7)
    late = [line for line in lines if is_late(line)]
    if late:
        path = written(folder / "late.jsonl", late)
        path.write_bytes(path.read_bytes().replace(b": ", b" :\t").replace(b"\n", b"\r\n"))
        ledger.import_events(path)
    records = [line for line in lines if not is_late(line)]
    ledger.import_events(written(folder / "records.jsonl", records))
    clear(ledger, epoch)


def backwards_by_validator(ledger: Ledger, epoch: Epoch, folder: Path) -> None:
    for each in reversed({each.hotkey: each for each in epoch.newcomers}.values()):
        ledger.register(each.hotkey, 60_000 + each.uid, each.types)
    register(ledger, epoch)
    for validator in ("val-3", "val-2", "val-1"):
        lines = [line for line in reversed(epoch.lines) if line["validator"] == validator]
        if lines:
            ledger.import_events(written(folder / "lines.jsonl", lines))
    clear(ledger, epoch)


TOLD = history(11, epochs=3, plain=True)
OTHERS = [one_by_one, round_by_round, late_first, backwards_by_validator]
Lived = tuple[list[str], list[str], Weights]


def lived(where: Path, name: str, told: Sequence[Epoch], fed: Feed) -> Lived:
    """The digests at the end of each epoch, the snapshots, and the weights in the end."""
    where.mkdir()
    digests = []
    with Ledger.create(str(where / "state.db"), name) as ledger:
        for epoch in told:
            fed(ledger, epoch, where)
            digests.append(digest_of(ledger))
            ledger.close_epoch()
            digests.append(digest_of(ledger))
        rounds = sorted({line["round"] for epoch in told for line in epoch.lines})
        for number in rounds:
            again = [x for e in told for x in e.lines if x["round"] == number and not is_late(x)]
            ledger.close_round(written(where / "again.jsonl", again))
        with ledger.queries() as queries:
            weights = queries.weights()
        assert digest_of(ledger) == digests[-1]
        return digests, snapshots_of(ledger), weights


@pytest.fixture(scope="module")
def lived_in_order(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Lived]:
    """What the history comes to in order, by rule set."""

    @cache
    def found(name: str) -> Lived:
        return lived(tmp_path_factory.mktemp("in_order") / name, name, TOLD, feed)

    return found


@pytest.mark.parametrize(
    ("name", "fed"),
    fast_rows([*((NAMES[1], each) for each in OTHERS), (NAMES[0], round_by_round)], 2, 3),
)
def test_order_and_batches_do_not_matter(
    name: str, fed: Feed, lived_in_order: Callable[[str], Lived], tmp_path: Path
) -> None:
    expected = lived_in_order(name)
    assert lived(tmp_path / "other", name, TOLD, fed) == expected
    digests, snapshots, weights = expected
    assert len(set(digests)) == 6
    assert len(snapshots) == 4
    assert weights.uids


@pytest.mark.parametrize(
    "change",
    fast_rows(
        [
            {"task_id": "other"},
            {"validator": "val-9"},
            {"round": 1},
            {"role": "auditor"},
            {"consensus": 0.9},
            {"events": ["rerun_pass"]},
        ],
        0,
        1,
        4,
    ),
    ids=lambda change: next(iter(change)),
)
def test_a_changed_record_gives_another_digest(change: Record, tmp_path: Path) -> None:
    def digest(name: str, line: Record) -> tuple[str, list[str]]:
        with Ledger.create(str(tmp_path / name), "skills@1.0.0") as ledger:
            ledger.register("hk-1", 1, ["executable_python"])
            ledger.import_events(written(tmp_path / "r.jsonl", [line, record("t2")]))
            before = digest_of(ledger)
            ledger.close_epoch()
            return before, snapshots_of(ledger)

    one, other = digest("a", record("t1")), digest("b", record("t1") | change)
    assert one[0] != other[0]
    assert one[1][0] == other[1][0]
    assert one[1][1] != other[1][1]
