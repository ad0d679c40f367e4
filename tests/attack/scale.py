"""How much is attacked, and by which seed: an environment variable for each.

``TALLYSTICK_ATTACK_CASES`` is half the number of hostile lines; that of files follows from it.
``TALLYSTICK_ATTACK_SEED`` makes others of them; a failure shows the seed of its file.
"""

import os

CASES = int(os.environ.get("TALLYSTICK_ATTACK_CASES", "10000"))
SEED = int(os.environ.get("TALLYSTICK_ATTACK_SEED", "1"))
FILE = 500
"""How many lines a file has."""
