"""Make the module `linted` importable: rule sets to lint."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
