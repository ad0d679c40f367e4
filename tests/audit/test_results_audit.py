"""An audit finds what was planted in published results, and nothing else."""

import json
import os
import struct
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import attrs
import pytest
from cli.command import run
from examples import fast_rows
from generators import SKILL_TYPES, record
from records.making import spoil

import tallystick
from tallystick.errors import InputError
from tallystick_state.audit.published import ColumnMapping, read_mapping
from tallystick_state.audit.results_audit import (
    CODES,
    Finding,
    ResultsAudit,
    audit_results,
)

Json = Any
RULES = "skills@1.1.0"
ONE_NANO = Fraction(1, 10**9)


@pytest.fixture(scope="module")
def scorer() -> tallystick.Scorer:
    return tallystick.load(RULES)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred records of every type, a tenth of them with a defect, and a line that is none."""
    random, path = Random(5), tmp_path_factory.mktemp("records") / "records.jsonl"
    made = [record(random, random.choice(SKILL_TYPES)) for _ in range(200)]
    made[::10] = [spoil(each, n) for n, each in enumerate(made[::10])]
    lines = [json.dumps(each | {"task_id": f"t-{n}"}) for n, each in enumerate(made)]
    path.write_text("\n".join([*lines[:100], "{}", *lines[100:]]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def originals(
    scorer: tallystick.Scorer, records: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """The results of the records, by format."""
    folder = tmp_path_factory.mktemp("results")
    for name in ("jsonl", "csv", "parquet"):
        scorer.score_file(records, folder / f"results.{name}")
    return {name: folder / f"results.{name}" for name in ("jsonl", "csv", "parquet")}


@pytest.fixture
def rows(originals: dict[str, Path]) -> list[Json]:
    """The rows of results, to be published otherwise."""
    text = originals["jsonl"].read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@attrs.frozen
class Audit:
    """Audits what is published, and keeps every finding."""

    scorer: tallystick.Scorer
    records: Path
    folder: Path

    def of(self, published: Path, **options: Any) -> tuple[ResultsAudit, list[Finding]]:  # noqa: ANN401
        told: list[Finding] = []
        found = audit_results(self.scorer, self.records, published, tell=told.append, **options)
        return found, told

    def rows(self, rows: list[Json], **options: Any) -> tuple[ResultsAudit, list[Finding]]:  # noqa: ANN401
        path = self.folder / "published.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return self.of(path, **options)


@pytest.fixture
def audit(scorer: tallystick.Scorer, records: Path, tmp_path: Path) -> Audit:
    return Audit(scorer, records, tmp_path)


def scored(rows: list[Json], least: int = 0) -> Json:
    """A row with a quality and an emission, behind some others."""
    return next(r for r in rows[least:] if r["emission"] not in (None, "0.000000000"))


def plus(text: str, nano: int = 1) -> str:
    """A published value with another last digit."""
    return f"{Decimal(text) + nano * Decimal('1e-9'):f}"


@pytest.mark.parametrize("name", ["jsonl", "csv", "parquet"])
def test_what_was_scored_here_is_equal(
    audit: Audit, originals: dict[str, Path], rows: list[Json], name: str
) -> None:
    found, told = audit.of(originals[name])
    assert (found.verdict, found.first, found.explanation, told) == ("equal", None, None, [])
    assert (found.records, found.rows, found.equal) == (201, len(rows), len(rows))
    assert found.rejected == 201 - len(rows) > 10
    assert {"quality", "emission", "tier", "skill_type"} <= set(found.fields)
    assert found.receipt == {"rule_set": True, "input": True, "output": True}
    assert (found.rule_set, found.digest) == (RULES, audit.scorer.digest)


@pytest.mark.parametrize(("name", "above"), [("jsonl", 0), ("csv", 1)])
def test_one_wrong_digit_is_found_and_explained(
    audit: Audit, originals: dict[str, Path], rows: list[Json], name: str, above: int
) -> None:
    line = rows.index(scored(rows, 60))
    written = plus(rows[line]["quality"])
    lines = originals[name].read_text(encoding="utf-8").splitlines(keepends=True)
    lines[line + above] = lines[line + above].replace(rows[line]["quality"], written, 1)
    out = audit.folder / f"published.{name}"
    out.write_text("".join(lines), encoding="utf-8")
    found, told = audit.of(out)
    row = rows[line]
    expected = Finding(
        "other-value", row["record"], told[0].line, "quality", written, row["quality"], ONE_NANO
    )
    assert told == [expected]
    assert told[0].line == line + above + 1
    assert (found.verdict, found.first, found.largest) == ("differs", expected, ONE_NANO)
    assert found.differ == {"other-value": 1}
    assert found.equal == len(rows) - 1
    assert found.explanation is not None
    assert f"{found.explanation.result.quality:f}" == row["quality"]
    assert found.explanation.result.record == row["record"]
    assert found.receipt is None


def test_a_wrong_digit_in_any_field_is_found(audit: Audit, rows: list[Json]) -> None:
    """Each field is spoiled in a row of its own."""
    planted, spoiled = [], set[str]()
    for row in rows:
        fields = {name: row for name in row if name not in ("record", "axes")}
        fields |= {f"axes.{name}": row["axes"] for name in row["axes"]}
        for path, inner in fields.items():
            name = path.removeprefix("axes.")
            if path not in spoiled and inner[name] is not None:
                value = inner[name]
                inner[name] = value + 1 if isinstance(value, int) else f"{value}1"
                planted.append((row["record"], path))
                spoiled.add(path)
                break
    found, told = audit.rows(rows)
    assert [(each.record, each.field) for each in told] == planted
    assert found.differ == {"other-value": len(planted)}
    assert spoiled >= {"miner_uid", "role", "tier", "base_weight", "consensus", "axes.policy"}


def test_a_value_where_there_is_none_is_found_and_the_other_way(
    audit: Audit, rows: list[Json]
) -> None:
    row = scored(rows)
    row |= {"tier": None, "quality": None, "axes": {**row["axes"], "made-up": "0.100000000"}}
    _, told = audit.rows(rows)
    assert {(each.field, each.found is None, each.derived is None) for each in told} == {
        ("tier", True, False),
        ("quality", True, False),
        ("axes.made-up", False, True),
    }
    assert {each.distance for each in told} == {None}


def test_other_spellings_of_a_number_are_the_number(audit: Audit, rows: list[Json]) -> None:
    row = scored(rows)
    spelled = {"quality": f"+{row['quality']}000", "emission": f"{Decimal(row['emission']):E}"}
    found, _ = audit.rows([each | spelled if each is row else each for each in rows])
    assert found.verdict == "equal"
    path = audit.folder / "numbers.jsonl"
    path.write_text(
        "".join(json.dumps(each) + "\n" for each in rows).replace(
            f'"quality": "{row["quality"]}"', f'"quality": {row["quality"]}'
        ),
        encoding="utf-8",
    )
    assert path.read_text() != "".join(json.dumps(each) + "\n" for each in rows)
    assert audit.of(path)[0].verdict == "equal"


@pytest.mark.parametrize("place", [0, 7])
def test_a_value_that_one_line_leaves_out_is_compared_in_all(
    audit: Audit, rows: list[Json], place: int
) -> None:
    row = scored(rows, place)
    left = [{k: v for k, v in each.items() if k != "emission"} for each in rows[: rows.index(row)]]
    found, _ = audit.rows([*left, row | {"emission": plus(row["emission"])}])
    assert (found.verdict, "emission" in found.fields) == ("differs", True)


def test_a_pipe_is_no_results_without_a_mapping(audit: Audit, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    writer = Thread(target=pipe.write_bytes, args=(b'{"record": 1, "quality": "1"}\n',))
    writer.start()
    with pytest.raises(InputError, match="found a pipe, expected a file"):
        audit.of(pipe)
    writer.join()


@pytest.mark.parametrize(
    "value",
    fast_rows(
        ["0x1", "1_0", "１", " 1", "", "1e99999", "NaN", "Infinity", "1" * 900, True, [1], {}],
        0,
        4,
        6,
    ),
)
def test_what_is_no_number_is_another_value_whatever_the_tolerance(
    audit: Audit, rows: list[Json], value: Json
) -> None:
    row = scored(rows)
    changed = [each | {"quality": value} if each is row else each for each in rows]
    found, told = audit.rows(changed, tolerance=Fraction(10**6))
    assert found.verdict == "differs"
    assert (told[0].field, told[0].distance) == ("quality", None)


def test_rows_that_are_missing_extra_twice_or_of_rejects_are_told(
    audit: Audit, rows: list[Json]
) -> None:
    rejected = next(n for n in range(50, 202) if n not in {row["record"] for row in rows})
    place = next(n for n, row in enumerate(rows) if row["record"] > rejected)
    wrong = [
        *rows[:3],
        rows[2],
        *rows[4:place],
        rows[place] | {"record": rejected},
        *rows[place:],
        rows[-1],
        rows[-1] | {"record": 900},
    ]
    found, told = audit.rows(wrong)
    assert [(each.code, each.record) for each in told] == [
        ("missing-row", rows[3]["record"]),
        ("rejected-here", rejected),
        ("duplicate-row", rows[2]["record"]),
        ("duplicate-row", rows[-1]["record"]),
        ("extra-row", 900),
    ]
    codes = {"duplicate-row": 2, "missing-row": 1, "rejected-here": 1, "extra-row": 1}
    assert found.differ == codes
    assert set(codes) | {"other-value"} == set(CODES)
    assert found.first == told[0]
    assert (told[1].derived or "").startswith("rejected: ")


def in_floats(rows: list[Json], digits: Callable[[str], float]) -> list[Json]:
    names = ("quality", "emission")
    return [{**row, **{n: digits(row[n]) for n in names if row[n] is not None}} for row in rows]


@pytest.mark.nightly
def test_floats_pass_a_tolerance_and_are_never_called_equal(audit: Audit, rows: list[Json]) -> None:
    def single(text: str) -> float:
        return float(struct.unpack("f", struct.pack("f", float(text)))[0])

    rough = in_floats(rows, single)
    found, told = audit.rows(rough)
    assert found.verdict == "differs"
    assert {each.field for each in told} == {"quality", "emission"}
    passed, all_of_it = audit.rows(rough, tolerance=Fraction(1, 10**5))
    assert passed.verdict == "within-tolerance"
    assert passed.within_tolerance > len(rows) / 2
    assert passed.within_tolerance + passed.equal == len(rows)
    assert passed.differ == {}
    assert all_of_it == told
    assert passed.largest == max(each.distance or 0 for each in told)
    assert passed.first == told[0]
    assert passed.explanation is not None
    exact, _ = audit.rows(rough, tolerance=passed.largest)
    assert exact.verdict == "within-tolerance"
    less, _ = audit.rows(rough, tolerance=passed.largest - ONE_NANO / 10**9)
    assert less.verdict == "differs"


MAPPING = """
format = 1
missing = ["", "n/a"]

[columns]
task_id = "task"
miner_hotkey = "who"
tier = "level"
quality = "q"
emission = "pay.total"
"axes.policy" = "pi"

[match]
by = ["task_id", "miner_hotkey"]

[numbers]
scale = "nano"

[values.tier]
"""


def theirs(row: Json) -> Json:
    """A row as another might publish it."""

    def nano(text: str | None) -> Json:
        return "n/a" if text is None else int(Fraction(text) * 10**9)

    return {
        "task": row["task_id"],
        "who": row["miner_hotkey"],
        "level": "n/a" if row["tier"] is None else row["tier"].upper(),
        "q": nano(row["quality"]),
        "pay": {"total": nano(row["emission"])},
        "pi": nano(row["axes"].get("policy")),
    }


def test_columns_of_others_are_read_by_a_mapping(audit: Audit, rows: list[Json]) -> None:
    tiers = {row["tier"] for row in rows if row["tier"] is not None}
    path = audit.folder / "theirs.toml"
    path.write_text(MAPPING + "".join(f'"{t.upper()}" = "{t}"\n' for t in tiers), encoding="utf-8")
    mapping = read_mapping(path)
    published = [theirs(row) for row in rows]
    Random(1).shuffle(published)
    found, told = audit.rows(published, mapping=mapping)
    assert (found.verdict, told) == ("equal", [])
    assert set(found.fields) == {"tier", "quality", "emission", "axes.policy"}
    chosen = next(n for n, row in enumerate(published) if n > 9 and row["q"] != "n/a")
    missing = published[chosen - 1]["task"]
    wrong = [
        *published[: chosen - 1],
        published[chosen] | {"q": published[chosen]["q"] + 1},
        *published[chosen + 1 :],
        published[-1],
        published[0] | {"task": "of nobody"},
    ]
    found, told = audit.rows(wrong, mapping=mapping)
    numbers = {row["task_id"]: row["record"] for row in rows}
    assert sorted((each.code, each.record) for each in told if each.record) == sorted(
        [("other-value", numbers[published[chosen]["task"]]), ("missing-row", numbers[missing])]
    )
    assert [each.code for each in told if each.record is None] == ["duplicate-row", "extra-row"]
    assert next(each.distance for each in told if each.field == "q" or each.field) == ONE_NANO


def test_rows_can_be_matched_by_what_the_record_says(audit: Audit, rows: list[Json]) -> None:
    by = ("validator", "task_id", "miner_hotkey", "epoch")
    lines = audit.records.read_text(encoding="utf-8").splitlines()
    mapping = ColumnMapping({"quality": "quality"}, by)
    published = []
    for row in reversed(rows):
        given = json.loads(lines[row["record"] - 1])
        published.append({**{name: given.get(name, row.get(name)) for name in by}, **row})
    found, _ = audit.rows(published, mapping=mapping)
    assert found.verdict == "equal"
    with pytest.raises(InputError, match="with the same skill_type, expected one"):
        audit.rows(published, mapping=ColumnMapping({"quality": "quality"}, ("skill_type",)))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("format = 2\n[columns]\nquality = 'q'", "format"),
        ("format = 1", "the document"),
        ("format = 1\n[columns]\nquality = 1", "columns.quality"),
        ("format = 1\n[columns]\nquality = 'q'\n[numbers]\nscale = 'milli'", "numbers.scale"),
        ("format = 1\n[columns]\nlevitation = 'q'", "found the field 'levitation'"),
        ("format = 1\n[columns]\nquality = 'q'\n[match]\nby = ['tier']", "match.by: found 'tier'"),
        ("format = 1\n[columns]\nquality = 'q'\nmore = 1", "columns.more"),
        ("format = ", "the mapping cannot be read"),
    ],
)
def test_a_bad_mapping_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "mapping.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=told):
        read_mapping(path)


def bad_files() -> Iterator[tuple[str, bytes, str]]:
    yield "x.jsonl", b'{"record": 1, "quality": "1"', "x.jsonl:1: found no JSON"
    yield "x.jsonl", b"[1]", "found no JSON object"
    yield "x.jsonl", b'{"record": 1, "record": 1, "quality": 1}', 'the key "record" stands twice'
    yield "x.jsonl", b'{"record": "one", "quality": 1}', "found 'one' for record"
    yield "x.jsonl", b'{"record": 0, "quality": 1}', "found 0 for record"
    yield "x.jsonl", b'{"record": 1, "tier": "x"}', "found no column of scores"
    yield "x.jsonl", b"", "the file is empty"
    yield "x.csv", b"record,quality\n1\n", "x.csv:2: found 1 cells, expected 2"
    yield "x.csv", b"record,record,quality\n", "found the column record twice"
    yield "x.csv", b"record,quality\n1,\xff\n", "expected text in UTF-8"
    yield "x.csv", b'record,quality\n1,"1', "found no CSV"
    yield "x.parquet", b"PAR1", "x.parquet: "
    yield "x.txt", b"", "found no format in the name"


@pytest.mark.parametrize(("name", "data", "told"), list(bad_files()))
def test_results_that_cannot_be_read_are_told(
    audit: Audit, name: str, data: bytes, told: str
) -> None:
    path = audit.folder / name
    path.write_bytes(data)
    with pytest.raises(InputError, match=told):
        audit.of(path)


@pytest.mark.nightly
def test_facts_are_audited_like_their_records(
    audit: Audit, rows: list[Json], originals: dict[str, Path]
) -> None:
    facts = audit.folder / "facts.parquet"
    assert run("facts", audit.records, "-o", facts).status == 1
    own = Audit(audit.scorer, facts, audit.folder)
    assert own.of(originals["jsonl"])[0].equal == len(rows)
    row = scored(rows)
    row["quality"] = plus(row["quality"])
    found, _ = own.rows(rows)
    assert (found.verdict, found.explanation) == ("differs", None)


def test_the_command_tells_the_first_and_writes_all(
    audit: Audit, rows: list[Json], originals: dict[str, Path]
) -> None:
    base = ("audit", "records", audit.records, "--rules", RULES, "--results")
    same = run(*base, originals["csv"])
    assert (same.status, same.err) == (0, "")
    assert f"{len(rows)} rows: {len(rows)} equal; 201 records" in same.out
    first, second = scored(rows), scored(rows, 100)
    for row in (first, second):
        row["quality"] = plus(row["quality"])
    audit.rows(rows)
    published, every = audit.folder / "published.jsonl", audit.folder / "all.jsonl"
    found = run(*base, published, "--all", every)
    assert found.status == 1
    assert f"other-value: record {first['record']} in line" in found.out
    assert f"found {first['quality']}" in found.out
    assert "apart by 0.000000001" in found.out
    listed = [json.loads(line) for line in every.read_text().splitlines()]
    assert [each["record"] for each in listed] == [first["record"], second["record"]]
    machine = run(*base, published, "--json")
    assert machine.json()["first"] == listed[0]
    assert machine.json()["explanation"]["result"]["record"] == first["record"]
    passed = run(*base, published, "--tolerance", "0.000000001", "--json")
    assert passed.status == 0
    assert passed.json()["verdict"] == "within-tolerance"
    for bad in ("-1", "x", "1/3", "nan"):
        assert run(*base, published, "--tolerance", bad).status == 2
