"""Points that can be public keys: 32 bytes, on the curve of Ed25519 and of sr25519.

Libraries differ in what they refuse here. So it is decided once, by the numbers of RFC 8032 (the
curve) and RFC 9496 (ristretto255, whose encodings are the public keys of sr25519).
"""

from __future__ import annotations

SIZE = 32
"""Bytes of a public key."""
ORDER = 2**252 + 27742317777372353535851937790883648493
"""The order of the group: the scalar of a signature is below it."""

_P = 2**255 - 19
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)


def is_edwards_key(data: bytes) -> bool:
    """Return whether bytes are the only encoding of a point of edwards25519 of no small order.

    For a point of small order a signature is easily made that many messages have.
    """
    if len(data) != SIZE:
        return False
    number = int.from_bytes(data, "little")
    y, sign = number & (2**255 - 1), number >> 255
    if y >= _P:
        return False
    y2 = y * y % _P
    # x² = u/v is a square exactly if u·v is
    u, v = y2 - 1, _D * y2 + 1
    if u == 0 and sign:
        return False
    return pow(u * v, (_P - 1) // 2, _P) in (0, 1) and not _is_of_small_order(y, y2)


def _is_of_small_order(y: int, y2: int) -> bool:
    """Return whether 8 times the point is neutral: y is 0, 1, -1, or d·y⁴ + 2·y² = 1.

    The last is x² = -y², by which doubling gives a point with y = 0.
    """
    return y in (0, 1, _P - 1) or (_D * y2 * y2 + 2 * y2 - 1) % _P == 0


def is_ristretto_key(data: bytes) -> bool:
    """Return whether bytes encode a ristretto255 element (RFC 9496, 4.3.1), not the identity.

    For the identity, 32 zero bytes, anybody can sign.
    """
    s = int.from_bytes(data, "little")
    if len(data) != SIZE or s >= _P or s & 1 or s == 0:
        return False
    ss = s * s % _P
    u1, u2 = 1 - ss, 1 + ss
    u2_squared = u2 * u2 % _P
    v = (-_D * u1 * u1 - u2_squared) % _P
    is_square, inverse_root = _inverse_root(v * u2_squared % _P)
    x = _absolute(2 * s * inverse_root * u2)
    y = u1 * inverse_root * inverse_root * u2 * v % _P
    return is_square and not x * y % _P & 1 and y != 0


def _inverse_root(v: int) -> tuple[bool, int]:
    """Return whether 1/v is a square, and then its root (RFC 9496, 4.2, with u = 1)."""
    root = pow(v, 3, _P) * pow(pow(v, 7, _P), (_P - 5) // 8, _P) % _P
    check = v * root * root % _P
    if check == 1:
        return True, root
    return check == _P - 1, root * _ROOT_OF_MINUS_ONE % _P


def _absolute(number: int) -> int:
    number %= _P
    return _P - number if number & 1 else number


def scalar_of(data: bytes) -> int:
    """Return a scalar of 32 bytes, the lowest first."""
    return int.from_bytes(data, "little")
