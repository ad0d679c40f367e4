"""Fixed inputs give the results of the corpus, but for declared changes."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
from frozen.declared import DECLARED
from frozen.generate import EXPECTED, differences, generate


@pytest.mark.process
def test_the_corpus_is_as_it_was_but_for_what_is_declared(tmp_path: Path) -> None:
    generate(EXPECTED.parents[2], tmp_path)
    found = differences(EXPECTED, tmp_path)
    declared = {pattern: {name for name in found if fnmatch(name, pattern)} for pattern in DECLARED}
    undeclared = found.keys() - set().union(*declared.values())
    assert not undeclared, "".join(f"\n=== {name}\n{found[name]}" for name in sorted(undeclared))
    assert all(declared.values()), f"{declared}: a pattern that nothing needs is to be removed"
