"""Headers of Parquet files: those of the usual form are read as all others are."""

import random
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tallystick.io.pages import footer_of, usual_column, usual_page
from tallystick.io.thrift import CompactReader, Struct, UsualForm

ROWS = 70_000
OPTIONS = {"write_statistics": False, "write_page_checksum": True}


@pytest.fixture(scope="module")
def file() -> bytes:
    """A file with columns of each kind that facts files have."""
    numbers = np.arange(ROWS)
    table = pa.table(
        {
            "record": numbers,
            "few": numbers % 7,
            "absent": pa.nulls(ROWS, pa.int64()),
            "answered": numbers % 3 == 0,
            "task": pa.array(f"task {number}" for number in range(ROWS)),
            "role": pa.array(["primary", "auditor"] * (ROWS // 2)),
            "events": pa.array([["a", "b"], [], None, ["b"]] * (ROWS // 4)),
        }
    )
    out = BytesIO()
    plain = ["few", "absent", "answered", "role", "events.list.element"]
    pq.write_table(table, out, row_group_size=30_000, use_dictionary=plain, **OPTIONS)
    return out.getvalue()


def usual_structs(data: bytes, form: UsualForm) -> Iterator[tuple[int, Struct, int]]:
    """The place, the fields and the end of each struct of a form in some bytes."""
    for place in range(len(data)):
        match = form(data, place)
        if match is not None:
            yield place, *match


def agrees(part: Struct, whole: Struct) -> bool:
    """Whether a struct has the fields of another, and the same in each."""
    return all(
        agrees(value, whole[key]) if isinstance(value, dict) else value == whole[key]
        for key, value in part.items()
    )


def read_by_fields(data: bytes, place: int) -> tuple[Struct, int]:
    reader = CompactReader(data[place:])
    fields = reader.struct()
    return fields, place + reader.place


@pytest.mark.parametrize("form", [usual_column, usual_page])
def test_a_struct_of_the_usual_form_is_read_as_field_by_field(file: bytes, form: UsualForm) -> None:
    rng, count = random.Random(7), 0
    structs = [*usual_structs(file, form)]
    assert len(structs) >= 3 * 7
    for place, _, end in structs:
        for _ in range(60):
            data = bytearray(file[place : end + 16])
            for _ in range(rng.randrange(3)):
                data[rng.randrange(end - place)] = rng.choice((0, 1, 21, 127, 128, 255))
            match = form(bytes(data), 0)
            if match is not None:
                fields, stop = read_by_fields(bytes(data), 0)
                assert stop == match[1]
                assert agrees(match[0], fields)
                count += 1
    assert count > 30 * len(structs)


def test_all_headers_that_are_written_here_have_the_usual_form(file: bytes) -> None:
    footer = footer_of(Path("facts.parquet"), BytesIO(file))
    columns = [*usual_structs(footer.data, usual_column)]
    assert len(columns) == footer.metadata.num_row_groups * footer.metadata.num_columns
    assert [entry for group in footer.columns for entry in group] == [
        next(iter(fields.values())) for _, fields, _ in columns
    ]
