"""Prefetching: the same items and errors, one made ahead, and no thread afterwards."""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from tallystick.io.prefetch import prefetched


class Numbers:
    """Numbers that tell who made and closed them."""

    def __init__(self, count: int, error: BaseException | None = None) -> None:
        self.count, self.error = count, error
        self.made: list[int] = []
        self.threads = set[int]()
        self.closed_by: int | None = None

    def __iter__(self) -> Iterator[int]:
        try:
            for number in range(self.count):
                self.threads.add(threading.get_ident())
                self.made.append(number)
                yield number
            if self.error is not None:
                raise self.error
        finally:
            self.closed_by = threading.get_ident()


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_items_come_in_their_order_from_another_thread(count: int) -> None:
    numbers = Numbers(count)
    assert [*prefetched(numbers)] == [*range(count)]
    assert threading.get_ident() not in numbers.threads
    assert len(numbers.threads) == min(count, 1)


def test_one_item_is_made_ahead_and_no_more() -> None:
    numbers = Numbers(50)
    with closing(prefetched(numbers)) as items:
        for item in items:
            assert len(numbers.made) <= item + 2


@pytest.mark.parametrize("error", [ValueError("bad"), MemoryError(), KeyboardInterrupt()])
def test_an_error_comes_in_its_place(error: BaseException) -> None:
    numbers, got = Numbers(3, error), list[int]()
    with pytest.raises(type(error)) as raised:
        got.extend(prefetched(numbers))
    assert raised.value is error
    items = prefetched(Numbers(3, error))
    assert [next(items) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(type(error)):
        next(items)


@pytest.mark.parametrize("taken", [0, 1, 3])
def test_closing_ends_the_thread_that_closes_the_items(taken: int) -> None:
    numbers = Numbers(50)
    items = prefetched(numbers)
    assert [next(items) for _ in range(taken)] == [*range(taken)]
    items.close()
    assert len(numbers.made) <= taken + 1
    assert numbers.closed_by in {None, *numbers.threads}


def test_an_error_of_the_caller_ends_all_threads_of_a_chain() -> None:
    inner = Numbers(50)

    def doubled() -> Iterator[int]:
        with closing(prefetched(inner)) as items:
            for item in items:
                yield 2 * item

    def interrupted() -> None:
        with closing(prefetched(doubled())) as items:
            for item in items:
                if item == 4:
                    raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert inner.closed_by in inner.threads
    assert len(inner.made) <= 5


def test_what_is_no_generator_is_not_closed() -> None:
    assert [*prefetched([1, 2])] == [1, 2]
    with pytest.raises(TypeError):
        next(prefetched(1))  # type: ignore[arg-type]  # no iterable
