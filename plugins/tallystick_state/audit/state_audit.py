"""The audit of a state: an export is replayed, held to its checkpoint, and its weights compared.

What an export says follows from its log, or it does not come in; whether its log is the one that
was signed, its checkpoint says; what its miners weigh follows from both.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import attrs

from tallystick.errors import InputError
from tallystick.io.documents import read_json
from tallystick.numbers.nano import to_text
from tallystick_state.audit.results_audit import decimal
from tallystick_state.ledger import Ledger
from tallystick_state.queries import StateQueries
from tallystick_state.replay import Verified, verify
from tallystick_state.rules import StateRules
from tallystick_state.transfer import import_state
from tallystick_state.weights import Weights

if TYPE_CHECKING:
    from tallystick_state.trust.checkpoint import Checkpoint
    from tallystick_state.trust.keys import PublicKey

LARGEST = 2**22
"""The largest file of weights, in bytes."""


@attrs.frozen
class WeightFinding:
    """A miner whose weight is another.

    Attributes:
        uid: its slot.
        found: what was published; None where it has no weight there.
        derived: what the state comes to; None where it has none here.
        distance: how far apart they are; None where one is missing.
    """

    uid: int
    found: str | None
    derived: str | None
    distance: str | None


@attrs.frozen
class StateAudit:
    """The result of an audit of a state.

    Attributes:
        verdict: ``equal`` or ``differs``; of weights alone, as all else is refused.
        verified: what was replayed, and whom the checkpoint is signed by.
        epoch: the open epoch.
        miners: how many have a weight here or there; None where none were published.
        differ: how many of them have another.
        first: the first that differs, by slot.
    """

    verdict: str
    verified: Verified
    epoch: int
    miners: int | None
    differ: int
    first: WeightFinding | None


def audit_state(  # noqa: PLR0913  # what an audit needs
    export: Path,
    checkpoint: Checkpoint | None = None,
    keys: Collection[PublicKey] = (),
    *,
    weights: Mapping[str, int | str] | None = None,
    line: str | None = None,
    accept: Callable[[StateRules], None] = lambda _: None,
) -> StateAudit:
    """Replay an export, hold it to a checkpoint and compare what its miners weigh.

    Args:
        export: what `state export` wrote.
        checkpoint: what its log of epochs must be.
        keys: one of which must have signed the checkpoint; without any nobody is asked.
        weights: what was published, from `read_weights`.
        line: of which line; needed where the state has several.
        accept: as of `import_state`.

    Raises:
        InputError: the export cannot be read, or does not follow from its own log.
        TrustError: the log is not that of the checkpoint, or nobody who may signed it.
        DamagedError: as `state verify`.
        StateError: the state has several lines and none is named, or another one.
    """
    with TemporaryDirectory() as folder:
        where = str(Path(folder) / "state.db")
        import_state(export, where, accept=accept)
        with Ledger.open(where, shown=str(export)) as ledger:
            verified = verify(ledger, checkpoint, keys)
            with ledger.queries() as queries:
                findings, miners = list[WeightFinding](), None
                if weights is not None:
                    own = queries.weights(line=line)
                    slots = _slots(queries, own, weights)
                    findings, miners = list(_unlike(own, slots)), len(slots)
                epoch = queries.state.epoch
    verdict = "differs" if findings else "equal"
    return StateAudit(
        verdict, verified, epoch, miners, len(findings), findings[0] if findings else None
    )


def read_weights(path: Path) -> Mapping[str, int | str]:
    """Return the weights of a file, by slot or hotkey.

    It is JSON: what ``tallystick weights --json`` prints, or an object of weights by slot or by
    hotkey. A weight is text of a decimal, or a whole number as Bittensor takes it, up to 65 535.

    Raises:
        InputError: the file cannot be read, or holds something else.
    """
    try:
        content: Any = read_json(path, largest=LARGEST)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        raise InputError(f"{path}: the weights cannot be read ({reason}): fix the file") from error
    if isinstance(content, dict) and isinstance(content.get("uids"), list):
        shares = content.get("weights")
        if not isinstance(shares, list) or len(shares) != len(content["uids"]):
            raise InputError(f"{path}: found no list of weights as long as that of uids")
        content = dict(zip(map(str, content["uids"]), shares, strict=True))
    if not isinstance(content, dict) or not all(map(_is_weight, content.values())):
        raise InputError(
            f"{path}: found something else than weights, expected an object of decimals as text, "
            "or of whole numbers to 65535, by slot or hotkey"
        )
    return content


def _is_weight(value: object) -> bool:
    if isinstance(value, str):
        digits = value.partition(".")
        return len(value) <= 40 and all(
            d.isascii() and d.isdigit() for d in (digits[0], digits[2] or "0")
        )
    return type(value) is int and 0 <= value <= 2**16 - 1


def _slots(
    queries: StateQueries, own: Weights, weights: Mapping[str, int | str]
) -> dict[int, int | str]:
    """Return the published weights by slot; empty text for a slot that has a weight here alone."""
    uids = queries.state.slots
    slots = dict[int, int | str]()
    for name, weight in weights.items():
        uid = uids.get(name, int(name) if name.isascii() and name.isdigit() else None)
        if uid is None or uid in slots:
            problem = "a miner twice" if uid in slots else f"{name!r}, who has no slot"
            raise InputError(f"found {problem}, expected weights by slot or by hotkey, each once")
        slots[uid] = weight
    return dict.fromkeys(own.uids, "") | slots


def _unlike(own: Weights, slots: Mapping[int, int | str]) -> Iterator[WeightFinding]:
    shares = {
        uid: (share, own.uint16.get(uid)) for uid, share in zip(own.uids, own.weights, strict=True)
    }
    for uid, weight in sorted(slots.items()):
        share, whole = shares.get(uid, (None, None))
        if isinstance(weight, int):
            derived = None if whole is None else str(whole)
        else:
            derived = None if share is None else to_text(share)
        there = None if weight == "" else Fraction(weight)
        here = None if derived is None else Fraction(derived)
        # who has no weight weighs nothing
        if (there or Fraction(0)) != (here or Fraction(0)):
            apart = None if here is None or there is None else abs(there - here)
            yield WeightFinding(
                uid,
                None if there is None else str(weight),
                derived,
                None if apart is None else decimal(apart),
            )
