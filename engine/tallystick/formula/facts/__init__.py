"""Facts: integers read from one record.

A fact is a leaf of a formula. Its identity is its reader, path, arguments and scale; the range of
its values is no part of it and comes from the record schema.

================ ======================================================= =======================
reader           value                                                   scale, kind
================ ======================================================= =======================
number           a decimal; ``missing`` if left out or not a number      nano
integer          a whole number; ``missing`` if left out                 1
flag             a truth; false if left out                              truth
given            whether there is a value that is not null               truth
itemised         whether the value is an object                          truth
choice           the position of a text among options                    choice
count            how many items                                          1
distinct         how many different items                                1
overlap          how many different items two lists share                1
total            a whole number, or the sum of the values of a map       1
largest          the largest whole number; ``empty`` if there is none    1
smallest         the smallest whole number; ``empty`` if there is none   1
excess           Σ over the keys of a map of max(0, its value − the      1
                 value of the same key in another map, absent as 0)
equal            whether both are there and the same                     truth
matches          whether a text is there and fits a pattern whole        truth
opaque           a Python function of the record                         1, or nano
================ ======================================================= =======================

A family is a module: ``scalar``, ``collection``, ``aggregate``, ``text``, ``opaque``; and, since it
computes a formula for each item, `tallystick.formula.summed`, which adds its own.
It has the functions that authors call; for each a ``FactReader``, which says everything that the
engine knows of such a fact; and what writes records that have such facts. ``families`` brings them
together, with those of plugins.
"""

from tallystick.formula.facts.aggregate import excess, largest, smallest, total
from tallystick.formula.facts.collection import count, distinct, overlap
from tallystick.formula.facts.draft import RecordObject
from tallystick.formula.facts.extraction_code import ExtractionCode, attribute_name
from tallystick.formula.facts.fact import arguments_of, fact_at, path_of, scale_of
from tallystick.formula.facts.families import (
    READERS,
    constraints,
    domain_of,
    drafts,
    family,
    is_opaque,
    reader_of,
    relations,
)
from tallystick.formula.facts.opaque import opaque
from tallystick.formula.facts.reader import FactIndex, FactReader, Repetition
from tallystick.formula.facts.scalar import choice, flag, given, integer, itemised, number
from tallystick.formula.facts.text import equal, matches

__all__ = [
    "READERS",
    "ExtractionCode",
    "FactIndex",
    "FactReader",
    "RecordObject",
    "Repetition",
    "arguments_of",
    "attribute_name",
    "choice",
    "constraints",
    "count",
    "distinct",
    "domain_of",
    "drafts",
    "equal",
    "excess",
    "fact_at",
    "family",
    "flag",
    "given",
    "integer",
    "is_opaque",
    "itemised",
    "largest",
    "matches",
    "number",
    "opaque",
    "overlap",
    "path_of",
    "reader_of",
    "relations",
    "scale_of",
    "smallest",
    "total",
]
