r"""The dialect of patterns: regular expressions that mean the same in every language.

It has what Python, JavaScript, Go, Rust, Java and RE2 read alike, over Unicode code points, when a
pattern fits the whole of a text::

    pattern  branch | branch …
    branch   atoms in a row, each perhaps with * + ? {n} {n,} {n,m}, n and m at most 1000
    atom     a character; an escape; a class; (pattern); (?:pattern)
             (?s:pattern), in which a dot is any character
    class    [abc], [a-z], [^a-z]: characters, ranges and escapes
    escape   \d \D \w \W over ASCII; \n \r \t; \ before any of ^$.*+?()[]{}|/ and \ itself,
             in a class also before -

What languages read in different ways is left out: a dot anywhere else (which line ends does it
take?), \s, \b, anchors, lazy and possessive repetition, looking around, back references, flags.
"""

from __future__ import annotations

import re

from tallystick.errors import FormulaError

_ESCAPED = r"\\[dDwWnrt\\^$.*+?()\[\]{}|/]"
_LITERAL = r"[^\\^$.*+?()\[\]{}|\ud800-\udfff]"
_IN_CLASS = r"(?:[^\\^\[\]\-\ud800-\udfff]|\\[dDwWnrt\\^$.*+?()\[\]{}|/\-])"
_CLASS = rf"\[\^?(?:{_IN_CLASS}(?:-{_IN_CLASS})?)+\]"
_TOKEN = re.compile(
    rf"(?P<open>\((?:\?s?:)?)|(?P<close>\))|(?P<branch>\|)|(?P<dot>\.)"
    rf"|(?P<repeat>[*+?]|\{{\d{{1,4}}(?:,\d{{0,4}})?\}})"
    rf"|(?P<atom>{_LITERAL}|{_ESCAPED}|{_CLASS})",
    re.ASCII,
)
# up to another bracket alone, or each of many that are open would look through all that follows
_DOUBLED = re.compile(r"\[[^\[\]]*(?:&&|~~|\|\|)")
_MOST = 1000


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that is no regular expression of the dialect.

    Raises:
        FormulaError: it is none; the message says from where on.
    """
    position = _end_of_dialect(pattern)
    if position is None:
        try:
            re.compile(pattern, re.ASCII)
        except re.error as error:
            position = error.pos or 0
    if position is not None:
        raise FormulaError(
            f"found the pattern {pattern!r}, expected a regular expression that every language "
            f"reads alike, from character {position + 1} on: see docs/formulas.md, Patterns"
        )


def _end_of_dialect(pattern: str) -> int | None:
    """Return the position, from 0, at which a pattern leaves the dialect; None if it does not."""
    dots, position, repeatable = [False], 0, False
    if (doubled := _DOUBLED.search(pattern)) is not None:
        return doubled.end() - 2
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None or not _fits(token, repeatable=repeatable, dot=dots[-1]):
            return position
        if token["open"]:
            dots.append(dots[-1] or token["open"] == "(?s:")
        elif token["close"]:
            dots.pop()
            if not dots:
                return position
        repeatable = bool(token["atom"] or token["dot"] or token["close"])
        position = token.end()
    return None if len(dots) == 1 else position


def _fits(token: re.Match[str], *, repeatable: bool, dot: bool) -> bool:
    if token["repeat"]:
        counts = [int(n) for n in re.findall(r"\d+", token["repeat"])]
        return repeatable and all(n <= _MOST for n in counts) and counts == sorted(counts)
    return dot or not token["dot"]
