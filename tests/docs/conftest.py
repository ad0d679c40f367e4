"""Make the package `manual` importable: the pages, and what runs their blocks."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
