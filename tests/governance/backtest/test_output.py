"""The folder of a back-test: what is in it, that it is whole, and that its bytes repeat."""

import hashlib
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from governance.backtest.histories import COMMAND, Records, among, backtested, network

from tallystick.io.parquet import RowGroupWriter
from tallystick_governance.backtest.report import FILES, SOMETIMES, Written
from tallystick_governance.backtest.statistics import Bootstrap

RULES = ("skills@1.0.0", "skills@1.1.0")


def whole(folder: Path, records: Records) -> Written:
    folder.mkdir()
    options = {"with_state": True, "bootstrap": Bootstrap(0), "network": network(2, 1)}
    return backtested(folder, records, *RULES, **options)[1]


def plain(folder: Path) -> None:
    backtested(folder, among(3)[:60], *RULES, weighs=False, bootstrap=Bootstrap(0))


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_same_history_gives_the_same_files_whose_digests_are_told(tmp_path: Path) -> None:
    one, other = (whole(tmp_path / name, among(5)[:90]) for name in ("one", "other"))
    assert names_in(one.folder) == FILES
    assert names_in(tmp_path / "one") == {"out", "history.jsonl"}
    for path in sorted(one.folder.iterdir()):
        data = path.read_bytes()
        assert one.digests[path.name] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    paths = {"summary.json", "report.html"}  # which have the name of the history
    assert {**one.digests, **dict.fromkeys(paths)} == {**other.digests, **dict.fromkeys(paths)}
    text = (one.folder / "summary.json").read_text(encoding="utf-8")
    summary = json.loads(text, parse_float=lambda number: pytest.fail(f"a float: {number}"))
    assert text == json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert summary["command"] == COMMAND
    assert set(summary["files"]) == FILES - {"summary.json"}


def test_many_small_parts_become_large_row_groups(tmp_path: Path) -> None:
    part = pa.table({"n": range(30_000)})
    rows = RowGroupWriter(tmp_path / "rows.parquet", part.schema)
    for _ in range(5):
        rows.append(part)
    rows.close()
    metadata = pq.read_metadata(tmp_path / "rows.parquet")
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sizes == [65536, 65536, 150_000 - 2 * 65536]


@pytest.mark.nightly
def test_an_earlier_back_test_is_replaced_and_kept_when_the_next_fails(tmp_path: Path) -> None:
    folder = tmp_path / "here"
    whole(folder, among(5)[:90])
    before = (folder / "out" / "summary.json").read_bytes()

    def fail(_: int) -> None:
        raise KeyError

    with pytest.raises(KeyError):
        backtested(folder, among(3)[:60], *RULES, progress=fail)
    assert (folder / "out" / "summary.json").read_bytes() == before
    plain(folder)
    assert names_in(folder / "out") == FILES - set(SOMETIMES)
    assert (folder / "out" / "summary.json").read_bytes() != before
    assert names_in(folder) == {"out", "history.jsonl"}
