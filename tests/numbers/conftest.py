"""Make the package `kernels` importable: the oracle, the cases and the digest of the kernels."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
