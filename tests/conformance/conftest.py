"""Make the module `broken` importable: a plugin as a project, with one piece replaced."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
