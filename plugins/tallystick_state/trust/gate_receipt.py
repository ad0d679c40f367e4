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
    def policy(self) -> str:
        """The digest of the policy."""
        return str(self.content["policy"]["digest"])

    @property
    def old(self) -> str:
        """The digest of the rules before."""
        return str(self.content["old"]["digest"])

    @property
    def new(self) -> str:
        """The digest of the rules after."""
        return str(self.content["new"]["digest"])

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
        if self.policy != policy:
            message = f"found the receipt of a gate by the policy {self.policy}, expected {policy}"
            raise TrustError(f"{message}, as the trust file says", code="gate-other-policy")
        for what, found, expected in (
            ("rules before", self.old, previous),
            ("rules after", self.new, rule_set),
        ):
            if found != expected:
                message = f"found the receipt of a gate with the {what} {found}"
                raise TrustError(f"{message}, expected {expected}", code="gate-other-rules")
        if not self.content["passed"]:
            names = ", ".join(self.broken())
            message = f"found the receipt of a gate that broke {names}, expected one that passed"
            raise TrustError(
                f"{message}: change the rules, or rotate to a trust file with another policy",
                code="gate-not-passed",
            )


json_form(GateReceipt, lambda receipt: dict(receipt.content))


def check_gate(
    policy: str | None, receipt: GateReceipt | None, previous: str, rule_set: str
) -> None:
    """Refuse an adoption whose receipt is not the one that a trust file asks for.

    Args:
        policy: the digest of the policy that the trust file names; None where it names none.
        receipt: the receipt; None without.
        previous: the digest of the rules in force before the adoption.
        rule_set: the digest of the rules that are adopted.

    Raises:
        TrustError: there must be one and is none, there is one that nothing asks for, or it does
            not let the adoption pass.
    """
    if policy is None:
        if receipt is not None:
            raise TrustError(
                "found the receipt of a gate, expected none, as no trust file of this state names "
                "a policy: leave it out, or rotate to a trust file with gate",
                code="no-gate",
            )
        return
    if receipt is None:
        raise TrustError(
            f"found no receipt of a gate, expected one by the policy {policy}, as the trust file "
            "says: make it with tallystick rules gate, and give it by --gate-receipt",
            code="gate-missing",
        )
    receipt.check(policy, previous, rule_set)
