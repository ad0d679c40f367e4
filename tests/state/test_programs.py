"""A program feeds a state what it has at hand: mappings, lines, open files."""

import json
from pathlib import Path
from typing import Any

import pytest
from state.subnet import event, record, written

from tallystick.errors import InputError, RefusedError
from tallystick_state.ingest import Ingested
from tallystick_state.ledger import Ledger


def test_mappings_and_lines_come_to_what_a_file_does(tmp_path: Path) -> None:
    """Records and late events, of a program as of a file."""
    given = [record("t1"), event("e1", "rerun_fail", "t1"), record("t2", consensus=0.5)]
    digests = set[str]()
    sources: list[Any] = [
        written(tmp_path / "lines.jsonl", given),
        str(tmp_path / "lines.jsonl"),
        given,
        (dict(each) for each in given),
        [json.dumps(each) for each in given],
        (tmp_path / "lines.jsonl").open("rb"),
    ]
    for number, source in enumerate(sources):
        ledger = Ledger.create(tmp_path / f"{number}.db", "skills@1.0.0")
        ledger.register("hk-1", 1, ["executable_python"])
        assert ledger.import_events(source) == Ingested(3, 0)
        assert ledger.import_events(given) == Ingested(0, 3)
        with ledger.queries() as queries:
            digests.add(queries.digest())
    sources[-1].close()
    assert len(digests) == 1


def test_a_round_of_mappings_is_closed(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "s.db", "skills@1.0.0")
    ledger.register("hk-1", 1, ["executable_python"])
    (closed,), found = ledger.close_round(record(f"t{n}", round=7) for n in range(3))
    assert (closed.round, list(closed.scores), found) == (7, ["hk-1"], Ingested(3, 0))
    with pytest.raises(RefusedError, match="records:2: unknown-miner"):
        ledger.import_events([record("new"), record("t1", "nobody", round=7)])
    with pytest.raises(InputError, match="found no records, expected at least one"):
        ledger.close_round([])


@pytest.mark.parametrize("source", [None, 5, {"task_id": "one record"}, b"records.jsonl"])
def test_what_holds_no_records_is_told(tmp_path: Path, source: Any) -> None:  # noqa: ANN401  # wrong
    ledger = Ledger.create(tmp_path / "s.db", "skills@1.0.0")
    for take in (ledger.import_events, ledger.close_round, ledger.sync_miners):
        with pytest.raises(InputError, match=r"expected a file of .*, or an iterable"):
            take(source)
