"""Tables: the rows of Parquet or Arrow data as records.

A column is a field, a struct an object and a map a map. Null means left out, at every level; the
elements of a list stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1024

_Cleaner = Callable[[Any], Any]


def rows(data: pa.Table | pa.RecordBatch) -> Iterator[dict[str, Any]]:
    """The rows, in order, as dicts for ``Decoder.convert``, which judges what they hold."""
    import pyarrow as pa  # noqa: PLC0415  # takes longer to load than most commands run

    clean = _cleaner(pa.struct(list(data.schema)))
    for start in range(0, data.num_rows, _ROWS):
        for row in data.slice(start, _ROWS).to_pylist():
            yield clean(row)


def _cleaner(kind: pa.DataType) -> _Cleaner:
    """What turns a Python value of the Arrow type into a JSON value without nulls."""
    import pyarrow as pa  # noqa: PLC0415  # as above

    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return _struct({field.name: _cleaner(field.type) for field in fields})
    if pa.types.is_map(kind):
        return _map(_cleaner(kind.item_type))
    if _is_list(kind):
        return _list(_cleaner(kind.value_type))
    return _same


def _is_list(kind: pa.DataType) -> bool:
    import pyarrow as pa  # noqa: PLC0415  # as above

    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def _struct(cleaners: dict[str, _Cleaner]) -> _Cleaner:
    return lambda value: {k: cleaners[k](item) for k, item in value.items() if item is not None}


def _map(clean: _Cleaner) -> _Cleaner:
    return lambda pairs: {key: clean(item) for key, item in pairs if item is not None}


def _list(clean: _Cleaner) -> _Cleaner:
    return lambda items: [None if item is None else clean(item) for item in items]


def _same(value: Any) -> Any:  # noqa: ANN401  # whatever the column holds
    return value
