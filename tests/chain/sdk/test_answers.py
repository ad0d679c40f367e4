"""Answers of an SDK, as both adapters read them: by stubs."""

import sys
import time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import TallystickError
from tallystick_chain import sdk10, sdk11
from tallystick_chain.chain import Commitment, Receipt, has_too_large_share
from tallystick_chain.hotkey import Hotkey
from tallystick_chain.sdk import (
    REFUSALS,
    CallSigner,
    SdkChain,
    commitments_of,
    failed,
    neurons_of,
    octets,
    public_endpoint,
    row_defect,
)

US = Hotkey.of_seed(b"\1" * 32)
UNDECIDED = (
    None,
    "AlreadyImported",
    "Dropped",
    "FinalityTimeout",
    "Future",
    "Invalid",
    "MaxRetriesExceeded",
    "PriorityTooLow",
    "Retracted",
    "Stale",
    "SubstrateRequestException",
    "Usurped",
)


@pytest.mark.parametrize("adapter", [sdk10, sdk11])
def test_a_missing_sdk_says_what_installs_it(adapter: Any) -> None:  # noqa: ANN401  # a module
    with pytest.raises(TallystickError, match=r"pip install 'tallystick\[bittensor\]'"):
        adapter.connect("finney", US)


@pytest.mark.parametrize("adapter", [sdk10, sdk11])
def test_another_major_version_is_refused(
    adapter: Any,  # noqa: ANN401  # a module
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "bittensor", SimpleNamespace(__version__="9.12.2"))
    with pytest.raises(TallystickError, match=r"found bittensor 9\.12\.2, expected 1[01]"):
        adapter.connect("finney", US)


@pytest.mark.parametrize("name", UNDECIDED)
def test_a_call_without_a_block_is_refused_only_by_name(name: str | None) -> None:
    assert failed(name, "told", None) == Receipt(
        "unknown", None, f"{name}: told" if name else "told"
    )
    # in a block it has failed, whatever its name is
    assert failed(name, "told", "0x1").kind == "refused"


@pytest.mark.parametrize("name", REFUSALS)
def test_the_chains_own_names_have_codes(name: str) -> None:
    for block_hash in (None, "0x1"):
        receipt = failed(name, "told", block_hash)
        assert (receipt.kind, receipt.code) == ("refused", REFUSALS[name])
        assert receipt.block_hash == block_hash


def test_the_text_of_a_node_is_one_bounded_line() -> None:
    hostile = "told\r\nreceipt: included \x1b[2J" + "\N{RIGHT-TO-LEFT OVERRIDE}" + "x" * 10_000
    text = failed(None, hostile, None).chain_error
    assert text.isprintable()
    assert len(text) <= 400


ROWS = st.lists(st.tuples(st.integers(-1, 70_000), st.integers(-1, 70_000)), max_size=6).map(tuple)


@given(ROWS)
def test_a_row_goes_out_only_if_nobody_changes_it(pairs: tuple[tuple[int, int], ...]) -> None:
    """As an SDK scales a row, drops zeros, and the chain takes it: the same, or refused before."""
    uids, weights = [uid for uid, _ in pairs], [weight for _, weight in pairs]
    is_sound = (
        bool(pairs)
        and all(0 <= uid <= 65_535 for uid in uids)
        and uids == sorted(set(uids))
        and min(weights) > 0
        and all(round(weight / max(weights) * 65_535) == weight for weight in weights)
    )
    assert (row_defect(pairs) is None) is is_sound


@given(
    st.lists(st.integers(1, 65_535), min_size=1, max_size=6),
    st.integers(1, 65_535),
)
def test_a_row_is_over_the_limit_as_its_largest_share_is(weights: list[int], limit: int) -> None:
    row = tuple(enumerate([*weights, 65_535]))
    share, most = (65_535 << 32) // sum(weight for _, weight in row), (limit << 32) // 65_535
    assert has_too_large_share(row, limit) is (share > most and limit < 65_535)


@given(st.binary(min_size=1, max_size=128))
def test_a_commitment_comes_back_as_it_went_out(data: bytes) -> None:
    """As each SDK shows it: digits of the eleventh, a list or a tuple of the tenth."""
    name = f"Raw{len(data)}"
    forms: list[Any] = [f"0x{data.hex()}", list(data), (tuple(data),)]
    for form in forms:
        for field in ({name: form}, [{name: form}], ({name: form},)):
            record = {"deposit": 0, "block": 9, "info": {"fields": [field]}}
            assert commitments_of([("5F", record)]) == (Commitment("5F", 9, data),)


@given(st.binary(max_size=300))
def test_bytes_are_the_same_in_each_form(data: bytes) -> None:
    assert octets(data) == octets(f"0x{data.hex()}") == octets(list(data)) == data


def test_columns_of_other_lengths_are_an_error() -> None:
    graph = {"hotkeys": ["a", "b"], "validator_permit": [True], "coldkeys": ["c", "c"]}
    graph["block_at_registration"] = [1, 2]
    with pytest.raises(ValueError, match="argument 2"):
        neurons_of({**graph, "total_stake": [1, 2]})


class Choosing:
    """A node with one subnet, of a runtime that lets it choose its consensus, or does not."""

    def __init__(self, mode: object) -> None:
        self.mode = mode

    def values(self, items: list[tuple[Any, ...]], _block: int) -> list[object]:
        if items[0][0] != "SubnetEpochConsensus":
            return [1 for _ in items]
        if isinstance(self.mode, Exception):
            raise self.mode
        return [self.mode]

    def call(self, *_: object) -> int:
        return 410


@pytest.mark.parametrize(
    ("mode", "consensus"),
    [
        ("Yuma", "yuma"),
        ({"Null": ()}, "null"),
        (1, "null"),
        ("Lottery", "unknown"),
        (None, "unknown"),
        (ValueError("SubnetEpochConsensus not found in registry"), "unknown"),
    ],
)
def test_the_consensus_is_that_of_the_subnet_where_its_runtime_has_a_choice(
    mode: object, consensus: str
) -> None:
    chain = SdkChain("stub", US, lambda: Choosing(mode))  # type: ignore[arg-type,return-value]  # it has what is asked
    assert chain.subnet(7, 0, 98).consensus == consensus


def test_a_late_call_signs_nothing() -> None:
    payload = SimpleNamespace(data=b"payload")
    assert len(CallSigner(US, until=time.monotonic() + 60).sign(payload)) == 64
    with pytest.raises(TimeoutError):
        CallSigner(US, until=time.monotonic() - 1).sign(payload)


@pytest.mark.parametrize(
    ("network", "told"),
    [
        ("finney", "finney"),
        ("wss://user:secret@node.example:443/secret?key=secret#secret", "wss://node.example:443"),
        ("ws://[::1]:9944/", "ws://[::1]:9944"),
        ("wss://node.example:secret", "the configured node"),
        ("wss://node\x1b2.example", "wss://node\ufffd2.example"),
        ("wss://node\x1b[2J.example", "the configured node"),
    ],
)
def test_no_secret_of_a_url_is_told(network: str, told: str) -> None:
    assert public_endpoint(network) == told
