"""Make the shared test folders importable, and test with the plugins of the project alone.

The folder goes to the end of the search path, so that a folder here never hides a module of the
standard library that has the same name (`numbers`). Another plugin that is installed in the same
environment is left out; tests of discovery set the variable themselves.
"""

import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))
os.environ["TALLYSTICK_PLUGINS"] = "skills,workflow"
