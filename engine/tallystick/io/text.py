"""Text of strangers, such as hotkeys, names of files and rule sets, made safe for where it goes.

Whatever shows text to people has it from here, each sink at the one place that it cannot go past:
the terminal and its log (`printable`), a name beside other text (`visible`), one line of text or
Markdown (`escaped`), a page (`printable`, as its templates finish every value), JSON (`json_text`)
and a spreadsheet (`spreadsheet_cell`). A page, a picture and Markdown escape their own markup
beside that. What is left holds nothing that is not seen, and no text that moves what stands beside
it. Errors and logs hide passwords, too (`masked`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

_LONG = 20
_LINE_ENDS = "\t\n"
_PIECES = 1 << 14  # tokens of JSON that are written at once
# by number, as what Python knows of characters changes with its version
_OF_ASCII = "\x00-\x1f\x7f"
_BEYOND_ASCII = (
    "\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff"
    "\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 17))
)
_UNSEEN = re.compile(f"[{_OF_ASCII}{_BEYOND_ASCII}]")
_UNSEEN_IN_TEXT = re.compile(f"(?![{_LINE_ENDS}])[{_OF_ASCII}{_BEYOND_ASCII}]")
# JSON escapes the other controls by itself, and has line ends between its values
_UNSEEN_IN_JSON = re.compile(f"[\x7f{_BEYOND_ASCII}]")
NO_SURROGATES = "a text without lone surrogates such as \\ud800"
"""The expectation in messages about a text without `has_utf8`."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_LEFTWARD = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
_IS_LEFTWARD = re.compile(f"[{_LEFTWARD}]")
# from the first letter that runs from right to left to the last one of the line
_LEFTWARD_RUN = re.compile(f"[{_LEFTWARD}](?:[^\n]*[{_LEFTWARD}])?")
_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"
# possessive: without the end of an isolate, nothing is tried again from each of its letters
_ISOLATED = re.compile(
    f"{_ISOLATE}([^{_ISOLATE}{_END_ISOLATE}{_LEFTWARD}\n]*+[{_LEFTWARD}]"
    f"[^{_ISOLATE}{_END_ISOLATE}\n]*+){_END_ISOLATE}"
)

MOST_MASKED = 1 << 16
"""Maximum length of a masked text, in characters; the rest is counted."""
_COUNT = 40  # the characters that the count of the rest needs
_NAMES_SECRET = re.compile(
    "pass(?:word|wd|phrase)|pwd|secret|token|credential|api[_-]?key", re.IGNORECASE
)
_WORD = re.compile(r"\S+")
# in a word up to its password: a user, before whom a scheme with the slashes of a URL may be; with
# one slash or none a scheme is not told from a user, and the user is hidden, too
_USER = re.compile(r"[^:]*+:(?:[/\\]{2,}+[^:]*+:|(?![/\\]{2}))")
# a URL whose password has spaces, up to the @ after it; a port is no password
_SPACED_USER = re.compile(
    r"(:[/\\]++(?!\[)[^\s/:@]*+:)(?!\d{0,5}(?:[/\\\s,;:'\")?\]]|\Z))[^\n@]*+(@?)"
)
_NAME = re.compile(r"(?:(?<![\w%-])|(?<=%3[dD]))((?:(?!%3[dD])[\w%-])++)(?:\s*+=\s*+|%3[dD])")
# what closes a quotation is followed by no letter: a second one may begin there
_CLOSING = r"(?=[\s,;:.&)\]}'\"]|\Z)"
_QUOTED = re.compile(
    rf"'(?:[^'\\]|\\[\s\S]|'(?!{_CLOSING}))*+'?|\"(?:[^\"\\]|\\[\s\S]|\"(?!{_CLOSING}))*+\"?"
)
_NEXT_SETTING = re.compile(r"[&;][\w%-]++=")
# what may end a sentence's part, or close a quotation, is not of the value
_AFTER_VALUE = ":,;&)'\""
_MASK = "***"
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def has_utf8(text: str) -> bool:
    """Return whether a text has a form in UTF-8, as each has that is without lone surrogates."""
    return text.isascii() or not _SURROGATE.search(text)


def visible(text: str) -> str:
    """Return a name without characters that could change the text beside it.

    Characters that cannot be seen, such as controls and turns of the direction, are U+FFFD; text
    that runs from right to left is isolated.
    """
    seen = _UNSEEN.sub("\ufffd", text)
    return _isolated(seen) if _IS_LEFTWARD.search(seen) else seen


def short(hotkey: str) -> str:
    """Return a hotkey that fits a table, as by `visible`; long ones lose their middle."""
    return visible(hotkey if len(hotkey) <= _LONG else f"{hotkey[:10]}…{hotkey[-6:]}")


def escaped(text: str) -> str:
    """Return a text on one line: line ends and characters that cannot be seen are their codes."""
    return _UNSEEN.sub(_code, text)


def printable(text: str) -> str:
    """Return lines as by `escaped`, but with line ends, tabs and what `visible` isolates.

    What runs from right to left is isolated, where it is not yet: a second time changes nothing.
    """
    if text.isascii() and _UNSEEN_IN_TEXT.search(text) is None:
        return text
    outside, *rest = _ISOLATED.split(text)
    pieces = [_outside(outside)]
    for inside, after in zip(rest[::2], rest[1::2], strict=True):
        pieces += [_isolated(_UNSEEN_IN_TEXT.sub(_code, inside)), _outside(after)]
    return "".join(pieces)


def json_text(
    value: object, *, indent: int | None = None, sort_keys: bool = False, ascii_only: bool = False
) -> str:
    """Return a value as JSON text in which characters that cannot be seen are escaped.

    Without an indent it is one line without spaces.
    """
    separators = (",", ":") if indent is None else None
    text = json.dumps(
        value, indent=indent, sort_keys=sort_keys, ensure_ascii=ascii_only, separators=separators
    )
    return _seen_in_json(text)


def json_pieces(value: object, *, indent: int, ascii_only: bool = False) -> Iterator[str]:
    """Yield what `json_text` returns in pieces, so that a large value is never one text as well."""
    encoder = json.JSONEncoder(indent=indent, ensure_ascii=ascii_only)
    pieces = encoder.iterencode(value)
    while piece := "".join(islice(pieces, _PIECES)):
        yield _seen_in_json(piece)


def spreadsheet_cell(text: str) -> str:
    """Return a text that a spreadsheet takes for text: an apostrophe precedes a formula.

    A cell is taken for a formula that begins with ``=``, ``+``, ``-`` or ``@``, narrow or wide, or
    with a tab or a line end, after which there may be one.
    """
    return f"'{text}" if _FORMULA.match(text) else text


def masked(text: str) -> str:
    """Return a text in which ``***`` stands for each password and each token.

    These are what stands between a user and a host, ``//USER:PASSWORD@`` or ``USER:PASSWORD@``,
    and the value of each name that says so, as ``password=``, ``sslpassword=``, ``passwd=`` or
    ``token=``. A text of more than `MOST_MASKED` characters is cut first, between two words, such
    that no part of a password is left of which nothing would tell that it is one.
    """
    whole = _beginning(text)
    is_cut = len(whole) < len(text)
    hidden = _without_settings(_without_users(whole, is_cut=is_cut))
    return f"{hidden}… ({len(text) - len(whole)} more characters)" if is_cut else hidden


def _beginning(text: str) -> str:
    """Return the whole words of what may be shown: half a word may be half a password."""
    if len(text) <= MOST_MASKED:
        return text
    words = text[: MOST_MASKED - _COUNT].rsplit(maxsplit=1)
    return words[0] + " " if len(words) == 2 else ""


def _without_users(text: str, *, is_cut: bool) -> str:
    if ":" not in text or not ("@" in text or is_cut):
        return text

    def spaced(url: re.Match[str]) -> str:
        # where the text is cut, the @ may have been in the rest
        is_user = bool(url[2]) or (is_cut and url.end() == url.endpos)
        return f"{url[1]}{_MASK}{url[2]}" if is_user else url[0]

    return _SPACED_USER.sub(spaced, _WORD.sub(_without_user, text))


def _without_user(found: re.Match[str]) -> str:
    word = found[0]
    end = word.rfind("@")
    user = _USER.match(word, 0, end) if end > 0 else None
    return f"{user[0]}{_MASK}{word[end:]}" if user else word


def _without_settings(text: str) -> str:
    parts, end = list[str](), 0
    for name in _NAME.finditer(text):
        # one in a value that is hidden is hidden with it; the name may be as a URL writes it
        if name.start() >= end and _NAMES_SECRET.search(unquote(name[1])):
            parts += [text[end : name.end()], _MASK]
            end = _end_of_value(text, name.end())
    return "".join([*parts, text[end:]])


def _end_of_value(text: str, start: int) -> int:
    """Return where the value that starts here ends; a quote that is not closed takes the rest."""
    if quoted := _QUOTED.match(text, start):
        return quoted.end()
    word = _WORD.match(text, start)
    if word is None:
        return start
    after = _NEXT_SETTING.search(word[0])
    value = word[0][: after.start()] if after else word[0].rstrip(_AFTER_VALUE)
    return start + len(value)


def _seen_in_json(text: str) -> str:
    # most text is ASCII, of which a string knows at once
    if text.isascii() and "\x7f" not in text:
        return text
    return _UNSEEN_IN_JSON.sub(lambda found: json.dumps(found[0])[1:-1], text)


def _outside(text: str) -> str:
    seen = _UNSEEN_IN_TEXT.sub(_code, text)
    return _LEFTWARD_RUN.sub(lambda found: _isolated(found[0]), seen)


def _isolated(text: str) -> str:
    return f"{_ISOLATE}{text}{_END_ISOLATE}"


def _code(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
