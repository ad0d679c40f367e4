"""The canonical bytes of JSON values, against the library of RFC 8785."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tallystick.canonical import canonical_bytes

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**54), 2**54)
    | st.floats()
    | st.text()
    | st.sampled_from(["\ud800", "\u2028", "\x7f", "\x00", '"\\/', "\U0001f600"])
)
KEYS = st.text(max_size=3) | st.sampled_from(["\U0001f600", "\ufb33", "é", "\ud800"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_canonical_bytes_are_those_of_rfc_8785(value: object) -> None:
    try:
        expected = rfc8785.dumps(value)  # type: ignore[arg-type]  # any JSON value
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        with pytest.raises(type(error)):  # the one of two that the library raises
            canonical_bytes(value)
    else:
        assert canonical_bytes(value) == expected


@pytest.mark.parametrize("value", [2**53 - 1, -(2**53 - 1), {"b": 1, "a": (1, True)}, "é\n\x1f"])
def test_plain_values_have_the_bytes_of_rfc_8785(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [2**53, -(2**53), "\ud800", {"\ud800": 1}])
def test_what_rfc_8785_cannot_say_is_refused(value: object) -> None:
    with pytest.raises((rfc8785.CanonicalizationError, UnicodeEncodeError)):
        canonical_bytes(value)
