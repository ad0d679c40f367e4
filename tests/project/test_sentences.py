"""Docstrings name their thing, and modules are as large as their noun; both are counted."""

import ast

from project.house import OPENINGS, Source, fragments, read_sources, sentences

RULE = (
    "begin a function's with a verb in the imperative (“Return the …”, “Return whether …”), "
    "a property's, a class's or a constant's with the name of the thing, its unit and its range "
    "(“Maximum bytes of a record.”)"
)
CEILINGS = {
    "What": 581,
    "So many": 39,
    "So": 3,
    "It": 9,
    "Its": 8,
    "They": 1,
    "Both": 3,
    "How": 211,
    "Whether": 216,
    "Of": 38,
    "By": 50,
    "As": 44,
    "Which": 33,
    "Who": 30,
    "Whose": 10,
    "Where": 41,
    "Why": 31,
    "Those": 20,
    "Some": 14,
    "Nothing": 16,
}
"""Most docstrings and texts of constants that may begin with each opening."""
FRAGMENTS = 91
"""Most modules outside `NOUNS` that one neighbour alone imports."""
NOUNS: dict[str, str] = {}
"""Modules with one importer in their folder that are a noun of their own, with the reason."""


def test_a_sentence_names_its_thing() -> None:
    """An opening that stands more often than its ceiling is told with each of its places."""
    assert tuple(CEILINGS) == OPENINGS
    beginnings: dict[str, list[str]] = {opening: [] for opening in ("", *OPENINGS)}
    for source in read_sources():
        for sentence in sentences(source):
            beginnings[sentence.opening].append(sentence.place)
    lines = []
    for opening, most in CEILINGS.items():
        places = beginnings[opening]
        if len(places) > most:
            lines += [f"{len(places)} begin with {opening!r}, expected {most} at most", *places]
    assert lines == [], RULE


def test_a_module_with_one_importer_in_its_folder_is_a_noun_of_its_own() -> None:
    single = fragments(read_sources())
    assert sorted(NOUNS.keys() - single.keys()) == [], "other modules import them, or they are gone"
    lines = [f"{name}, for {user} alone" for name, user in single.items() if name not in NOUNS]
    message = (
        f"{len(lines)} modules have one importer, a module of their folder, expected {FRAGMENTS} "
        "at most: make each a part of its importer, or add it to NOUNS with what makes it a noun "
        "of its own"
    )
    assert len(lines) <= FRAGMENTS, "\n".join([message, *lines])


SAMPLE = '''"""What a module is."""

LIMIT = 3
"""So many rows."""
SIZE: int = 4
"""Maximum bytes of a row."""


class Row:
    """A row."""

    width: int
    """It counts columns."""

    @property
    def empty(self):
        """Whatever is not there."""


if True:

    def given():
        """How a row is
        given."""
'''


def test_an_opening_is_seen_in_every_kind_of_text() -> None:
    source = Source("engine/tallystick/row.py", SAMPLE, ast.parse(SAMPLE))
    seen = [(text.kind, text.name, text.opening) for text in sentences(source)]
    assert seen == [
        ("module", "", "What"),
        ("constant", "LIMIT", "So many"),
        ("constant", "SIZE", ""),
        ("class", "Row", ""),
        ("constant", "Row.width", "It"),
        ("function", "Row.empty", ""),
        ("function", "given", "How"),
    ]
    assert [text.place for text in sentences(source)][-1] == (
        "engine/tallystick/row.py:23 given: How a row is"
    )
