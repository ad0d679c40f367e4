"""The facts file: the same bytes however it was made, and refused when it cannot be trusted."""

import functools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from examples import examples
from generators import lines
from hypothesis import given
from hypothesis import strategies as st

import tallystick
from tallystick.plugins.registry import installed
from tallystick.resources import folder
from tallystick.scoring.facts import results
from tallystick.scoring.facts.batch import FactBatch
from tallystick.scoring.facts.catalog import FactCatalog, catalog_of
from tallystick.scoring.facts.extraction import Extractor
from tallystick.scoring.facts.file import (
    KEY,
    FactsWriter,
    facts_metadata,
)
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.facts.source import FactsSource

CATALOGUES = catalog_of(installed())
EVERY = {name: frozenset(catalog.by_digest) for name, catalog in CATALOGUES.items()}
CHUNK = 64
_CACHE: dict[str, Any] = {}


def records() -> list[bytes]:
    """Records of every type, with a few bad lines."""
    if "records" not in _CACHE:
        found = [line.rstrip(b"\n") for line in lines(4, 400)]
        found[63:65] = [b"{}", b"[]"]
        _CACHE["records"] = found
        _CACHE["extractor"] = Extractor(CATALOGUES.values())
    return list(_CACHE["records"])


def extracted(data: list[bytes], first: int = 1) -> FactBatch:
    records()
    found: FactBatch = _CACHE["extractor"].facts(data, first)
    return found


def read(
    path: Path,
    wanted: Mapping[str, Collection[str]] = EVERY,
    catalogs: Mapping[str, FactCatalog] = CATALOGUES,
    coded: Sequence[str] = (),
) -> Iterator[FactBatch]:
    return (chunk.facts(catalogs, wanted, coded) for chunk in FactsSource(path))


def written(cuts: list[int], chunk: int = CHUNK, count: int | None = None) -> bytes:
    """The file when facts were taken of batches that end at some lines, of all or the first."""
    data = records()[:count]
    sink = pa.BufferOutputStream()
    writer = FactsWriter(sink, CATALOGUES, chunk)
    ends = sorted({cut for cut in cuts if cut < len(data)} | {len(data)})
    start = 0
    for end in ends:
        if end > start:
            writer.append(extracted(data[start:end], start + 1))
            start = end
    writer.close()
    return bytes(sink.getvalue())


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.parquet"
    path.write_bytes(whole())
    return path


@functools.cache
def whole() -> bytes:
    """The file when facts were taken of all records at once."""
    return written([])


@examples(9)
@given(st.lists(st.integers(1, 399), max_size=12))
def test_the_bytes_do_not_depend_on_how_the_records_were_split(cuts: list[int]) -> None:
    assert written(cuts) == whole()


def test_what_is_read_is_what_was_taken(facts: Path) -> None:
    data, start = records(), 0
    for batch in read(facts):
        taken = extracted(data[start : start + CHUNK], start + 1)
        assert (batch.first, batch.lines) == (taken.first, taken.lines)
        assert list(batch.types) == sorted(taken.types)
        for name, rows in batch.types.items():
            for field in attrs.fields(type(rows)):
                ours, theirs = getattr(rows, field.name), getattr(taken.types[name], field.name)
                assert _same(ours, theirs), field.name
        start += CHUNK
    assert start >= len(data)


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401  # any part of the facts
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one.equals(other)) if isinstance(one, pa.Array) else bool(one == other)


def test_row_groups_are_of_one_type_in_name_order(facts: Path) -> None:
    groups = facts_metadata(facts).groups
    assert [(chunk, name) for chunk, name, _ in groups] == sorted({g[:2] for g in groups})
    with pq.ParquetFile(facts) as parquet:
        for position, (_, name, rows) in enumerate(groups):
            found = parquet.read_row_group(position, columns=["skill_type"])["skill_type"]
            assert found.to_pylist() == [name] * rows


@pytest.mark.nightly
def test_texts_are_read_as_dictionaries_where_that_is_asked_for(facts: Path) -> None:
    plain, coded = (
        [rows for batch in read(facts, coded=names) for rows in batch.types.values()]
        for names in ((), ("miner_hotkey", "role"))
    )
    assert coded
    for one, other in zip(plain, coded, strict=True):
        for name in ("miner_hotkey", "role"):
            found = getattr(other, name)
            assert isinstance(found, pa.DictionaryArray)
            assert found.dictionary_decode().equals(getattr(one, name))
        assert other.task_id.equals(one.task_id)


def test_only_what_is_wanted_is_read(facts: Path, scorers: dict[str, tallystick.Scorer]) -> None:
    wanted = results.wanted_by(scorers["workflow@1.0.0"])
    for batch in read(facts, wanted):
        for name, rows in batch.types.items():
            assert set(rows.facts) == set(wanted.get(name, ()))


def test_what_the_file_says_of_itself(facts: Path) -> None:
    said = facts_metadata(facts)
    assert (said.lines, said.records, said.chunk) == (400, 398, CHUNK)
    stored = json.loads(pq.read_metadata(facts).metadata[KEY])
    assert {f["text"] for f in stored["facts"].values()} >= {"verdict", "max_budget_tao"}


def test_facts_of_a_type_whose_plugin_nobody_names_are_read_past(facts: Path) -> None:
    skills = tallystick.load("skills@1.1.0")
    assert "workflow" not in skills.registry.skill_types
    read_past = read(facts, results.wanted_by(skills), catalog_of(skills.registry))
    rows = {name: len(r) for batch in read_past for name, r in batch.types.items()}
    assert rows["workflow"]


def test_a_run_writes_facts_rejects_and_a_receipt(tmp_path: Path) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    source.write_bytes(b"\n".join(records()) + b"\n")
    receipt = extract_file(source, output, installed(), chunk=CHUNK)
    plain = json.loads((tmp_path / "facts.parquet.receipt.json").read_text("utf-8"))
    assert plain == json.loads(receipt.to_json())
    schema = json.loads((folder("schemas") / "facts-receipt-1.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(plain)
    rejects = (tmp_path / "facts.parquet.rejects.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(reject)["line"] for reject in rejects] == [64, 65]
    counts = receipt.counts
    assert counts.records == counts.answered + counts.missed + counts.rejected == 400
    assert facts_metadata(output).input_digest == receipt.input_digest
    again = extract_file(source, tmp_path / "again.parquet", installed(), chunk=CHUNK)
    assert again.output_digest == receipt.output_digest
