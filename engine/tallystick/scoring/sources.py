"""The source of an input: a file of records or of facts, or a folder of such files."""

from __future__ import annotations

from pathlib import Path

from tallystick.io.sources import FolderSource, JsonLinesSource, Source, is_folder


def source_of(path: Path, first: int = 1) -> Source:
    """Return the source of a file or a folder; ``first`` is the number of its first record.

    A file is one of facts by its extension, ``.parquet``, else JSONL.

    Raises:
        InputError: the folder cannot be read, or has something else than such files.
    """
    if is_folder(path):
        return FolderSource(path, first, source_of)
    if path.suffix.lower() == ".parquet":
        from tallystick.scoring.facts.source import FactsSource

        return FactsSource(path, first)
    return JsonLinesSource(path, first)
