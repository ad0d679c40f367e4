"""The file of a dispute: everything that shows who is wrong, for anyone to check offline.

It is RFC 8785 with a line end (``dispute-1``); other spellings are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tallystick.canonical import canonical_bytes
from tallystick.errors import TrustError
from tallystick.plugins.registry import installed_plugins
from tallystick_state.audit.dispute import Dispute
from tallystick_state.audit.side import RuleText
from tallystick_state.audit.verdict import LETTERS, Verdict
from tallystick_state.trust.encoding import json_value, read_file
from tallystick_state.trust.envelope import Envelope
from tallystick_state.trust.keys import PublicKey
from tallystick_state.trust.policy import key_of_hotkey
from tallystick_state.trust.proof import (
    check_canonical,
    proof_of_value,
    row_text,
    rows_of_value,
)
from tallystick_state.trust.schema import check
from tallystick_state.trust.verification import Against, Verified

FORMAT = 1
"""The version of the file."""
MOST_BYTES = 1 << 30
"""The most bytes of a file: some disputes carry every row of a step."""


def dispute_value(found: Dispute) -> dict[str, Any]:
    """A dispute as a JSON value.

    Raises:
        TrustError: there are no rows to show.
    """
    if not found.proofs:
        raise TrustError(
            f"found no row that two sides differ in, expected a dispute: {found.verdict.reason}",
            code="bad-dispute",
        )
    sides = {
        side: {"name": found.names[side], "proof": found.proofs[side].to_value()}
        for side in LETTERS
    }
    record = {} if found.record is None else {"record": dict(found.record)}
    batches = {side: each.to_value() for side, each in found.batches.items()}
    return {
        **sides,
        **record,
        **({"batches": batches} if batches else {}),
        "evidence": [each.to_value() for each in found.evidence],
        "format": FORMAT,
        "rules": [
            {"digest": each.digest, "reference": each.reference, "text": each.text}
            for each in found.rules
        ],
        "verdict": found.verdict.to_value(),
    }


def dispute_bytes(found: Dispute) -> bytes:
    """The file of a dispute.

    Raises:
        TrustError: there are no rows to show.
    """
    return canonical_bytes(dispute_value(found)) + b"\n"


def read_dispute(data: bytes, where: str) -> Dispute:
    """The dispute that a file holds, not yet checked.

    Raises:
        TrustError: it holds none, or is not in its canonical form.
    """
    value = json_value(data, where, "bad-dispute")
    check("dispute-1", value, where, "bad-dispute")
    check_canonical(value, data, where)
    for side in LETTERS:
        check("proof-1", value[side]["proof"], f"{where}: side {side}", "bad-dispute")
        if value[side]["proof"]["kind"] != "inclusion":
            raise TrustError(
                f"{where}: side {side}: found a proof of consistency, expected one of inclusion",
                code="bad-dispute",
            )
    said = value["verdict"]
    return Dispute(
        verdict=Verdict(**said),
        names={side: value[side]["name"] for side in LETTERS},
        proofs={side: proof_of_value(value[side]["proof"]) for side in LETTERS},
        evidence=tuple(map(rows_of_value, value["evidence"])),
        rules=tuple(RuleText(**each) for each in value["rules"]),
        record=value.get("record"),
        batches={
            side: Envelope.of_value(each, f"{where}: the batch of side {side}")
            for side, each in value.get("batches", {}).items()
        },
    )


def verify_dispute(path: Path, against: Against) -> Verified:
    """Check a dispute with nothing but its file and the plugins that its rules name.

    Args:
        path: the file.
        against: whose signatures the checkpoints of the sides must have.

    Raises:
        InputError: the file cannot be read.
        RuleSetError: its rules do not load with the installed plugins.
        TrustError: a proof does not hold, the verdict does not follow, or nobody signed.
    """
    found = read_dispute(read_file(path, MOST_BYTES, "a dispute"), str(path))
    found.check(installed_plugins())
    signers = {side: _signers(found, side, against) for side in LETTERS}
    batches = {side: _batch_signers(found, side, against) for side in sorted(found.batches)}
    verdict = found.verdict
    view = {
        "kind": "dispute",
        "verdict": verdict.to_value(),
        "sides": dict(found.names),
        "signed_by": {side: against.names(each) for side, each in signers.items()},
        "batches_signed_by": {side: against.names(each) for side, each in batches.items()},
        "checked": True,
    }
    return Verified(
        "dispute",
        checked=True,
        view=view,
        lines=(*told(found), *_told(found, signers, against), *_told_batches(batches, against)),
    )


def told(found: Dispute) -> tuple[str, ...]:
    """A dispute for people."""
    verdict = found.verdict
    if verdict.epoch is None:
        return (f"equal: {verdict.reason}",)
    place = f"epoch {verdict.epoch}"
    if verdict.step is not None and verdict.key is not None:
        place += f", step {verdict.step}, row {row_text(verdict.key)}"
    wrong = {
        "a": f"a ({found.names['a']}) is wrong",
        "b": f"b ({found.names['b']}) is wrong",
        "both": "both are wrong",
        "undecided": "who is wrong is undecided",
    }[verdict.wrong]
    derived = () if verdict.derived is None else (f"derived: {row_text(verdict.derived)}",)
    return (f"{verdict.kind}: {place}", f"{wrong}: {verdict.reason}", *derived)


def _signers(found: Dispute, side: str, against: Against) -> frozenset[PublicKey]:
    """Which known keys signed the checkpoint of a side; where keys are given, one must have.

    A side that brings a signed batch, as stores and exports do, may have no checkpoint.
    """
    if against.is_empty or (found.batches and found.proofs[side].checkpoint is None):
        return frozenset()
    signers = found.proofs[side].signers(against.known)
    if not signers:
        raise TrustError(
            f"found no signature by a known key on the checkpoint of side {side}, expected one",
            code="unsigned",
        )
    return signers


def _batch_signers(found: Dispute, side: str, against: Against) -> frozenset[PublicKey]:
    """Which keys of its validator signed a batch; where some are known, one must have.

    The key of a hotkey that is an address is known from it.
    """
    assert found.verdict.key is not None  # noqa: S101  # of the row of inputs that it lists
    validator = str(found.verdict.key[2])
    own, root = key_of_hotkey(validator), against.root
    known = [*against.keys, *([own] if own else []), *(root.keys_for(validator) if root else ())]
    signers = found.batches[side].signers(known)
    if not signers and (known or root):
        raise TrustError(
            f"found no signature by a known key of {validator[:80]} on the batch of side {side}, "
            "expected one: give the trust file that names its keys (--trust)",
            code="unsigned",
        )
    return signers


def _told_batches(batches: Mapping[str, frozenset[PublicKey]], against: Against) -> tuple[str, ...]:
    unsigned = "signatures not verified: give --trust"
    named = {side: ", ".join(against.names(each)) for side, each in batches.items()}
    return tuple(
        f"batch of {side}: {f'signed by {names}' if names else unsigned}"
        for side, names in named.items()
    )


def _told(
    found: Dispute, signers: Mapping[str, frozenset[PublicKey]], against: Against
) -> tuple[str, ...]:
    lines = list[str]()
    for side in LETTERS:
        names = ", ".join(against.names(signers[side]))
        signed = found.proofs[side].checkpoint is not None
        unsigned = "signatures not verified: give --trust or --key" if signed else "nobody signed"
        lines.append(f"roots of {side}: {f'signed by {names}' if names else unsigned}")
    return tuple(lines)
