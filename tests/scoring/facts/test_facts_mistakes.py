"""Facts files and folders that cannot be trusted: one line that names the file, and status 2."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cli.command import message_of, run
from examples import fast_rows
from generators import SKILL_TYPES, lines
from memory import peak

import tallystick
from tallystick.errors import InputError
from tallystick.plugins.registry import installed
from tallystick.scoring.facts.catalog import catalog_of, definitions_digest
from tallystick.scoring.facts.file import KEY, facts_metadata, sealed
from tallystick.scoring.facts.run import extract_file
from tallystick.scoring.facts.source import FactsSource

RULES = ("--rules", "skills@1.0.0")
SKILLS = [name for name in SKILL_TYPES if name != "workflow"]


def plain(seed: int, count: int, types: list[str] = SKILLS) -> list[bytes]:
    return list(lines(seed, count, types))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """The bytes of the same records in each form."""
    place, records = tmp_path_factory.mktemp("made"), plain(2, 60)
    source, facts = place / "records.jsonl", place / "facts.parquet"
    source.write_bytes(b"".join(records))
    extract_file(source, facts, installed(), chunk=16)
    return {"lines": source.read_bytes(), "facts": facts.read_bytes()}


@pytest.fixture
def facts(made: dict[str, bytes], tmp_path: Path) -> Path:
    path = tmp_path / "facts.parquet"
    path.write_bytes(made["facts"])
    return path


def _rewritten(
    path: Path,
    change: Callable[[dict[str, Any]], object] = id,
    columns: Callable[[pa.Table], pa.Table] = lambda table: table,
) -> None:
    """Write facts again with other columns, or under another description that is sealed."""
    with pq.ParquetFile(path) as parquet:
        said = json.loads(parquet.metadata.metadata[KEY])
        groups = [columns(parquet.read_row_group(g)) for g in range(parquet.num_row_groups)]
    said.pop("checksum")
    change(said)
    with pq.ParquetWriter(path, groups[0].schema) as writer:
        for group in groups:
            writer.write_table(group)
        writer.add_key_value_metadata({KEY.decode(): sealed(said)})


def test_a_description_that_is_nested_without_an_end_is_told(facts: Path) -> None:
    rows = pq.read_table(facts)
    with pq.ParquetWriter(facts, rows.schema) as writer:
        writer.write_table(rows)
        writer.add_key_value_metadata({KEY.decode(): "[" * 100_000})
    with pytest.raises(InputError, match="whose parts contradict each other"):
        facts_metadata(facts)


OF, OWN = "facts of mcp_server", "mcp_server"


def _other_requirements(said: dict[str, Any]) -> None:
    _redefined(said["types"][OWN], {})


def _fewer_facts(said: dict[str, Any]) -> None:
    made = said["types"][OWN]
    made["facts"].remove(next(d for d, f in said["facts"].items() if f["text"] == "verdict"))
    _redefined(made, made["requirements"])


def _redefined(made: dict[str, Any], requirements: dict[str, str]) -> None:
    made |= {"requirements": requirements}
    made["definitions"] = definitions_digest(made["facts"], requirements)


def _other_type(said: dict[str, Any]) -> None:
    said["groups"] = [[n, "poetry" if name == OWN else name, r] for n, name, r in said["groups"]]
    said["types"]["poetry"] = said["types"].pop(OWN)


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "schema": (lambda s: s["types"][OWN].update(schema="sha256:1"), "record schema sha256:1"),
    "definitions": (
        lambda s: s["types"][OWN].update(definitions="sha256:1"),
        f"{OF} made with the definitions sha256:1",
    ),
    "requirements": (_other_requirements, f"{OF} made with the definitions"),
    "fewer facts": (_fewer_facts, f"{OF} without verdict"),
    "newer": (lambda s: s.update(format=2), "a facts file of format 2, expected 1"),
    "no chunk": (lambda s: s.update(chunk=0), "contradict"),
    "chunk left out": (lambda s: s.pop("chunk"), "contradict"),
    "chunk of text": (lambda s: s.update(chunk="16"), "contradict"),
    "chunk below 0": (lambda s: s.update(chunk=-16), "contradict"),
    "larger chunk": (lambda s: s.update(chunk=1 << 20), "contradict"),
    "fewer lines": (lambda s: s.update(lines=20), "contradict"),
    "other records": (lambda s: s.update(records=61), "contradict"),
    "types of nothing": (lambda s: s.update(types=[]), "contradict"),
    "no types": (lambda s: s["types"].clear(), "contradict"),
    "half a type": (lambda s: s["types"]["mcp_server"].pop("requirements"), "contradict"),
    "fewer groups": (lambda s: s["groups"].pop(), "contradict"),
    "groups turned": (lambda s: s["groups"].reverse(), "contradict"),
    "groups of two": (lambda s: s["groups"].__setitem__(0, [0, "mcp_server"]), "contradict"),
}


@pytest.mark.parametrize(
    ("command", "case"),
    fast_rows([*(("score", case) for case in WRONG), ("backtest", "schema")], 0, 2, 3, 10, 18),
)
def test_a_description_that_is_not_of_these_facts_is_refused(
    facts: Path, tmp_path: Path, command: str, case: str
) -> None:
    change, message = WRONG[case]
    _rewritten(facts, change)
    more = ("--rules", "skills@1.1.0") if command == "backtest" else ()
    said = message_of(run(command, facts, *RULES, *more, "-o", tmp_path / "out.jsonl"))
    assert said.startswith(f"{facts}: ")
    assert message in said
    assert list(tmp_path.iterdir()) == [facts]


def test_facts_of_a_type_that_is_wanted_and_not_installed_are_refused(facts: Path) -> None:
    _rewritten(facts, _other_type)
    catalogs = catalog_of(installed())
    for wanted, refused in (({}, False), ({"poetry": ()}, True)):
        with pytest.raises(InputError, match="'poetry'") if refused else nullcontext():
            assert [chunk.facts(catalogs, wanted) for chunk in FactsSource(facts)]


def _as_text(table: pa.Table) -> pa.Table:
    place = table.schema.get_field_index("epoch")
    return table.set_column(place, "epoch", table["epoch"].cast(pa.string()))


def _as_double(table: pa.Table) -> pa.Table:
    for place, name in enumerate(table.column_names):
        if name.startswith("fact_"):
            table = table.set_column(place, name, table[name].cast(pa.float64(), safe=False))
    return table


@pytest.mark.parametrize("change", fast_rows([_as_text, _as_double], 0))
def test_columns_of_another_kind_are_refused(
    facts: Path, tmp_path: Path, change: Callable[[pa.Table], pa.Table]
) -> None:
    _rewritten(facts, columns=change)
    said = message_of(run("score", facts, *RULES, "-o", tmp_path / "out.jsonl"))
    assert said.startswith(f"{facts}: the file cannot be read as Parquet (found ")


def test_columns_that_are_missing_are_refused(facts: Path, tmp_path: Path) -> None:
    _rewritten(facts, columns=lambda table: table.drop_columns(["epoch"]))
    said = message_of(run("score", facts, *RULES, "-o", tmp_path / "out.jsonl"))
    assert said.startswith(f"{facts}: ")
    assert "epoch" in said


def _places(data: bytes, pages: int) -> list[int]:
    """Of the pages so many, of the footer twice as many, and of the description some."""
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    chosen = [*range(4), *range(4, footer, max(1, footer // pages))]
    chosen += range(footer, len(data) - 8, max(1, (len(data) - footer) // (2 * pages)))
    start = data.index(b'{"checksum":')
    chosen += range(start, start + 60, 5)
    for name in (b'"chunk":16', b'"lines":60', b'"records":60', b'"groups":[['):
        chosen.append(data.index(name) + len(name) - 1)
    return [*chosen, *range(len(data) - 8, len(data))]


@pytest.mark.parametrize(
    ("mask", "pages"), [pytest.param(1, 30, marks=pytest.mark.nightly), (0x55, 4)]
)
def test_a_byte_that_was_changed_is_told_with_the_file(
    made: dict[str, bytes],
    scorers: dict[str, tallystick.Scorer],
    tmp_path: Path,
    mask: int,
    pages: int,
) -> None:
    source, output, whole = tmp_path / "facts.parquet", tmp_path / "out.jsonl", made["facts"]
    told = 0
    source.write_bytes(whole)
    scorers["skills@1.0.0"].score_file(source, output)
    expected = output.read_bytes()
    for place in _places(whole, pages):
        source.write_bytes(whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :])
        said = _said(scorers["skills@1.0.0"], source, output)
        told += bool(said)
        if said:
            assert said.startswith(f"{source}: ")
            assert "\n" not in said
        else:
            assert (place, output.read_bytes()) == (place, expected)
    assert told > pages


def _said(scorer: tallystick.Scorer, source: Path, output: Path) -> str:
    """Why a file was refused, or nothing."""
    try:
        scorer.score_file(source, output)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("command", "size"),
    [
        *(("score", size) for size in (0, 4, 8, 1000, -9)),
        ("facts", -1),
        ("backtest", -1),
    ],
)
def test_a_file_that_was_cut_is_refused(
    made: dict[str, bytes], tmp_path: Path, command: str, size: int
) -> None:
    source = tmp_path / "history.parquet"
    source.write_bytes(made["facts"][:size])
    rules = () if command == "facts" else RULES
    more = ("--rules", "skills@1.1.0") if command == "backtest" else ()
    said = message_of(run(command, source, *rules, *more, "-o", tmp_path / "out.parquet"))
    assert said.startswith(f"{source}: the file cannot be read as Parquet")
    assert list(tmp_path.iterdir()) == [source]


@pytest.mark.nightly
def test_a_million_records_stay_below_a_gigabyte(tmp_path: Path) -> None:
    source, output = tmp_path / "records.jsonl", tmp_path / "facts.parquet"
    block = b"".join(lines(31, 2000, SKILLS))
    with source.open("wb") as file:
        for _ in range(500):
            file.write(block)
    assert peak("facts", source, "-o", output) < 1_000_000_000
    source.unlink()
    for name in ("out.parquet", "out.csv"):
        assert peak("score", output, *RULES, "-o", tmp_path / name) < 1_000_000_000
        (tmp_path / name).unlink()
    more = ("--rules", "skills@1.1.0", "-o", tmp_path / "out")
    assert peak("backtest", output, *RULES, *more) < 1_000_000_000
