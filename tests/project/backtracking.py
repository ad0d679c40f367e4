"""Whether the time of a regular expression grows faster than the text that it is tried on.

A pattern is read as an automaton: a position for each letter or class, and edges to the positions
that may follow, each with its letters. Python tries every way through it, until one fits. There are
as many as letters squared, or worse, where one word leads from a position to itself, from it to
another one, and from that to itself: the engine may change over anywhere in a run of such words.
The text before the match is one more such loop where a search may begin anywhere.

A possessive repeat is left where its body cannot go on; a look-ahead is a way of its own, which
leads nowhere; a look-behind counts at the beginning of a pattern, and is let by elsewhere. A repeat
of at most `BOUNDED` times is followed twice.
"""

import re
import re._compiler as compiler  # type: ignore[import-not-found]
import re._constants as sre  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

BOUNDED = 100
Letters = frozenset[str]
NONE: Letters = frozenset()
_SAMPLES = "".join(map(chr, range(128))) + "\x85\xa0éß\u2028\u2068\u2069\u202e日😀"


@attrs.frozen
class Part:
    """A part of a pattern.

    Attributes:
        first: positions that it may begin at, each with the letters that lead there.
        last: positions that it may end at, each with the letters that do not lead on.
        skip: letters that do not lead past it where it fits nothing; None where it fits some.
    """

    first: Mapping[int, Letters]
    last: Mapping[int, Letters]
    skip: Letters | None


EMPTY = Part({}, {}, NONE)


class Automaton:
    """The positions of a pattern, and the edges between them."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        source = pattern.pattern
        text = source if isinstance(source, str) else source.decode("latin-1")
        self._flags = pattern.flags & ~re.UNICODE
        self._alphabet: Letters = frozenset(_SAMPLES + text)
        self.letters: list[Letters] = []
        self.edges: dict[int, dict[int, Letters]] = {}
        self.twice: set[tuple[int, int]] = set()
        self._of_node: dict[str, Letters] = {}
        nodes = list(parser.parse(text, self._flags))
        begins = [
            "AT_BEGINNING_STRING",
            *([] if pattern.flags & re.MULTILINE else ["AT_BEGINNING"]),
        ]
        self._is_anchored = nodes[0][0] is sre.AT and nodes[0][1].name in begins
        self._is_checked = nodes[-1][0] in {sre.AT, sre.ASSERT, sre.ASSERT_NOT}
        self._before = self._alphabet
        while nodes and nodes[0][0] is sre.ASSERT_NOT and nodes[0][1][0] < 0:
            self._before -= self._letters_of(*nodes.pop(0)[1][1][-1])
        self._whole = self._sequence(nodes)

    def is_slow(self, method: str) -> bool:
        """Return whether a method of `re` takes more a letter in a longer text."""
        is_whole = method == "fullmatch" or self._is_checked
        accepting = set() if is_whole else {*self._whole.last}
        edges = {start: {**ends} for start, ends in self.edges.items()}
        if method not in {"match", "fullmatch"} and not self._is_anchored:
            within, outside = len(self.letters), len(self.letters) + 1
            loop = {within: self._before, outside: self._alphabet - self._before}
            edges |= {within: {**loop, **self._whole.first}, outside: loop}
        reached = {start: _reachable(edges, start) for start in edges}
        loops = [position for position, ends in reached.items() if position in ends]
        if any(first in reached.get(second, {first}) for first, second in self.twice):
            return True
        return any(
            _changes_over(edges, p, q)
            for p in loops
            for q in loops
            if p != q and q in reached[p] and q not in accepting
        )

    def _letters_of(self, *node: Any) -> Letters:  # noqa: ANN401  # trees have no public types
        """Return the letters of the alphabet that a part of one letter fits."""
        key = repr(node)
        if key not in self._of_node:
            single = parser.SubPattern(parser.State(), [node])
            single.state.flags = self._flags
            fits = compiler.compile(single, self._flags & ~re.DEBUG).fullmatch
            self._of_node[key] = frozenset(filter(fits, self._alphabet))
        return self._of_node[key]

    def _sequence(self, nodes: Iterable[Any]) -> Part:
        whole = EMPTY
        for op, argument in nodes:
            whole = self._joined(whole, self._part(op, argument))
        return whole

    def _part(self, op: Any, argument: Any) -> Part:  # noqa: ANN401
        match op:
            case sre.LITERAL | sre.NOT_LITERAL | sre.ANY | sre.IN:
                position = len(self.letters)
                self.letters.append(self._letters_of(op, argument))
                return Part({position: self.letters[-1]}, {position: NONE}, None)
            case sre.BRANCH:
                branches = [self._sequence(branch) for branch in argument[1]]
                # two ways to fit nothing, as in (?:a|a), whose branches begin alike
                if sum(part.skip is not None for part in branches) > 1:
                    self.twice.add((-1, -1))
                return _either(branches)
            case sre.SUBPATTERN:
                return self._sequence(argument[3])
            case sre.ATOMIC_GROUP:
                return self._sequence(argument)
            case sre.MAX_REPEAT | sre.MIN_REPEAT | sre.POSSESSIVE_REPEAT:
                return self._repeat(*argument, is_possessive=op is sre.POSSESSIVE_REPEAT)
            case sre.ASSERT | sre.ASSERT_NOT if argument[0] > 0:
                return Part(self._sequence(argument[1]).first, {}, NONE)
            case sre.ASSERT | sre.ASSERT_NOT | sre.AT:
                return EMPTY
        raise NotImplementedError(f"{op}: add what it fits")

    def _repeat(self, least: int, most: int, body: Any, *, is_possessive: bool) -> Part:  # noqa: ANN401
        part = self._sequence(body)
        if most > BOUNDED:
            self._lead(part.last, part.first)
        elif most > 1:
            again = self._sequence(body)
            part = self._joined(part, again if least > 1 else attrs.evolve(again, skip=NONE))
        goes_on = frozenset[str]().union(*part.first.values()) if is_possessive else NONE
        last = {position: barred | goes_on for position, barred in part.last.items()}
        skip = goes_on if least == 0 else part.skip
        return Part(part.first, last, skip)

    def _joined(self, left: Part, right: Part) -> Part:
        self._lead(left.last, right.first)
        first, last = dict(left.first), dict(right.last)
        if left.skip is not None:
            first |= {position: letters - left.skip for position, letters in right.first.items()}
        if right.skip is not None:
            last |= {position: barred | right.skip for position, barred in left.last.items()}
        both = left.skip is not None and right.skip is not None
        return Part(first, last, (left.skip or NONE) | (right.skip or NONE) if both else None)

    def _lead(self, last: Mapping[int, Letters], first: Mapping[int, Letters]) -> None:
        for start, barred in last.items():
            for end, letters in first.items():
                ends = self.edges.setdefault(start, {})
                if ends.get(end, NONE) & (letters - barred):
                    self.twice.add((start, end))
                ends[end] = ends.get(end, NONE) | (letters - barred)


def _either(parts: list[Part]) -> Part:
    first = {position: letters for part in parts for position, letters in part.first.items()}
    last = {position: barred for part in parts for position, barred in part.last.items()}
    skips = [part.skip for part in parts if part.skip is not None]
    return Part(first, last, frozenset.intersection(*skips) if skips else None)


def _reachable(edges: Mapping[int, Mapping[int, Letters]], start: int) -> set[int]:
    reached: set[int] = set()
    waiting = [start]
    while waiting:
        ends = {end for end, letters in edges.get(waiting.pop(), {}).items() if letters}
        waiting += ends - reached
        reached |= ends
    return reached


def _changes_over(edges: Mapping[int, Mapping[int, Letters]], p: int, q: int) -> bool:
    """Return whether one word leads from p to p, from p to q, and from q to q."""
    seen = {(p, p, q)}
    waiting = [*seen]
    while waiting:
        states = waiting.pop()
        one, two, three = (edges.get(state, {}) for state in states)
        for a, by_one in one.items():
            for b, by_two in two.items():
                if not (both := by_one & by_two):
                    continue
                for c, by_three in three.items():
                    if (a, b, c) not in seen and both & by_three:
                        if (a, b, c) == (p, q, q):
                            return True
                        seen.add((a, b, c))
                        waiting.append((a, b, c))
    return False
