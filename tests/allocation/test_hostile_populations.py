"""Populations that nobody should send: each a clear error, and nothing written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from allocation.subnets import rules_from, rules_of
from allocation.tables import rules_with
from cli.command import run
from pyarrow import parquet
from work import calls

import tallystick
from tallystick.errors import AllocationError, InputError, RuleSetError
from tallystick.numbers.nano import NANO
from tallystick_allocation import table
from tallystick_allocation.allocate import allocate
from tallystick_allocation.allocation import bound_allocation
from tallystick_allocation.files import weights_document
from tallystick_allocation.population import Miner, Population, Sample

Row = Mapping[str, Any]
FLAT = rules_from(rules_with('{ name = "y", do = "share", of = "x", zero = "zero" }'))

TABLES: list[tuple[str, str, str]] = [
    ("hotkey,quality\na,0.5\nb,0.1\na,0.2\n", "t.csv:4: hotkey: found the miner a", "in row 2 too"),
    ("hotkey,quality\na,NaN\n", "t.csv:2: quality: found NaN", "a finite number"),
    ("hotkey,quality\na,1e400\n", "t.csv:2: quality: found 1e400", "a finite number"),
    ("hotkey,quality\na,inf\n", "t.csv:2: quality: found inf", "a finite number"),
    ("hotkey,quality\na,0.1234567891\n", "quality: found 0.1234567891", "at most nine places"),
    ("hotkey,quality\na,1/0\n", "t.csv:2: quality: found 1/0", "a finite number"),
    ("hotkey,quality\na,1.5\n", "mean of a: found 1.5", "expected 0 to 1"),
    ("hotkey,quality\n,0.5\n", "t.csv:2: hotkey: found nothing", "a text of 1 to 64"),
    ("hotkey,qualty\na,0.5\n", "found the column qualty", "did you mean 'quality'?"),
    ("hotkey,uid,quality\na,-1,0.5\n", "t.csv:2: uid: found -1", "from 0 to 65535"),
    ("hotkey,quality\na\n", "expected 2, as the first line has", ""),
    ("hotkey,quality\na,0.5,7\n", "expected 2, as the first line has", ""),
    ("hotkey,hotkey,quality\na,b,0.5\n", "t.csv:1: found the column hotkey twice", "once"),
    ("a,0.5\n", "t.csv:1: found no column hotkey", "the names of the columns in the first line"),
    ("hotkey,qualty\na,\n", "found the column qualty", "did you mean 'quality'?"),
    ("hotkey,uid,quality\na,7,0.5\nb,7,0.5\n", "t.csv:3: uid: found the slot 7 of b",
     "row 2 gives it to a"),
]  # fmt: skip
LINES = [
    (b'{"hotkey": "a", "quality": NaN}', "not-finite"),
    (b'{"hotkey": "a", "quality": {}}', "expected a finite number"),
    (b'{"hotkey": "a", "quality": true}', "expected a finite number"),
    (b'{"hotkey": 7, "quality": 0.5}', "a text of 1 to 64 characters"),
    (b"[]", "an object, a row of the table"),
    (b"\xff", "invalid-utf8"),
]


def refused(path: Path) -> str:
    """What is said of a table, of which nothing is written; what stood there stays."""
    output = path.with_name("weights.json")
    output.write_text("before")
    found = run("allocate", str(path), "--rules", "workflow@1.1.0", "-o", str(output))
    assert found.status in (1, 2)
    assert not found.out
    assert output.read_text() == "before"
    return found.err


@pytest.mark.parametrize(("text", "found", "expected"), TABLES)
def test_a_table_that_is_wrong_is_refused_whole(
    text: str, found: str, expected: str, tmp_path: Path
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    said = refused(path)
    assert found in said
    assert expected in said


@pytest.mark.parametrize(("line", "expected"), LINES)
def test_a_line_that_is_wrong_is_refused(line: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"hotkey": "first", "quality": [0.5, "0.25"]}\n' + line + b"\n")
    said = refused(path)
    assert expected in said
    assert "t.jsonl:2" in said


def test_results_are_no_table_and_say_what_they_are_of(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    result = '{"miner_hotkey": "b", "quality": "0.5", "axes": {"success": "0.5"}}\n'
    path.write_text(f'{result}{{"hotkey": "a"}}\n')
    done = run("allocate", path, "--rules", "workflow@1.1.0", "-o", tmp_path / "w.json")
    assert "2 miners, 1 with a weight" in done.out
    for text, expected in (
        (f'{{"hotkey": "a", "quality": 0.5}}\n{result}', "a table or results, not both"),
        (f'{result}{{"hotkey": "a", "quality": 0.5}}\n', "a table or results, not both"),
        ('{"miner_hotkey": "b", "axes": [1]}\n', "t.jsonl:1: axes: found [1], expected an object"),
        ('{"miner_hotkey": "b", "measures": 7}\n', "measures: found 7, expected an object"),
    ):
        path.write_text(text)
        assert expected in refused(path)


WEIGHED = rules_from(
    rules_with(
        '{ name = "y", do = "collect", value = "y", as = "weighted_mean", within = [0, 9], '
        'times = ["stake"], over = ["stake"], missed = "zero" }'
    )
)


def test_a_weighted_mean_has_what_it_is_weighed_by() -> None:
    rows = [{"hotkey": "a", "x": 1, "y": [1, "0.5"], "stake": 2}, {"hotkey": "b", "x": 1}]
    found = tallystick.allocate(WEIGHED, rows, columns=["y"])
    assert found.nano("y") == {"a": 750_000_000}
    for stake, expected in (
        (None, "stake: found nothing, expected what y is weighed by"),
        (-1, "stake: found -1, expected a factor from 0 to 1000000000"),
        ("1e10", "expected a factor from 0"),
        ("1/3", "at most nine decimal places"),
    ):
        with pytest.raises(InputError, match=expected):
            tallystick.allocate(WEIGHED, [{"hotkey": "a", "x": 1, "y": 1, "stake": stake}])


def test_the_results_of_the_shipped_rules_lack_what_a_state_has(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"miner_hotkey": "a", "emission": "1", "base_weight": "1"}\n')
    found = run("allocate", path, "--rules", "skills@1.2.0", "-o", tmp_path / "w.json")
    assert found.status == 2
    assert "t.jsonl:1: reputation: found nothing" in found.err
    assert "tallystick weights takes it from a state" in found.err


@pytest.mark.parametrize("name", ["miners.csv", "miners.jsonl", "miners.parquet"])
def test_too_many_miners_are_refused_before_the_second_row_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    if path.suffix == ".csv":
        path.write_text("hotkey,quality\n5A,1\n,no row\n5C,1\n5D,1\n", encoding="utf-8")
    elif path.suffix == ".jsonl":
        path.write_text('{"hotkey": "5A"}\nno row\n{"hotkey": "5C"}\n{}\n', encoding="utf-8")
    else:
        parquet.write_table(pa.table({"hotkey": ["5A", "", "5C", "5D"]}), path)
    monkeypatch.setattr(table, "MOST_MINERS", 3)
    with pytest.raises(AllocationError, match=r"found 4 rows of miners, expected at most 3") as no:
        tallystick.allocate(rules_of("cswon"), path)
    assert no.value.code == "too-many"


def test_one_miner_more_than_there_may_be_ends_the_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table, "MOST_MINERS", 3)
    read = list[str]()

    def rows() -> Iterator[Row]:
        for hotkey in ("5A", "5B", "5C", "5D", "5E"):
            read.append(hotkey)
            yield {"hotkey": hotkey}

    with pytest.raises(AllocationError, match="found more than 3 miners, expected at most 3"):
        tallystick.allocate(rules_of("cswon"), rows())
    assert read == ["5A", "5B", "5C", "5D"]


def test_a_group_is_a_name() -> None:
    for track in (["skills"], {}, 7, None):
        with pytest.raises(InputError, match="expected one of mcp_servers, packages"):
            tallystick.allocate(rules_of("phylax"), [{"hotkey": "a", "track": track}])


def test_a_population_has_a_hotkey_once() -> None:
    with pytest.raises(AllocationError, match="the miner b 2 times") as caught:
        Population((Miner("b"), Miner("a"), Miner("b")))
    assert caught.value.code == "duplicate-miner"


def test_a_text_that_has_no_utf8_is_refused_where_it_stands() -> None:
    rules, said = rules_of("phylax"), "without lone surrogates such as \\\\ud800"
    row = {"hotkey": "\ud800", "track": "skills"}
    with pytest.raises(InputError, match=rf"population:1: hotkey: found \\ud800, .*{said}"):
        tallystick.allocate(rules, [row])
    for name in ("salt", "reserved"):
        with pytest.raises(InputError, match=rf"round: round.{name}: found \\ud800, .*{said}"):
            tallystick.allocate(rules, [], round={"format": 1, "round": {name: "\ud800"}})
    row = {"hotkey": "a", "coldkey": "\udfff"}
    with pytest.raises(InputError, match=rf"population:1: coldkey: found \\udfff, .*{said}"):
        tallystick.allocate(rules_of("chutes"), [row])


@pytest.mark.parametrize("rows", [[], [{"hotkey": "a", "x": 3}]])
def test_nobody_and_one_miner(rows: Sequence[Row]) -> None:
    found = tallystick.allocate(FLAT, rows)
    assert found.weights == {str(row["hotkey"]): 10**9 for row in rows}


def test_a_file_without_a_miner_gives_nobody_a_weight(tmp_path: Path) -> None:
    for name, text in (("t.jsonl", ""), ("t.csv", "hotkey,quality\n"), ("u.csv", "")):
        path, output = tmp_path / name, tmp_path / f"{name}.json"
        path.write_text(text)
        found = run("allocate", str(path), "--rules", "workflow@1.1.0", "-o", str(output))
        assert (found.status, found.err) == (0, "")
        assert "no weights: nobody has one above 0" in found.out
        assert '"weights": {}' in output.read_text()


def population(miners: int) -> Population:
    held = {f"hk-{n}": [Sample(n % 977)] for n in range(miners)}
    return Population(tuple(map(Miner, held)), {"x": {"": held}})


def test_the_work_grows_with_the_miners_and_no_faster() -> None:
    bound = bound_allocation(FLAT)
    small, large = (calls(lambda n=n: allocate(bound, population(n))) for n in (100, 400))
    assert large < 4.5 * small


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("power(-1 + x)", "which can be below 0"),
        ("log(x)", "which can be 0"),
        ("exp(x)", "outside -1000000 to 40"),
    ],
)
def test_a_formula_of_a_step_that_is_not_safe_does_not_load(text: str, expected: str) -> None:
    name = text.partition("(")[0]
    rules = rules_from(
        rules_with(f'{{ name = "y", do = "formula", formula = "subnets/{name}-of-x@1" }}')
    )
    with pytest.raises(RuleSetError) as caught:
        bound_allocation(rules)
    problem = caught.value.problems[0]
    assert problem.path == "allocation.steps[1]"
    assert problem.line > 0
    assert expected in problem.evidence["expected"]


@pytest.mark.parametrize("publish", [False, True])
def test_powers_of_powers_over_several_steps_are_refused_unless_one_is_rounded(
    publish: bool,
) -> None:
    keys = ", publish = true" if publish else ""
    steps = (
        f'{{ name = "y", do = "formula", formula = "subnets/steep-of-x@1"{keys} }}',
        '{ name = "z", do = "formula", formula = "subnets/square-of-y@1" }',
    )
    rules = rules_from(rules_with(*steps))
    if publish:
        assert tallystick.allocate(rules, [{"hotkey": "a", "x": 1}]).weights == {"a": 10**9}
        return
    with pytest.raises(RuleSetError, match=r"steps\[2\].* is of degree 14000 .* publish = true"):
        tallystick.allocate(rules, [{"hotkey": "a", "x": 1}])


def test_a_number_of_a_miner_is_in_the_range_that_is_proved() -> None:
    text = '{ name = "y", do = "formula", formula = "subnets/attribute-of-miner@1" }'
    rules = rules_from(rules_with(text))
    rows = [{"hotkey": "a", "x": 1, "age": "1000000000"}]
    assert tallystick.allocate(rules, rows).nano("y") == {"a": NANO}
    with pytest.raises(AllocationError, match=r"miner\.age of the miner a: .* at most 1000000000"):
        tallystick.allocate(rules, [{**rows[0], "age": "-1000000000.5"}])
    with pytest.raises(InputError, match="at most nine decimal places"):
        tallystick.allocate(rules, [{**rows[0], "age": "1/3"}])


def test_what_other_rules_carried_is_refused() -> None:
    with pytest.raises(InputError, match="carry-of-other-rules"):
        tallystick.allocate(rules_of("cswon"), [], carry={"allocation": "sha256:0", "carry": {}})


SAID = {"format": 1, "round": {"salt": "", "reserved": "", "share": "0"}}


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"skils": {"a": "0.5"}}, "unknown-group"),
        ({"a": "0.5"}, "unknown-group"),
        ({"skills": {"b": "0.5"}}, "unknown-miner"),
        ({"skills": {"a": "x"}}, "no-number"),
        ({"skills": {"a": "1/0"}}, "no-number"),
        ({"skills": {"a": float("nan")}}, "no-number"),
        ({"skills": {"a": None}}, "no-number"),
    ],
)
def test_a_column_that_is_given_has_numbers_of_who_is_there(given: Any, code: str) -> None:  # noqa: ANN401  # of a stranger
    rows = [{"hotkey": "a", "track": "skills"}]
    with pytest.raises(AllocationError) as caught:
        tallystick.allocate(rules_of("phylax"), rows, round=SAID, given={"score": given})
    assert caught.value.code == code


@pytest.mark.parametrize("name", ["smooth", "weight"])
def test_a_column_that_is_given_is_rounded_as_that_of_its_step(name: str) -> None:
    rows = [{"hotkey": hotkey, "track": "skills"} for hotkey in "ab"]
    given = {name: {"a": "1/3", "b": "2/3"}}
    found = tallystick.allocate(rules_of("phylax"), rows, round=SAID, given=given)
    assert found.weights == {"a": 333_333_333, "b": 666_666_667}
    assert found.carry == {"smooth": found.weights if name == "smooth" else {}}


@pytest.mark.parametrize("value", ["-0.000000001", "1.000000001", "1e3"])
def test_what_a_step_cannot_have_carried_is_refused(value: str) -> None:
    rules = rules_of("phylax")
    document = {"allocation": bound_allocation(rules).digest, "carry": {"smooth": {"a": value}}}
    with pytest.raises(InputError, match=r"carry\.smooth\.a: found .*, expected"):
        tallystick.allocate(rules, [], carry=document)


def test_a_reserved_share_is_nobody_elses() -> None:
    steps = (
        '{ name = "s", do = "share", of = "x" },\n'
        '{ name = "y", do = "reserve", of = "s", key = "round.key", share = "round.part", '
        "publish = true }"
    )
    text = rules_with(steps).split(',\n{ name = "lift"')[0] + "\n]\n"
    rules, rows = rules_from(text), [{"hotkey": "a", "x": 1, "uid": 1}]

    def document(key: str) -> dict[str, Any]:
        held = {"format": 1, "round": {"key": key, "part": "0.5"}}
        return weights_document(tallystick.allocate(rules, rows, round=held))

    for key in ("uid:x", "uid:1@", "x" * 65):
        with pytest.raises(AllocationError, match="expected a hotkey"):
            document(key)
    for key in ("5elsewhere", "owner"):
        found = document(key)
        assert (found["uids"], found["uint16"]) == ([], [])
        assert found["weights"] == {"a": "0.500000000", key: "0.500000000"}
        assert found["dropped"] == {key: "the chain alone knows its slot: no row without it"}
    found = document("uid:4@77")
    assert (found["uids"], found["uint16"], found["dropped"]) == ([1, 4], [65535, 65535], {})


def test_a_file_of_a_round_says_what_is_asked_for_alone(tmp_path: Path) -> None:
    for text, expected in (
        ('{"format": 2}', "format: found 2, expected 1"),
        ('{"format": 1, "round": {"slat": "x"}}', "did you mean 'salt'?"),
        ('{"format": 1, "round": {"salt": 5}}', "round.salt: found 5, expected a text"),
        ('{"format": 1, "round": {"share": NaN}}', "the number NaN"),
        ('{"format": 1, "round": {"share": 1e999999999}}', "share: found 1E+999999999"),
        ('{"format": 1, "miners": {"a": {"contributor": 1}}}', "expected a flag"),
        ('{"miners": {"5A": {}, "5A": {}}, "format": 1}', 'the key "5A" stands twice'),
        ('{"format": true}', "format: found True, expected 1"),
        ("[" * 100_000, "nested too deep"),
        ("", "no document that can be read"),
    ):
        path = tmp_path / "round.json"
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            tallystick.allocate(rules_of("phylax"), [], round=path)
        assert expected in str(caught.value)


def test_numbers_and_arrays_of_numpy_are_as_those_of_python() -> None:
    steps = (
        '{ name = "y", do = "share", of = "x" },\n'
        '{ name = "z", do = "reserve", of = "y", key = "round.key", share = "round.part", '
        "publish = true }"
    )
    rules = rules_from(rules_with(steps).split(',\n{ name = "lift"')[0] + "\n]\n")
    scores, uids = np.array([0.25, 0.5, 0.1], np.float32), np.arange(3)
    held = {"format": 1, "round": {"key": "b", "part": np.float32(0.1)}}

    def weights(numbers: Any, slots: Any, of_round: Any) -> Any:  # noqa: ANN401  # of either kind
        rows = [
            {"hotkey": key, "uid": uid, "x": value}
            for key, uid, value in zip("abc", slots, numbers, strict=True)
        ]
        return weights_document(tallystick.allocate(rules, rows, round=of_round))

    expected = weights(
        [0.25, 0.5, 0.100000001], [0, 1, 2], {**held, "round": {"key": "b", "part": "0.100000001"}}
    )
    assert weights(scores, uids, held) == expected
    lists = weights([np.array([9, value]) for value in scores], uids, held)
    assert lists == weights([[9, float(value)] for value in scores], [0, 1, 2], held)
    for wrong in (np.float32("nan"), np.array([np.inf]), np.array(["x"], object)):
        with pytest.raises(InputError, match="population:1: x"):
            weights([wrong, 1, 1], uids, held)
