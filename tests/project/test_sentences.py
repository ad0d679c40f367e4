"""Docstrings name their thing, and modules are as large as their noun; both are counted."""

import ast

from project.house import OPENINGS, Source, fragments, read_sources, sentences

RULE = (
    "begin a function's with a verb in the imperative (“Return the …”, “Return whether …”), "
    "a property's, a class's or a constant's with the name of the thing, its unit and its range "
    "(“Maximum bytes of a record.”)"
)
CEILINGS = {
    "What": 0,
    "So many": 0,
    "So": 0,
    "It": 0,
    "Its": 0,
    "They": 0,
    "Both": 0,
    "How": 0,
    "Whether": 0,
    "Of": 0,
    "By": 0,
    "As": 0,
    "Which": 0,
    "Who": 0,
    "Whose": 0,
    "Where": 0,
    "Why": 0,
    "Those": 0,
    "Some": 0,
    "Nothing": 0,
}
"""Most docstrings and texts of constants that may begin with each opening."""
FRAGMENTS = 25
"""Most modules that one neighbour alone imports, those in `LISTS` left out."""
LISTS = {
    "tallystick.cli.main": "a module for each command or group, loaded when it is called",
    "tallystick_chain.cli.chain": "a module for each command that is no view of a file",
    "tallystick_chain.simulated.simulation": "the rules of the chain, which its blocks apply",
    "tallystick_chain.connect": "an adapter for each SDK, loaded when a URL names it",
    "tallystick_conformance.checks": "a module for each check of a plugin",
    "tallystick_consensus.plugin": "the formulas of a plugin, as a stranger's plugin has them",
    "tallystick_consensus.rows": "a command, loaded when it is called",
    "tallystick_governance.diff.difference": "the questions that a difference answers",
    "tallystick_governance.lint.catalog": "a module for each noun that lints are about",
    "tallystick_governance.prove.proving": "the laws of each section of a rule set",
    "tallystick_service.scoring": "a process of its own, which scores what strangers post",
    "tallystick_service.server": "the protocol of connections, which imports uvicorn",
    "tallystick_service.site": "the filters of templates, and the state that is served",
    "tallystick_simulation.run": "the parts of a loop: who is asked, and what is answered",
    "tallystick_skills.plugin": "what a plugin offers, as a stranger's plugin has it",
    "tallystick_validator.daemon": "the agreement and the supervisor that a process may have",
    "tallystick_validator.exchange": "the law of ballots, and the client of peers",
    "tallystick_validator.validator": "the parts of a step, each with its own way to fail",
    "tallystick_workflow.plugin": "the laws and the records of a type, as a stranger's plugin has",
    "tallystick_yuma.rows": "a command, loaded when it is called",
}
"""Modules that list modules of one kind, each a noun of its own, with what they list."""


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
    assert sorted(LISTS.keys() - {*single.values()}) == [], "they list no module any more"
    lines = [f"{name}, for {user} alone" for name, user in single.items() if user not in LISTS]
    message = (
        f"{len(lines)} modules have one importer, a module of their folder, expected {FRAGMENTS} "
        "at most: make one a part of its importer, or name the importer in LISTS with what it lists"
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
