"""Make the vectors of whole records, of epochs and of digests, by the oracle.

    python tests/vectors/generate.py

writes the files of `MAKERS` beside this one. No answer comes from the engine: they are those of
`oracle`, of the plain fractions in `whole` beside this, and of an RFC 8785 of their own.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from vectors.whole import digests, numbers, rejects, rows, states  # noqa: E402  # the folder of tests first

MAKERS = {
    "rows": rows.cases,
    "numbers": numbers.cases,
    "states": states.cases,
    "digests": digests.cases,
    "rejects": rejects.cases,
}


def document(area: str) -> str:
    """The text of a file of vectors."""
    found = {"format": 1, "area": area, "sources": [], "decimals": 9, "rounding": "half-even"}
    cases = [json.dumps(case, ensure_ascii=False) for case in MAKERS[area]()]
    head = json.dumps(found)[:-1]
    return f'{head}, "cases": [\n' + ",\n".join(cases) + "\n]}\n"


if __name__ == "__main__":
    for name in MAKERS:
        (HERE / f"{name}.json").write_text(document(name), encoding="utf-8")
