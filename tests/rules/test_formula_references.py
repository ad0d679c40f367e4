from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tallystick.rules.formula_references import find_cycle

NAMES = "abcdefgh"
graphs = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3))


@given(graphs)
def test_a_cycle_is_a_chain_of_reads_that_ends_where_it_began(reads: dict[str, list[str]]) -> None:
    cycle = find_cycle(reads)
    for reader, read in pairwise(cycle):
        assert read in reads[reader]
    assert not cycle or (cycle[0] == cycle[-1] and len(cycle) > 1)


@given(graphs)
def test_without_a_cycle_the_names_can_be_ordered_and_only_then(
    reads: dict[str, list[str]],
) -> None:
    remaining = set(NAMES)
    while ready := {n for n in remaining if not remaining & set(reads.get(n, ()))}:
        remaining -= ready
    assert bool(remaining) == bool(find_cycle(reads))
