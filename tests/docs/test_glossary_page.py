"""The glossary: sorted, and a word in italics has a row."""

import re

from manual.page import Page
from manual.table import rows_of

_ROWS = [
    (word.strip("*"), meaning) for word, meaning in rows_of(Page.of("docs/glossary.md")) if word
]
_WORDS = [word for word, _ in _ROWS]


def test_the_words_are_sorted_and_stand_once() -> None:
    assert [word.casefold() for word in _WORDS] == sorted({word.casefold() for word in _WORDS})


def test_a_word_in_italics_has_a_row() -> None:
    known = {word.casefold() for word in _WORDS}
    for word, meaning in _ROWS:
        for found in re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)", meaning):
            forms = {found, found.removesuffix("s"), found.replace("axes", "axis")}
            forms.add(re.sub(r"ies$", "y", found))
            assert known & {form.casefold() for form in forms}, (word, found)


def test_a_meaning_is_a_sentence_of_some_length() -> None:
    for word, meaning in _ROWS:
        assert meaning.endswith("."), word
        assert 3 < len(meaning.split()) < 40, word
