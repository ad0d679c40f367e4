"""The codes of `TrustError`: why a key, a signature, a statement or a trust file does not hold."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    # what cannot be read
    "too-large": "a file is larger than its kind may be",
    "bad-envelope": "an envelope is cut short, or no envelope",
    "bad-base64": "a text is no strict base64, standard or URL-safe",
    "bad-statement": "a payload is no in-toto Statement v1, or does not fit its predicate",
    "not-canonical": "a payload is not in its RFC 8785 form",
    "bad-note": "a text is no signed note",
    "bad-checkpoint": "a text is no checkpoint of a log of epochs",
    "bad-signature": "a signature of a known key does not hold, which spoils its note",
    "bad-proof": "a proof does not lead to the root that it must lead to",
    "row-missing": "a proof shows another row than the one that is asked for",
    "bad-trust-file": "a trust file does not fit its schema or itself",
    "bad-key": "a key is no point of its curve, or contradicts its address",
    "unknown-key-type": "a key is neither ed25519 nor sr25519",
    "encrypted-wallet": "a wallet file is encrypted, or has a phrase alone",
    "readable-key": "others can read a private key or its password, or another user owns it",
    "wrong-password": "a password does not open a key file, or is missing",
    "signer-failed": "an outside signer failed, or gave no signature of its key",
    "library-missing": "a library that checks signatures is not installed",
    # what a trust file may not say
    "no-keys": "a trust file names no key",
    "unreachable-threshold": "all keys of a group together cannot reach its threshold",
    # what was signed is something else
    "other-payload-type": "a payload is no in-toto statement",
    "other-predicate": "a statement is of another kind",
    "other-action": "a statement does something else, such as withdraw in place of adopt",
    "other-network": "a statement or a trust file is of another network",
    "other-genesis": "a statement is of a state that began otherwise",
    "other-line": "a statement is of another line of rule sets",
    "other-previous": "a statement follows other rules, or another trust file, than those in force",
    "other-rules": "a statement is of another rule set",
    "other-epoch": "a statement is of another epoch",
    "other-sequence": "a statement has another sequence number: it was used, or is not due",
    "other-validator": "a batch of events is of another validator",
    "other-subject": "a statement is of another file",
    # who signed does not suffice
    "threshold-not-met": "the signatures that verify do not reach a threshold",
    "too-many-signatures": "an envelope has more signatures than are tried",
    "unsigned": "something that must be signed is not",
    "no-root": "something is signed in a state without a trust file to judge it by",
    "unheard-validator": "a batch of events is of a validator that the trust file does not hear",
    "not-in-batch": "an event is not in the signed batch that it came with",
    # what a checkpoint says of a log of epochs
    "cut-back": "a log has fewer epochs than a checkpoint of it says",
    "rewritten-history": "a log of epochs has another root than a checkpoint of it says",
    # what a trust file asks of a change of rules
    "gate-missing": "a trust file names the policy of a gate, and no receipt of it is given",
    "no-gate": "a receipt of a gate is given where no trust file names a policy",
    "bad-gate-receipt": "a text is no receipt of a gate, or contradicts itself",
    "gate-other-policy": "a receipt of a gate is of another policy than the trust file names",
    "gate-other-rules": "a receipt of a gate is of another change of rules than the adoption",
    "gate-not-passed": "a receipt of a gate has a broken clause",
    # rollback, freeze, and rotation
    "rollback": "a trust file has no greater version than the one in force",
    "circular-rotation": "a trust file was in force before",
    "other-root": "a state has another trust file than the one that was given",
    "expired-root": "a trust file has expired at the stated block",
    "expired-statement": "a statement has expired at the stated block",
    "block-needed": "something expires at a block, and none was stated",
    "block-went-back": "a stated block is before one that was stated earlier",
}
"""Each code with what it says."""
