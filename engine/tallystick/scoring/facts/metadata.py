"""The metadata of a facts file, and whether its facts are the ones that are wanted."""

from __future__ import annotations

import json
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tallystick.errors import InputError
from tallystick.formula.text import fact_text
from tallystick.io.documents import parse_json
from tallystick.scoring.facts.catalog import FactCatalog, definitions_digest

if TYPE_CHECKING:
    import pyarrow.parquet as pq

FORMAT = 1
"""The version of the file format."""
KEY = b"tallystick.facts"
"""Under this key of the Parquet metadata stands what the file says of itself, as JSON."""
LARGEST_CHUNK = 1 << 17
"""Maximum number of lines that a chunk covers, as it is read as a whole."""

_DIGITS = 16
_AGAIN = "make the facts of the records again"


class TypeMetadata(msgspec.Struct, frozen=True):
    """The metadata of the facts of one skill type.

    Attributes:
        schema: the digest of its record schema.
        definitions: that of the definitions of its facts.
        requirements: those of the conditions that the type itself requires, by name.
        facts: those of its facts, sorted.
    """

    schema: str
    definitions: str
    requirements: dict[str, str]
    facts: list[str]


class FactsMetadata(msgspec.Struct, frozen=True):
    """The metadata of a facts file.

    Attributes:
        chunk: how many lines a chunk covers.
        lines: how many lines there were, good and bad.
        records: how many good ones.
        input_digest: of the records.
        types: by skill type, how its facts were made.
        groups: the chunk, type and number of rows of each row group.
        checksum: CRC-32 of all of it, by which a file that has changed is known.
    """

    chunk: int
    lines: int
    records: int
    input_digest: str
    types: dict[str, TypeMetadata]
    groups: list[tuple[int, str, int]]
    checksum: int

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return -(-self.lines // self.chunk)

    def groups_of(self, chunk: int) -> list[tuple[int, str]]:
        """Return the position and type of each row group of a chunk."""
        # they follow each other, in the order of their chunks
        start = bisect_left(self.groups, chunk, key=lambda group: group[0])
        end = bisect_right(self.groups, chunk, key=lambda group: group[0])
        return [(group, self.groups[group][1]) for group in range(start, end)]


def column_name(digest: str) -> str:
    """Return the name of the column of a fact."""
    return f"fact_{digest[:_DIGITS]}"


def described(catalogs: Mapping[str, FactCatalog]) -> dict[str, Any]:
    """Return the description of the facts of some catalogs."""
    facts = {d: fact for catalog in catalogs.values() for d, fact in catalog.by_digest.items()}
    return {
        "format": FORMAT,
        "types": {
            name: {
                "schema": catalog.schema_digest,
                "definitions": catalog.definitions,
                "requirements": catalog.conditions,
                "facts": sorted(catalog.by_digest),
            }
            for name, catalog in catalogs.items()
        },
        "facts": {d: {"column": column_name(d), "text": fact_text(facts[d])} for d in facts},
    }


def metadata_of(path: Path, footer: pq.FileMetaData) -> FactsMetadata:
    """Return the metadata in the footer of a facts file.

    Raises:
        InputError: it is no facts file, one of another format, or damaged.
    """
    stored = (footer.metadata or {}).get(KEY)
    if stored is None:
        raise InputError(
            f"{path}: found Parquet without facts, expected records as JSONL, one JSON object a "
            "line, or their facts, as the command facts writes them: convert the table, as DuckDB "
            f"does by COPY (FROM '{path.name}') TO '{path.stem}.jsonl'"
        )
    try:
        fields = parse_json(stored)
        if fields["format"] != FORMAT:
            raise InputError(
                f"{path}: found a facts file of format {fields['format']}, expected {FORMAT}: read "
                "it with the version that made it, or make it again"
            )
        metadata = msgspec.convert(fields, FactsMetadata)
    except (KeyError, TypeError, ValueError, msgspec.ValidationError) as error:
        raise _damaged(path) from error
    sound = fields.pop("checksum") == zlib.crc32(_text(fields).encode()) and _is_sound(metadata)
    groups = footer.num_row_groups
    sizes = [footer.row_group(group).num_rows for group in range(groups)]
    if not sound or sizes != [rows for _, _, rows in metadata.groups]:
        raise _damaged(path)
    return metadata


def sealed(said: Mapping[str, Any]) -> str:
    """Return metadata as JSON with a checksum: Parquet has none of this part."""
    return _text(dict(said) | {"checksum": zlib.crc32(_text(said).encode())})


def _text(said: Mapping[str, Any]) -> str:
    return json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _is_sound(found: FactsMetadata) -> bool:
    """Return whether the chunks hold all records, in order, of types that are described."""
    numbers = [chunk for chunk, _, _ in found.groups]
    return (
        0 < found.chunk <= LARGEST_CHUNK
        and numbers == sorted(numbers)
        and all(0 <= number < found.chunks for number in numbers)
        and all(0 <= rows <= found.chunk for _, _, rows in found.groups)
        and found.records == sum(rows for _, _, rows in found.groups) <= found.lines
        and all(name in found.types for _, name, _ in found.groups)
    )


def _damaged(path: Path) -> InputError:
    return InputError(
        f"{path}: found a facts file whose parts contradict each other, expected it as it was "
        "written: make it again"
    )


def check(
    path: Path,
    said: FactsMetadata,
    catalogs: Mapping[str, FactCatalog],
    wanted: Mapping[str, Collection[str]] | None,
) -> None:
    """Refuse a file whose facts are not those that are wanted; None is all of them.

    Raises:
        InputError: it was made by other schemas or definitions, or lacks facts.
    """
    for name in dict.fromkeys(name for _, name, _ in said.groups):
        made, catalog = said.types[name], catalogs.get(name)
        if catalog is None and wanted is not None and name not in wanted:
            continue  # of a plugin that nobody names: no fact of it is read
        if catalog is None:
            raise InputError(
                f"{path}: found facts of the skill type {name!r}, expected one of "
                f"{', '.join(catalogs)}: install its plugin"
            )
        if made.schema != catalog.schema_digest:
            raise InputError(
                f"{path}: found facts of {name} made with the record schema {made.schema}, "
                f"expected {catalog.schema_digest}: {_AGAIN}"
            )
        stated = definitions_digest(made.facts, made.requirements)
        if made.definitions != stated or made.requirements != catalog.conditions:
            raise InputError(
                f"{path}: found facts of {name} made with the definitions {made.definitions}, "
                f"expected {catalog.definitions}: {_AGAIN}"
            )
        sought = catalog.by_digest if wanted is None else wanted.get(name, ())
        _check_facts(path, catalog, set(sought) - set(made.facts))


def _check_facts(path: Path, catalog: FactCatalog, lacking: Iterable[str]) -> None:
    texts = [fact_text(catalog.by_digest[d]) for d in sorted(lacking)]
    if texts:
        raise InputError(
            f"{path}: found facts of {catalog.name} without {', '.join(texts)}, expected all "
            f"that the rule set reads: {_AGAIN}"
        )
