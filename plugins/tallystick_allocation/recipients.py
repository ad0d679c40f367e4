"""Recipients: who gets a share because rules, a round or pools name it, miner or not.

A recipient is a hotkey; a slot with the block at which its hotkey registered, ``uid:N@BLOCK``; or
the owner of the subnet, ``owner``. A slot alone, ``uid:N`` or the number N, is whoever holds it:
steps give it a share, and no row of weights pays it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from tallystick_allocation.uint16 import LAST_UID

OWNER = "owner"
"""Key of the owner of the subnet, whose slot the chain alone knows."""
EXPECTED = (
    f'a hotkey, "{OWNER}", or a slot with the block of its registration, such as "uid:7@4200000"'
)
_UID = "uid:"
_LONGEST = 64
_SLOT = re.compile(rf"{_UID}([0-9]{{1,5}})(?:@([0-9]{{1,16}}))?")


def key_of(recipient: str | int) -> str:
    """Return the key of a recipient, by which columns and weights have it."""
    return f"{_UID}{recipient}" if isinstance(recipient, int) else recipient


def slot_of(key: str) -> int | None:
    """Return the uid of a key that is a slot; None of a hotkey, and of the owner."""
    slot = _slot(key)
    return None if slot is None else slot[0]


def registration_of(key: str) -> int | None:
    """Return the block at which the hotkey of a slot registered; None where the key has none."""
    slot = _slot(key)
    return None if slot is None else slot[1]


def is_bound(key: str) -> bool:
    """Return whether a key is somebody, rather than whoever holds a slot."""
    return not key.startswith(_UID) or registration_of(key) is not None


def is_recipient(key: str) -> bool:
    """Return whether a text can be a recipient: one that begins as a slot does has to be one."""
    is_slot = key.startswith(_UID)
    return 0 < len(key) <= _LONGEST and (not is_slot or _slot(key) is not None)


def by_slot(
    weights: Mapping[str, int], slots: Mapping[str, int | None]
) -> tuple[dict[int, int], dict[str, int]]:
    """Return weights by slot, and by key those above 0 of recipients whose slot is not known here.

    Args:
        weights: in nano, by hotkey or by the key of a recipient.
        slots: of the miners, by hotkey; who has None is left out.
    """
    by_uid, elsewhere = dict[int, int](), dict[str, int]()
    for key, weight in weights.items():
        slot = slots.get(key, slot_of(key))
        if slot is not None:
            by_uid[slot] = by_uid.get(slot, 0) + weight
        elif weight and key not in slots:
            elsewhere[key] = weight
    return by_uid, elsewhere


def _slot(key: str) -> tuple[int, int | None] | None:
    match = _SLOT.fullmatch(key)
    if match is None or int(match[1]) > LAST_UID:
        return None
    return int(match[1]), None if match[2] is None else int(match[2])
