"""Answer the vectors of something whole, such as records, epochs and digests, by the oracle.

    python tests/vectors/generate.py

writes into the files of `cases.WHOLE` beside this one what the oracle answers to their inputs. An
answer of an operation that `whole.answers` lacks stays as it was written.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from vectors.cases import WHOLE  # noqa: E402  # the folder of tests first
from vectors.whole.answers import ANSWERS  # noqa: E402  # as above


def document(area: str) -> str:
    """The text of a file of vectors, as the oracle answers it."""
    found = json.loads((HERE / f"{area}.json").read_text(encoding="utf-8"))
    for case in found["cases"]:
        if case["op"] in ANSWERS:
            answer = ANSWERS[case["op"]]
            case["expected"] = [answer(case["rule_set"] or "", each) for each in case["inputs"]]
    cases = [json.dumps(case, ensure_ascii=False) for case in found.pop("cases")]
    return f'{json.dumps(found)[:-1]}, "cases": [\n' + ",\n".join(cases) + "\n]}\n"


if __name__ == "__main__":
    for name in WHOLE:
        (HERE / f"{name}.json").write_text(document(name), encoding="utf-8")
