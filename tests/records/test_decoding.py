import copy
import decimal
import enum
import json
import math
import types
from typing import Any

import msgspec
import numpy as np
import pytest
from examples import fast_rows
from hypothesis import given
from hypothesis import strategies as st
from records.making import SCHEMAS, make, spoil
from records.mutations import places

from tallystick.errors import SchemaError
from tallystick.records.decoding import Decoder
from tallystick.records.rejects import CODES, Reject
from tallystick.records.struct_builder import Record, is_answered, record_type

DECODER = Decoder(SCHEMAS)
VALID = make("mcp_server", seed=3)
LINE = json.dumps(VALID).encode()


def accepted(result: object) -> bool:
    assert isinstance(result, Record | Reject)
    return not isinstance(result, Reject)


def reject(line: bytes, number: int = 1) -> Reject:
    result = DECODER.decode(line, number)
    assert isinstance(result, Reject)
    assert result.code in CODES
    assert json.loads(result.to_json())["line"] == number
    return result


def plain(value: object) -> object:
    """A record as it was before decoding, without what it leaves out."""
    if isinstance(value, dict):
        inner = {key: plain(item) for key, item in value.items()}
        return {k: v for k, v in inner.items() if v is not None and v not in ([], {})}
    return [plain(item) for item in value] if isinstance(value, list) else value


def with_value(path: str, value: object) -> dict:
    """The valid record with another value at a path of names."""
    record = copy.deepcopy(VALID)
    *outer, last = path.split(".")
    target = record
    for name in outer:
        target = target[name]
    target[last] = value
    return record


def with_text(path: str, text: str) -> bytes:
    """A valid line in which one field has the given JSON text."""
    return json.dumps(with_value(path, "@@")).replace('"@@"', text).encode()


@pytest.mark.parametrize("skill_type", fast_rows(SCHEMAS, -1, 2))
def test_an_object_is_judged_as_its_line(skill_type: str) -> None:
    for seed in range(60):
        record = spoil(make(skill_type, seed), seed)
        assert DECODER.decode(record, seed) == DECODER.decode(json.dumps(record).encode(), seed)


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_decoding_keeps_every_value(skill_type: str) -> None:
    for seed in range(15):
        record = make(skill_type, seed)
        decoded = DECODER.decode(json.dumps(record).encode(), 1)
        assert decoded.skill_type == skill_type
        assert plain(msgspec.to_builtins(decoded)) == plain(record)


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_whole_numbers_written_as_decimals_decode_to_the_same_record(skill_type: str) -> None:
    for seed in range(20):
        record = make(skill_type, seed)
        written = copy.deepcopy(record)
        for container, key in places(written):
            if type(container[key]) is int:
                container[key] = float(container[key])
        fast = DECODER.decode(json.dumps(record).encode(), 1)
        judged = DECODER.decode(json.dumps(written).encode(), 1)
        assert judged == fast


def test_a_decoder_of_one_type_demands_the_tag() -> None:
    decoder, record = Decoder({"workflow": SCHEMAS["workflow"]}), make("workflow")
    del record["skill_type"]
    assert decoder.decode(json.dumps(record).encode(), 1).path == "skill_type"
    assert decoder.decode(record, 1).code == "missing-field"


def test_a_schema_under_another_name_is_refused() -> None:
    with pytest.raises(SchemaError, match="found the schema of 'workflow', expected that of 'x'"):
        Decoder({"x": SCHEMAS["workflow"]})


@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        (LINE + LINE, "invalid-json", "one JSON object"),
        (LINE.decode().encode("utf-16"), "invalid-utf8", "UTF-8"),
        (b"[" * 100_000, "too-deep", "32"),
        (b'{"a":' * 200_000, "too-deep", "32"),
        (b'["\\\\",' + b"[" * 100_000, "too-deep", "32"),
        (b"[" * 33 + b"]" * 33, "too-deep", "32"),
        (b"[" * 32 + b"]" * 32, "not-an-object", "a JSON object"),
        (b'["' + b"[" * 50 + b'\\"[{\\\\"]', "not-an-object", "a JSON object"),
        (b'{"a":"' + b'\\"' * 500_000, "invalid-json", "one JSON object"),
        (b'{"a":' + b"1" * 5000 + b"}", "not-finite", "a finite number"),
        (b'{"a":' + b"9" * 400 + b"}", "not-finite", "a number a double can be"),
        (b'{"a":1,"a":NaN,"a":1}', "not-finite", "a finite number"),
        (b'{"skill_type":"","never":1}', "unknown-skill-type", "one of agent_composition,"),
    ],
)
def test_bad_lines_have_a_stable_code(line: bytes, code: str, expected: str) -> None:
    found = reject(line)
    assert found.code == code
    assert expected in found.expected


@pytest.mark.parametrize(
    ("path", "text", "code", "expected"),
    [
        ("submission.risk_score", "-Infinity", "not-finite", "a finite number"),
        ("submission.latency_ms", "1" + "0" * 400, "not-finite", "a finite number"),
        ("submission.latency_ms", str(2**70), "out-of-range", "from 0 to 1000000000"),
        ("submission.latency_ms", str(-(2**70)), "out-of-range", "from 0 to 1000000000"),
        ("task_id", '"\\udc00\\ud800"', "invalid-utf8", "lone surrogates"),
    ],
)
def test_bad_values_have_a_stable_code_and_their_path(
    path: str, text: str, code: str, expected: str
) -> None:
    """Beside those of the vectors, of the frozen corpus, and of mutated records."""
    found = reject(with_text(path, text), number=12)
    assert (found.line, found.code, found.path) == (12, code, path)
    assert expected in found.expected


@pytest.mark.parametrize("where", ["value", "key", "tag"])
def test_bytes_that_are_no_utf8_are_rejected_wherever_they_are(where: str) -> None:
    old = {"value": b'"task-', "key": b'"task_id"', "tag": b'"mcp_server"'}[where]
    assert old in LINE
    for bad in (b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80"):
        assert reject(LINE.replace(old, old[:-1] + bad + old[-1:])).code == "invalid-utf8"


def test_of_duplicate_keys_the_last_wins_on_every_path() -> None:
    start = b'{"round":"x","round":1,'
    assert DECODER.decode(start + LINE[1:], 1) == DECODER.decode(LINE, 1)
    end = LINE[:-1] + b',"round":5,"round":6}'
    assert DECODER.decode(end, 1).round == 6
    assert reject(LINE[:-1] + b',"round":"x"}').path == "round"


def test_of_duplicate_tags_the_last_wins() -> None:
    assert DECODER.decode(b'{"skill_type":"x",' + LINE[1:], 1) == DECODER.decode(LINE, 1)
    assert DECODER.decode(b'{"skill_type":"workflow",' + LINE[1:], 1).skill_type == "mcp_server"
    other = reject(LINE[:-1] + b',"skill_type":"rag_knowledge"}')
    assert (other.code, other.path) == ("unknown-field", "submission.mcp_manifest_hash")
    assert reject(LINE[:-1] + b',"skill_type":5}').code == "wrong-type"


@pytest.mark.parametrize("skill_type", SCHEMAS)
def test_a_missed_deadline_keeps_who_and_when(skill_type: str) -> None:
    record = make(skill_type, seed=1) | {"events": ["probe_fail", "missed_deadline"], "round": 9.0}
    for absent in ({"submission"}, {"checks"}, {"submission", "checks"}):
        missed = {key: value for key, value in record.items() if key not in absent}
        found = DECODER.decode(json.dumps(missed).encode(), 1)
        assert isinstance(found, Record)
        kept = found
        assert {name for name in ("submission", "checks") if getattr(kept, name) is None} == absent
        assert (kept.skill_type, kept.task_id, kept.round) == (skill_type, record["task_id"], 9)
        assert (kept.miner.uid, kept.miner.hotkey) == tuple(record["miner"].values())
        assert kept.events == ["probe_fail", "missed_deadline"]


def third_party(**task: object) -> dict:
    """The schema of ``executable_python`` with more fields in its task, as one more type."""
    schema = copy.deepcopy(SCHEMAS["executable_python"])
    schema["properties"]["skill_type"] = {"const": "third_party"}
    schema["properties"]["task"]["properties"] |= task
    return schema


def test_a_type_whose_schema_no_type_can_say_is_judged_all_the_same() -> None:
    schema = third_party(
        name={"type": "string", "pattern": "^a"},
        sizes={"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        both={"anyOf": [{"type": "integer"}, {"type": "number"}]},
    )
    assert not record_type("third_party", schema)[1]
    decoder = Decoder({"third_party": schema, "workflow": SCHEMAS["workflow"]})
    record = make("executable_python") | {"skill_type": "third_party"}
    record["task"] |= {"name": "abc", "sizes": [1.0, 2, 1e300], "both": 0.5}
    found = decoder.decode(json.dumps(record).encode(), 1)
    assert isinstance(found, Record)
    assert (found.skill_type, found.task.name, found.task.both) == ("third_party", "abc", 0.5)
    assert found.task.sizes == [1, 2, int(1e300)]
    assert found.submission.verdict == record["submission"]["verdict"]
    assert decoder.decode(record, 1) == found
    record["task"]["name"] = "b"
    assert decoder.decode(record, 1).path == "task.name"
    workflow = make("workflow")
    assert accepted(decoder.decode(workflow, 1))


def test_submission_and_checks_are_asked_for_though_a_schema_does_not() -> None:
    schema = {k: v for k, v in third_party().items() if k not in ("if", "else")}
    decoder = Decoder({"third_party": schema})
    record = make("executable_python", 3) | {"skill_type": "third_party", "events": []}
    assert accepted(decoder.decode(record, 1))
    del record["checks"]
    for found in (decoder.decode(record, 1), decoder.decode(json.dumps(record).encode(), 1)):
        assert (found.code, found.path) == ("missing-field", "checks")
    record["events"] = ["missed_deadline"]
    missed = decoder.decode(record, 1)
    assert isinstance(missed, Record)
    assert not is_answered(missed)


class Text(str):
    __slots__ = ()


class Colour(enum.IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("submission.risk_score", math.nan, "not-finite"),
        ("submission.risk_score", math.inf, "not-finite"),
        ("submission.risk_score", decimal.Decimal("0.5"), "wrong-type"),
        ("submission.risk_score", np.float64(math.nan), "not-finite"),
        ("submission.risk_score", np.longdouble(0.5), "wrong-type"),
        ("submission.risk_score", np.array(0.5), "wrong-type"),
        ("checks.probe_verified", np.True_, "wrong-type"),
        ("submission.risk_score", True, "wrong-type"),
        ("submission.risk_score", 10**400, "not-finite"),
        pytest.param("submission.risk_score", 10**5000, "not-finite", id="5001 digits"),
        ("submission.latency_ms", Colour.RED, "wrong-type"),
        ("submission.findings", (), "wrong-type"),
        ("submission.findings", {1}, "wrong-type"),
        ("submission.findings", iter(()), "wrong-type"),
        ("task_id", "\ud800", "invalid-utf8"),
        ("task_id", b"task", "wrong-type"),
        ("task_id", Text("task"), "wrong-type"),
        ("miner", types.MappingProxyType({"uid": 1, "hotkey": "x"}), "wrong-type"),
        ("miner", {1: 1}, "wrong-type"),
        ("miner", msgspec.convert(VALID["miner"], dict[str, Any]) | {None: 1}, "wrong-type"),
    ],
)
def test_python_values_that_are_not_json_are_rejected(path: str, value: object, code: str) -> None:
    found = DECODER.decode(with_value(path, value), 4)
    assert isinstance(found, Reject)
    assert (found.line, found.code, found.path) == (4, code, path)
    assert found.to_json()


def test_a_lone_surrogate_in_the_key_of_a_map_is_rejected() -> None:
    record = make("workflow")
    record["submission"]["error_handling"] = {"\ud800": {}}
    for found in (DECODER.decode(record, 1), DECODER.decode(json.dumps(record).encode(), 1)):
        assert found.code == "invalid-utf8"
        assert found.path == 'submission.error_handling["\\ud800"]'


def test_a_python_value_that_holds_itself_is_too_deep() -> None:
    record = copy.deepcopy(VALID)
    record["task"] = record
    assert DECODER.decode(record, 1).code == "too-deep"


@pytest.mark.parametrize("value", [None, [], "x", types.MappingProxyType(VALID), object()])
def test_converting_anything_but_a_dict_is_rejected(value: object) -> None:
    assert DECODER.decode(value, 1).code in ("not-an-object", "wrong-type")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec=None)), inner),
    max_leaves=10,
)


@given(JSON, st.sampled_from(["task", "submission", "checks", "miner", "consensus", "surplus"]))
def test_no_python_value_makes_the_decoder_raise(value: object, field: str) -> None:
    for skill_type in ("workflow", "mcp_server"):
        result = DECODER.decode(make(skill_type, 3) | {field: value}, 1)
        assert isinstance(result, Record | Reject)
        if isinstance(result, Reject):
            assert result.to_json()


@pytest.mark.parametrize(
    "spoilt",
    [
        {"events": [1] * 500_000},
        {"events": [[]] * 300_000},
        {f"k{i}": 1 for i in range(80_000)},
        {"consensus": {f"k{i}": 1 for i in range(80_000)}},
    ],
)
def test_long_lines_full_of_errors_are_rejected_soon(spoilt: dict) -> None:
    # every error of such a line would take the validator up to half a minute
    found = reject(json.dumps(VALID | spoilt, separators=(",", ":")).encode())
    assert found.code in ("too-many", "unknown-field", "missing-field", "wrong-type")


@pytest.mark.parametrize(
    ("path", "value", "plain"),
    [
        ("submission.risk_score", np.float64(0.1), 0.1),
        ("submission.risk_score", np.float32(0.1), float(np.float32(0.1))),
        ("submission.risk_score", np.float16(0.5), 0.5),
        ("submission.risk_score", np.int8(1), 1),
        ("submission.latency_ms", np.int64(1234), 1234),
        ("submission.latency_ms", np.uint16(1234), 1234),
        ("submission.latency_ms", np.float64(1234.0), 1234.0),
        ("miner.uid", np.uint64(7), 7),
        ("submission.latency_ms", np.int64(-1), -1),
        ("submission.latency_ms", np.float64(0.5), 0.5),
    ],
)
def test_numbers_of_numpy_are_numbers(path: str, value: object, plain: object) -> None:
    """What is made of a record, or said of it, is the same."""
    found, expected = (DECODER.decode(with_value(path, each), 4) for each in (value, plain))
    assert found == expected
