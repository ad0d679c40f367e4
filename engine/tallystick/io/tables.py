"""Tables: the rows of Parquet or Arrow data as records.

A column is a field, a struct an object and a map a map. Null means left out, at every level; the
elements of a list stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from tallystick.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = 1024

_Cleaner = Callable[[Any], Any]
_Data: TypeAlias = "pa.Table | pa.RecordBatch"


def rows(data: _Data, first: int = 1) -> Iterator[dict[str, Any]]:
    """The rows, in order, as dicts for ``Decoder.convert``, which judges what they hold.

    Args:
        data: a column for each field.
        first: the number of the first row, for what is said of a bad one.

    Raises:
        InputError: a value has no equal in Python, such as text that is not UTF-8 or a time after
            the year 9999.
    """
    import pyarrow as pa  # noqa: PLC0415  # takes longer to load than most commands run

    clean = _cleaner(pa.struct(list(data.schema)))
    for start in range(0, data.num_rows, _ROWS):
        yield from _cleaned(data.slice(start, _ROWS), clean, first + start)


def _cleaned(data: _Data, clean: _Cleaner, first: int) -> list[dict[str, Any]]:
    import pyarrow as pa  # noqa: PLC0415  # as above

    # LookupError is of a time zone that is not known, TypeError of a map whose keys are lists
    refusals = (ArithmeticError, LookupError, TypeError, ValueError, pa.ArrowException)
    try:
        return [clean(row) for row in data.to_pylist()]
    except refusals as error:
        for part, row in _parts(data):
            _cleaned(part, clean, first + row)
        raise InputError(
            f"row {first}: {', '.join(data.schema.names)}: found a value that Python cannot hold "
            f"({' '.join(str(error).split())}), expected JSON values: leave the row out, or write "
            "the column with another type"
        ) from error


def _parts(data: _Data) -> Iterator[tuple[_Data, int]]:
    """The rows, or of one row the columns, to tell which is bad; and which row each comes from."""
    if data.num_rows > 1:
        yield from ((data.slice(row, 1), row) for row in range(data.num_rows))
    elif data.num_columns > 1:
        yield from ((data.select([column]), 0) for column in range(data.num_columns))


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
