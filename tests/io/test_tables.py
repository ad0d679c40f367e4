import copy
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records.making import SCHEMAS, make

from tallystick.io.tables import rows
from tallystick.records.decoding import Decoder

DECODER = Decoder(SCHEMAS)


def test_nulls_are_dropped_at_every_level_and_list_items_kept() -> None:
    inner = pa.struct({"c": "int32", "d": pa.list_(pa.int64())})
    table = pa.table(
        {
            "a": pa.array([1, None]),
            "b": pa.array([{"c": None, "d": [None, 2]}, None], inner),
            "m": pa.array([[("x", 1), ("y", None)], None], pa.map_("string", "int64")),
            "l": pa.array([[{"e": None}], []], pa.large_list(pa.struct({"e": "string"}))),
        }
    )
    assert list(rows(table)) == [
        {"a": 1, "b": {"d": [None, 2]}, "m": {"x": 1}, "l": [{}]},
        {"l": []},
    ]


def test_maps_inside_of_lists_and_structs_become_dicts() -> None:
    kind = pa.list_(pa.struct({"m": pa.map_("string", pa.map_("string", "int64"))}))
    batch = pa.record_batch({"v": pa.array([[{"m": [("a", [("b", 1)])]}]], kind)})
    assert list(rows(batch)) == [{"v": [{"m": {"a": {"b": 1}}}]}]


def test_rows_come_in_order_whatever_the_chunks() -> None:
    chunks = pa.chunked_array([list(range(700)), [], list(range(700, 3000))])
    assert [row["n"] for row in rows(pa.table({"n": chunks}))] == list(range(3000))


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_parquet_holds_the_same_records_as_json(skill_type: str, tmp_path: Path) -> None:
    # the columns are those of the first record
    records = [make(skill_type, seed) | {"consensus": 0.5, "events": []} for seed in range(40)]
    columns, schema = (records, None) if skill_type != "workflow" else workflow_columns(records)
    pq.write_table(pa.Table.from_pylist(columns, schema=schema), tmp_path / "r.parquet")
    read = list(rows(pq.read_table(tmp_path / "r.parquet")))
    for number, (record, row) in enumerate(zip(records, read, strict=True)):
        line = json.dumps(record).encode()
        assert DECODER.convert(row, number) == DECODER.decode(line, number)


def workflow_columns(records: list[dict]) -> tuple[list[dict], pa.Schema]:
    """The records with maps as pairs, which is how Arrow takes them, and what the maps are."""
    columns = []
    for record in records:
        record["checks"]["actual_retries"] = {"A": 3}
        column = copy.deepcopy(record)
        column["checks"]["actual_retries"] = [("A", 3)]
        handling = column["submission"].get("error_handling", {})
        column["submission"]["error_handling"] = list(handling.items())
        columns.append(column)
    inferred = pa.Table.from_pylist(records).schema
    checks = {field.name: field.type for field in inferred.field("checks").type}
    handling = pa.map_("string", pa.struct({"retry_count": "int64"}))
    kinds = {
        "checks": pa.struct({**checks, "actual_retries": pa.map_("string", "int64")}),
        "submission": pa.struct({"error_handling": handling}),
    }
    return columns, pa.schema([(f.name, kinds.get(f.name, f.type)) for f in inferred])


def test_a_column_of_no_json_type_is_rejected_not_raised() -> None:
    table = pa.table({"skill_type": ["workflow"], "round": pa.array([1], pa.timestamp("s"))})
    (row,) = rows(table)
    found = DECODER.convert(row, 1)
    assert (found.code, found.path) == ("wrong-type", "round")
