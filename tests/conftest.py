"""Make the shared test folders importable: `oracle`, `generators` and `vectors`.

The folder goes to the end of the search path, so that a folder here never hides a module of the
standard library that has the same name (`numbers`).
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
