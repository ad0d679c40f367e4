"""Batches: one spelling for one set of records, and everything else refused with a code."""

import base64
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st
from state.signing import root, written_root
from state.subnet import event
from validator.exchange.houses import RULES, network, own_record
from validator.states import opened

from tallystick.errors import TrustError
from tallystick_chain.simulated.hotkeys import address_of, hotkey_of, signer_of
from tallystick_state.ledger import Ledger
from tallystick_validator import batches
from tallystick_validator.batches import BatchError, Committed, build, check, digest_of, parse

NET = network()
ANN = signer_of("ann")
HOTKEY = address_of(ANN)
OTHER = hotkey_of("ben")
RECORDS = tuple(own_record(HOTKEY, f"t{number}", number % 2) for number in range(6))
LATE = rfc8785.dumps(event("e1", "missed_deadline", "t0", validator=HOTKEY))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """A state without a trust file."""
    return opened(tmp_path_factory.mktemp("plain") / "state.db", RULES)


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Ledger:
    """A state whose trust file hears one validator."""
    folder = tmp_path_factory.mktemp("trusted")
    trust = written_root(folder, root(events=[HOTKEY]))
    return Ledger.create(folder / "state.db", RULES, trust=trust)


def made(state: Ledger, *lines: bytes) -> bytes:
    """The bytes of a batch of some lines."""
    built = build(lines, 1, HOTKEY, NET, state, ANN)
    assert not built.left_out
    return built.data


def checked(state: Ledger, data: bytes) -> None:
    """Take some bytes as a peer does that has their hash."""
    check(parse(data, digest_of(data)), Committed(1, "", HOTKEY), NET, state)


def test_what_is_made_is_taken(plain: Ledger, trusted: Ledger) -> None:
    for state in (plain, trusted):
        data = made(state, *RECORDS, LATE)
        checked(state, data)
        batch = parse(data, digest_of(data))
        assert sorted(batch.lines) == sorted((*RECORDS, LATE))
        assert (batch.envelope is None) == (state is plain)


@given(st.permutations(RECORDS), st.integers(0, 5), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_order_spelling_and_repetition_of_records_change_no_byte(
    plain: Ledger, order: list[bytes], twice: int, rng: random.Random
) -> None:
    def spelled(line: bytes) -> bytes:
        items = list(json.loads(line).items())
        rng.shuffle(items)
        return json.dumps(dict(items), indent=rng.choice([None, 1])).encode()

    given_lines = [spelled(line) for line in (*order, order[twice])]
    assert made(plain, *given_lines) == made(plain, *RECORDS)


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b'{"a": NaN}',
        b"{}",
        b'"\\ud800"',
        b"[" * 5000,
        own_record(OTHER, "t1", 0),
        own_record(HOTKEY, "t1", 2),
        own_record(HOTKEY, "t1", 0).replace(b'"round":0', b'"round":2'),
        own_record(HOTKEY, "t1", 0).replace(b'"round":0', b'"round":-1'),
        own_record(HOTKEY, "t1", 0).replace(b'"epoch":0', b'"epoch":-1'),
        own_record(HOTKEY, "t1", 0).replace(b'"epoch":0', b'"epoch":1' + b"0" * 30),
        own_record(HOTKEY, "t1", 0).replace(b"executable_python", b"unknown_type"),
    ],
    ids=lambda line: line[:20].decode(),
)
def test_a_line_that_the_batch_cannot_have_is_left_out_alone(plain: Ledger, line: bytes) -> None:
    built = build([*RECORDS, line], 1, HOTKEY, NET, plain, None)
    assert built.data == made(plain, *RECORDS)
    ((left_out, reason),) = built.left_out
    assert left_out == line
    assert reason
    assert not build([line], 1, HOTKEY, NET, plain, None).data


def test_a_state_with_a_trust_file_needs_a_key(trusted: Ledger) -> None:
    with pytest.raises(TrustError, match="no key"):
        build(RECORDS, 1, HOTKEY, NET, trusted, None)


def test_more_than_a_batch_may_have_is_refused(
    plain: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = made(plain, *RECORDS)
    for name, limit in (("MAX_LINES", 5), ("MAX_LINES_BYTES", 100), ("MAX_BATCH_BYTES", 100)):
        with monkeypatch.context() as patch:
            patch.setattr(batches, name, limit)
            assert _code(lambda: checked(plain, data)) == "batch-too-large"


def test_a_batch_is_filled_up_to_its_limits_and_the_rest_is_left_out(
    plain: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = parse(made(plain, *RECORDS), digest_of(made(plain, *RECORDS))).lines
    limits = {"MAX_LINES": 4, "MAX_LINES_BYTES": sum(len(line) + 1 for line in whole[:4])}
    for name, limit in limits.items():
        with monkeypatch.context() as patch:
            patch.setattr(batches, name, limit)
            built = build(RECORDS, 1, HOTKEY, NET, plain, None)
            checked(plain, built.data)
            assert parse(built.data, digest_of(built.data)).lines == whole[:4]
            assert {line for line, _ in built.left_out} == {*whole[4:]}


def _code(work: Callable[[], object]) -> str:
    with pytest.raises(BatchError) as caught:
        work()
    assert caught.value.code in batches.CODES
    return caught.value.code


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _headed(data: bytes, **changes: Any) -> bytes:  # noqa: ANN401  # any key of a header
    first, *rest = _lines(data)
    header = {k: v for k, v in (json.loads(first) | changes).items() if v is not None}
    return rfc8785.dumps(header) + b"\n" + b"".join(rest)


SPOILED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "empty": ("batch-form", lambda _: b""),
    "a header alone": ("batch-form", lambda data: _lines(data)[0]),
    "no line end": ("batch-form", lambda data: data[:-1]),
    "an empty line": ("batch-form", lambda data: data + b"\n"),
    "CR LF": ("batch-form", lambda data: data.replace(b"\n", b"\r\n")),
    "a mark": ("batch-form", lambda data: b"\xef\xbb\xbf" + data),
    "another spelling": ("batch-form", lambda data: data.replace(b'"round":0', b'"round": 0')),
    "a key twice": (
        "batch-form",
        lambda data: data.replace(b'"round":0', b'"round":0,"round":0', 1),
    ),
    "no JSON": ("batch-form", lambda data: data + b"{\n"),
    "deep JSON": ("batch-form", lambda data: data + b"[" * 100_000 + b"]" * 100_000 + b"\n"),
    "another format": ("batch-form", lambda data: _headed(data, format=2)),
    "an unknown key": ("batch-form", lambda data: _headed(data, more=1)),
    "no epoch": ("batch-form", lambda data: _headed(data, epoch=None)),
    "an epoch below 0": ("batch-form", lambda data: _headed(data, epoch=-1)),
    "a header of another kind": ("batch-form", lambda data: b"[]\n" + data),
    "another epoch": ("batch-other-epoch", lambda data: _headed(data, epoch=2)),
    "another validator": ("batch-other-validator", lambda data: _headed(data, validator=OTHER)),
    "another network": ("batch-other-network", lambda data: _headed(data, network="else")),
    "another genesis": (
        "batch-other-genesis",
        lambda data: _headed(data, genesis=f"sha256:{'0' * 64}"),
    ),
    "a line of another": (
        "batch-line",
        lambda data: data + own_record(OTHER, "t1", 0) + b"\n",
    ),
    "a line twice": ("batch-order", lambda data: data + _lines(data)[-1]),
    "another order": (
        "batch-order",
        lambda data: b"".join([_lines(data)[0], *reversed(_lines(data)[1:])]),
    ),
    "an unknown type": (
        "batch-line",
        lambda data: data.replace(b"executable_python", b"executable_cobol"),
    ),
    "no record": ("batch-line", lambda data: data + b"{}\n"),
    "a record of a later epoch": (
        "batch-line",
        lambda data: data + own_record(HOTKEY, "t9", 2) + b"\n",
    ),
    "a round of another epoch": (
        "batch-line",
        lambda data: data.replace(b'"round":0', b'"round":4'),
    ),
}


@pytest.mark.parametrize(("code", "spoil"), SPOILED.values(), ids=SPOILED.keys())
def test_a_batch_that_is_spoiled_is_refused(
    plain: Ledger, code: str, spoil: Callable[[bytes], bytes]
) -> None:
    spoiled = spoil(made(plain, *RECORDS))
    assert _code(lambda: checked(plain, spoiled)) == code


def _envelope(data: bytes) -> dict[str, Any]:
    envelope: dict[str, Any] = json.loads(_lines(data)[0])["envelope"]
    return envelope


def _without_a_signer(data: bytes) -> bytes:
    return _headed(data, envelope=_envelope(data) | {"signatures": []})


def _spelled_otherwise(data: bytes) -> bytes:
    """Another base64 of the same payload, which verifies all the same."""
    envelope = _envelope(data)
    urlsafe = envelope["payload"].replace("+", "-").replace("/", "_")
    changed = urlsafe if urlsafe != envelope["payload"] else envelope["payload"] + "\n"
    return _headed(data, envelope=envelope | {"payload": changed})


def _other_statement(data: bytes) -> bytes:
    envelope = _envelope(data)
    payload = base64.b64decode(envelope["payload"]).replace(HOTKEY.encode(), OTHER.encode())
    return _headed(data, envelope=envelope | {"payload": base64.b64encode(payload).decode()})


UNSIGNED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "no envelope": ("batch-signature", lambda data: _headed(data, envelope=None)),
    "no signature": ("batch-form", _without_a_signer),
    "another statement": ("batch-signature", _other_statement),
    "one line less": ("batch-signature", lambda data: b"".join(_lines(data)[:-1])),
    "another spelling": ("batch-form", _spelled_otherwise),
    "no envelope at all": ("batch-form", lambda data: _headed(data, envelope={"a": 1})),
    "an empty envelope": ("batch-form", lambda data: _headed(data, envelope={})),
    "one member more": (
        "batch-form",
        lambda data: _headed(data, envelope=_envelope(data) | {"more": 1}),
    ),
}


@pytest.mark.parametrize(("code", "spoil"), UNSIGNED.values(), ids=UNSIGNED.keys())
def test_a_batch_is_signed_by_its_validator_about_its_lines(
    trusted: Ledger, code: str, spoil: Callable[[bytes], bytes]
) -> None:
    assert _code(lambda: checked(trusted, spoil(made(trusted, *RECORDS)))) == code


def test_another_key_is_not_that_of_the_validator(trusted: Ledger) -> None:
    built = build(RECORDS, 1, HOTKEY, NET, trusted, signer_of("ben"))
    assert _code(lambda: checked(trusted, built.data)) == "batch-signature"


def test_a_signature_where_nobody_asks_for_one_is_refused(plain: Ledger, trusted: Ledger) -> None:
    genesis = plain.in_force.genesis
    data = _headed(made(trusted, *RECORDS), genesis=genesis)
    assert _code(lambda: checked(plain, data)) == "batch-signature"


def test_a_batch_of_another_hash_is_refused(plain: Ledger) -> None:
    assert _code(lambda: parse(made(plain, *RECORDS), "0" * 64)) == "batch-digest"


@pytest.mark.parametrize("number_of", [150, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_hostile_batches_are_refused_or_as_good_as_the_honest_one(
    plain: Ledger, trusted: Ledger, number_of: int
) -> None:
    """Bytes that were changed anywhere, with a hash that fits: refused, or no harm is done."""
    rng, taken = random.Random(number_of), 0
    codes = set[str]()
    honest = [made(plain, *RECORDS, LATE), made(trusted, *RECORDS[:2])]
    for number in range(number_of):
        state = (plain, trusted)[number % 2]
        data = bytearray(honest[number % 2])
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            place, size = rng.randrange(len(data)), rng.choice([0, 1, 1, 2, 40])
            data[place : place + size] = rng.choice(
                [b"", rng.randbytes(size), rng.choice([b"\n", b"{", b'"', b"\\u0000", b"9"])]
            )
        spoiled = bytes(data)
        try:
            batch = parse(spoiled, digest_of(spoiled))
            check(batch, Committed(1, "", HOTKEY), NET, state)
        except BatchError as error:
            codes.add(error.code)
            continue
        # another value of a record that its validator may well have meant, and signed if asked
        taken += 1
        assert batch.validator == HOTKEY
        # a signature covers the lines; the hint at its key is no part of it
        own = honest[1]
        assert state is plain or batch.lines == parse(own, digest_of(own)).lines
    assert taken < number_of / 2
    assert codes <= batches.CODES.keys()
