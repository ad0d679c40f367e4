import json
import re

import attrs
import pytest

from tallystick.records.rejects import CODES, Reject


def test_a_reject_is_one_json_object_with_its_keys_in_order() -> None:
    reject = Reject(7, "out-of-range", "submission.risk_score", "1.7", "a number from 0 to 1")
    assert reject.to_json() == (
        b'{"line":7,"code":"out-of-range","path":"submission.risk_score","value":"1.7",'
        b'"expected":"a number from 0 to 1"}'
    )


def test_a_reject_is_one_line_of_utf8_whatever_it_quotes() -> None:
    reject = Reject(1, "wrong-type", "é", '"a\n\u2028"', "text")
    assert b"\n" not in reject.to_json()
    assert json.loads(reject.to_json()) == attrs.asdict(reject)


@pytest.mark.parametrize("code", CODES)
def test_a_code_is_lower_case_and_has_one_sentence(code: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
    assert re.fullmatch(r"[a-z].*[^.]", CODES[code])


def test_codes_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        CODES["timing-window"] = "a plugin's requirement"  # type: ignore[index]
