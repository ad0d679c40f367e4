"""Receipts of a gate: that a change of rules was asked the clauses of a policy, and passed.

The gate itself stands above; here is the format that it writes, and the check of an adoption by it.
A receipt proves nothing by itself. Whoever doubts it asks the gate again: the same policy, rules
and world give the same bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from tallystick.canonical import CanonicalError, canonical_bytes, digest
from tallystick.errors import TrustError
from tallystick.json_values import json_form
from tallystick_state.trust.encoding import check_schema, check_size, read_file, sound_json

MAX_GATE_RECEIPT_BYTES = 256 * 1024
"""Maximum size of the receipt of a gate, in bytes."""
SCHEMA = "gate-receipt-1"
_WHAT = "the receipt of a gate"
_BAD = "bad-gate-receipt"


@attrs.frozen
class GateReceipt:
    """A receipt of a gate.

    Attributes:
        content: the JSON object, which fits its schema.
    """

    content: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> GateReceipt:
        """Return the receipt in a file.

        Raises:
            InputError: the file cannot be read.
            TrustError: it is no receipt of a gate.
        """
        data = read_file(path, MAX_GATE_RECEIPT_BYTES, _WHAT)
        return cls.of(sound_json(data, str(path), _BAD, exact=True), str(path))

    @classmethod
    def of(cls, value: Any, where: str) -> GateReceipt:  # noqa: ANN401  # whoever forged it
        """Return the receipt that a JSON value is.

        Args:
            value: the value.
            where: the name of its file or log, for errors.

        Raises:
            TrustError: it is no receipt of a gate, is too large, or contradicts itself.
        """
        check_schema(SCHEMA, value, where, _BAD)
        try:
            check_size(canonical_bytes(value), MAX_GATE_RECEIPT_BYTES, where, _WHAT)
        except CanonicalError as error:
            raise TrustError(f"{where}: found no canonical form ({error})", code=_BAD) from None
        receipt = cls(value)
        broken = receipt.broken()
        if value["passed"] == bool(broken):
            state = "passed" if value["passed"] else "not passed"
            named = ", ".join(broken[:3]) or "none"
            message = f"{where}: found {state} with the broken clauses {named}, expected a receipt"
            raise TrustError(f"{message} that agrees with its clauses", code=_BAD)
        return receipt

    @property
    def digest(self) -> str:
        """The digest of what it says."""
        return digest(self.content)

    def to_bytes(self) -> bytes:
        """Return the receipt as it is written: RFC 8785, and the end of a line."""
        return canonical_bytes(self.content) + b"\n"

    def broken(self) -> tuple[str, ...]:
        """Return the names of the clauses that are broken."""
        clauses = self.content["clauses"]
        return tuple(clause["clause"] for clause in clauses if clause["outcome"] == "broken")

    def check(self, policy: str, previous: str, rule_set: str) -> None:
        """Refuse a receipt that does not let an adoption pass.

        Args:
            policy: the digest of the policy that the trust file names.
            previous: the digest of the rules in force before the adoption.
            rule_set: the digest of the rules that are adopted.

        Raises:
            TrustError: it is of another policy or change, or did not pass.
        """
        for code, what, key, expected in (
            ("gate-other-policy", "policy of the trust file", "policy", policy),
            ("gate-other-rules", "rules before", "old", previous),
            ("gate-other-rules", "rules after", "new", rule_set),
        ):
            actual = self.content[key]["digest"]
            if actual != expected:
                message = f"found the receipt of a gate with {actual}, expected the {what}"
                raise TrustError(f"{message}: {expected}", code=code)
        if not self.content["passed"]:
            raise TrustError(
                f"found the receipt of a gate that broke {', '.join(self.broken())}, expected one "
                "that passed: change the rules, or rotate to a trust file with another policy",
                code="gate-not-passed",
            )


json_form(GateReceipt, lambda receipt: dict(receipt.content))
