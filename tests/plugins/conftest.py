"""Make the module `installations` importable: entry points and plugins made in memory."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
