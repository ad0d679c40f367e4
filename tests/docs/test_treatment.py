"""What ``docs/records.md`` says of unusual lines is what happens to them."""

from collections.abc import Mapping

import pytest
from manual.page import Page

import tallystick
from tallystick.plugins.registry import installed

_EXAMPLES = installed().skill_types["executable_python"].examples
assert _EXAMPLES is not None
_LINE = _EXAMPLES.read_bytes().splitlines()[2]
_RISK = b'"risk_score":0.95'
_RULE = b'{"resource":"filesystem","action":"read","pattern":"/srv/data/**"},'


def _with(old: bytes, new: bytes) -> bytes:
    assert _LINE.count(old) == 1, old
    return _LINE.replace(old, new)


_SAME = ""
"""The line scores as it would without what is unusual."""
_TREATED: Mapping[str, Mapping[bytes, str]] = {
    "CRLF line ends": {_LINE + b"\r\n": _SAME},
    "an empty line": {b"": "empty-line", b" \r\n": "empty-line"},
    "a byte order mark": {b"\xef\xbb\xbf" + _LINE: "byte-order-mark"},
    "other encodings": {
        _LINE.decode().encode("utf-16"): "invalid-utf8",
        _with(b"5ExampleMinerHotkey3", rb"\ud800"): "invalid-utf8",
    },
    "a key that stands twice": {
        _with(_RISK, b'"risk_score":"?",' + _RISK): _SAME,
        _with(_RISK, _RISK + b',"risk_score":"?"'): "wrong-type",
    },
    "`null`": {
        _with(b'"expected_policy"', b'"expected_risk":null,"expected_policy"'): _SAME,
        _with(_RISK, b'"risk_score":null'): "wrong-type",
    },
    "`61000.0` in a field of whole numbers": {
        _with(b"165000", b"165000.0"): _SAME,
        _with(b"165000", b"165000.5"): "wrong-type",
    },
    "`5` in a field of numbers": {_with(_RISK, b'"risk_score":1'): _SAME},
    '`"5"`, `true` in a field of numbers': {
        _with(_RISK, b'"risk_score":"1"'): "wrong-type",
        _with(_RISK, b'"risk_score":true'): "wrong-type",
    },
    "`NaN`, `Infinity`, `1e999`": {
        _with(_RISK, b'"risk_score":NaN'): "not-finite",
        _with(_RISK, b'"risk_score":Infinity'): "not-finite",
        _with(_RISK, b'"risk_score":1e999'): "not-finite",
    },
    "a number": {_with(b'"consensus":0.92', b'"consensus":0.9200000000001'): _SAME},
    "an unknown field": {_with(b'"round"', b'"surprise":1,"round"'): "unknown-field"},
    "a list": {_with(b'"recommended_policy":[', b'"recommended_policy":[' + _RULE): _SAME},
    "more than 1 048 576 bytes a line": {_LINE + b" " * 2**20: "line-too-long"},
    "lists and objects more than 32 deep": {b"[" * 33 + b"]" * 33: "too-deep"},
}


@pytest.fixture(scope="module")
def scorer() -> tallystick.Scorer:
    return tallystick.load("skills@1.0.0")


def test_every_row_of_the_table_is_tried() -> None:
    section = Page.of("docs/records.md").section("Files of records").prose
    rows = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("|")]
    assert rows[2:] == list(_TREATED)


@pytest.mark.parametrize("row", _TREATED)
def test_a_line_is_treated_as_the_page_says(row: str, scorer: tallystick.Scorer) -> None:
    usual = scorer.score(_LINE)
    for line, code in _TREATED[row].items():
        (found,) = scorer.score_many([line])
        if code:
            assert isinstance(found, tallystick.Reject)
            assert found.code == code
        else:
            assert found == usual
