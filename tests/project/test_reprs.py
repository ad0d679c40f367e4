"""The `repr` of every public value is a line that somebody can read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from examples import fast_rows

import tallystick
from tallystick.cli.main import cli

LONGEST = 1000
"""Letters: a result with six axes has some 700."""
MINERS = 200


def _made(folder: Path, *options: str) -> Path:
    path = folder / f"{options[0]}.jsonl"
    arguments = ["--seed", "7", "--miners", str(MINERS), "--epochs", "1", "--rounds", "1"]
    listed = ["--miner-list", str(folder / "miners.csv")]
    words = ["records", "generate", "--types", *options, *arguments, *listed, "-o", str(path)]
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 0, done.output
    return path


def _of_scoring(folder: Path) -> Iterator[object]:
    path = _made(folder, "workflow", "--count", "600")
    scorer = tallystick.load("workflow@1.1.0")
    yield from (scorer, scorer.loaded, scorer.rule_set, scorer.registry, scorer.types["workflow"])
    lines = path.read_bytes().splitlines()
    yield from (scorer.score(lines[0]), scorer.explain(lines[0]), scorer.score_lines(lines))
    yield next(scorer.score_many(["{}"]))
    yield scorer.score_file(path, folder / "results.jsonl")
    allocation = tallystick.allocate(scorer, folder / "results.jsonl")
    yield from (allocation, allocation.bound)
    yield from (allocation.step_input, allocation.step_input.population)
    yield from scorer.registry.plugins.values()


def _of_a_state(folder: Path) -> Iterator[object]:
    path = _made(folder, "executable_python", "--count", "1200")
    lines = [*path.read_bytes().splitlines(), b"{}"]
    with tallystick.Ledger.create(folder / "state.db", "skills@1.1.0") as ledger:
        yield from (ledger, ledger.store, ledger.sync_miners(folder / "miners.csv"))
        rounds, found = ledger.close_round(lines, bad="reject")
        yield from (*rounds, found, found.results[0], ledger.close_epoch())
        yield from (ledger.select_group("executable_python", 1, "seed"), ledger.scorer)
        yield from (ledger.adopt("skills@1.2.0", 3), ledger.in_force, ledger.rules)
        with ledger.scoring() as scorer, ledger.queries() as queries:
            miner = queries.miners()[0]
            yield from (scorer, queries, queries.transaction, queries.head, queries.state)
            yield from (queries.info(), queries.epoch(0), queries.epoch(1), queries.round(0))
            yield from (queries.weights(), queries.line_weights("skills"), queries.rules)
            yield from (miner, queries.profile(miner.hotkey), queries.board("executable_python")[0])
            yield queries.in_force.lines["skills"]


@pytest.mark.parametrize("values", fast_rows([_of_scoring, _of_a_state], 0))
def test_a_repr_is_a_line(values: Callable[[Path], Iterator[object]], tmp_path: Path) -> None:
    for value in values(tmp_path):
        text = repr(value)
        assert len(text) < LONGEST, (type(value), len(text), text[:200])
        assert "\n" not in text


def test_a_scorer_says_what_it_is(tmp_path: Path) -> None:
    scorer = tallystick.load("skills@1.1.0")
    assert repr(scorer) == f"<Scorer of skills@1.1.0, {scorer.digest}>"
    with tallystick.Ledger.create(tmp_path / "new\nline.db", "skills@1.1.0") as ledger:
        assert repr(ledger) == f"<Ledger {str(tmp_path / 'new')!r}"[:-1] + "\\nline.db' of skills>"
        with ledger.queries() as queries:
            shown = "epoch=0, miners=<0 miners>, thresholds=<6 skill types>, carry=<0 lines>"
            assert repr(queries.state) == f"State({shown})"


def test_the_repr_of_a_store_shows_no_password() -> None:
    from tallystick_state.store.connection import connecting  # beside its store
    from tallystick_state.store.store import Store

    store = Store(*connecting("postgresql://u:S3cret@host/db", create=False))
    assert "S3cret" not in repr(store)
    assert "host/db" in repr(store)
