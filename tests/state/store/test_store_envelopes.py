"""Envelopes stand beside the log, and stated blocks are found in it."""

from state.store.filled import made

from tallystick_state.trust.envelope import Envelope, Signature


def test_an_envelope_is_found_by_its_statement_and_joined(where: str) -> None:
    store = made(where)
    one, other = (Envelope(name, "text/plain", (Signature("", b"1"),)) for name in (b"a", b"b"))
    with store.writing() as transaction:
        assert transaction.envelope(one.statement_digest) is None
        transaction.put_envelope(one)
        transaction.put_envelope(other)
        transaction.put_envelope(Envelope(b"a", "text/plain", (Signature("", b"2"),)))
    with store.reading() as transaction:
        joined = transaction.envelope(one.statement_digest)
        assert joined is not None
        assert joined.signatures == (Signature("", b"1"), Signature("", b"2"))
        assert transaction.envelope(other.statement_digest) == other
