"""The source of an input: a file of records or of facts, or a folder of such files."""

from __future__ import annotations

from pathlib import Path

from tallystick.io.sources import (
    FolderSource,
    JsonLinesSource,
    ParquetSource,
    Source,
    is_folder,
)


def source_of(path: Path, first: int = 1) -> Source:
    """Return the source of a file or a folder; ``first`` is the number of its first record.

    A file is Parquet by its extension, of records or of facts, else JSONL.
    """
    if is_folder(path):
        return FolderSource(path, first, source_of)
    if path.suffix.lower() == ".parquet":
        from tallystick.scoring.facts.metadata import is_facts
        from tallystick.scoring.facts.source import FactsSource

        return FactsSource(path, first) if is_facts(path) else ParquetSource(path, first)
    return JsonLinesSource(path, first)
