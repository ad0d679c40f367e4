"""Text of strangers, such as hotkeys and names, as it is shown beside other text.

A page or a picture escapes its own markup; what is done here leaves the reader safe: nothing that
is not seen, and no text that moves what stands beside it.
"""

from __future__ import annotations

import re

_LONG = 20
# by number, as what Python knows of characters changes with its version
_UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufdd0-\ufdef"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
_LEFTWARD = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]"
)


def visible(text: str) -> str:
    """A stranger's text that leaves what stands beside it as it is.

    Characters that cannot be seen, such as controls and turns of the direction, are U+FFFD; text
    that runs from right to left is isolated.
    """
    shown = _UNSEEN.sub("\ufffd", text)
    return f"\u2068{shown}\u2069" if _LEFTWARD.search(shown) else shown


def short(hotkey: str) -> str:
    """A hotkey that fits a table, as by `visible`; long ones lose their middle."""
    return visible(hotkey if len(hotkey) <= _LONG else f"{hotkey[:10]}…{hotkey[-6:]}")
