"""The kernels give the same bits whatever vector instructions NumPy uses."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from kernels import digest

pytestmark = pytest.mark.nightly

# The digest on every machine; a kernel that is right keeps it.
PINNED = "4453bd6cc8b3d38dff45e68aaabef57b1a58d4ed28bc6c92e1876bb3594a88cc"
FEATURES = digest.features()
DISPATCHED = FEATURES["found"]


def run(disabled: list[str]) -> dict[str, object]:
    """The features and the digest of a fresh interpreter that lacks the disabled features."""
    path = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "NPY_DISABLE_CPU_FEATURES": " ".join(disabled),
        "PYTHONPATH": os.pathsep.join(path),
    }
    environment.pop("NPY_ENABLE_CPU_FEATURES", None)
    program = "from kernels import digest; digest.main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, check=True
    )
    return json.loads(done.stdout)


def test_numpy_names_its_baseline() -> None:
    assert FEATURES["baseline"]


@pytest.mark.parametrize("level", range(len(DISPATCHED) + 1), ids=["baseline", *DISPATCHED])
def test_every_level_of_vector_instructions_gives_the_same_bits(level: int) -> None:
    result = run(disabled=DISPATCHED[level:])
    assert result["found"] == DISPATCHED[:level], "the setting did not take effect"
    assert result["digest"] == PINNED
