"""Facts and conditions that several formulas share."""

from tallystick.plugins.author import (
    Node,
    Requirement,
    choice,
    count,
    flag,
    given,
    integer,
    label,
    require,
)

TRACKS = "repositories", "packages", "mcp_servers", "skills"
VERDICTS = "ALLOW", "WARN", "BLOCK"
"""From lax to strict."""
FAILED = "FAILED"
REPETITIONS = "first", "second", "third", "fourth"
"""The completed runs of a task of the repositories."""
DIMENSIONS = "vulnerabilities", "supply_chain", "secrets"

track = choice("track", *TRACKS)
is_labelled, is_malicious = given("task.malicious"), flag("task.malicious")

allowed, warned, blocked = (count(f"submission.repetitions[verdict={name}]") for name in VERDICTS)
completed = label("completed", allowed + warned + blocked)


def findings(path: str) -> tuple[Node, Node, Node]:
    """How many findings matched, were expected and were reported; 0 where there is nothing."""
    matched, expected, reported = (
        integer(f"{path}.{name}", missing=0) for name in ("matched", "expected", "reported")
    )
    return matched, expected, reported


def _one_to_one(path: str) -> Requirement:
    matched, expected, reported = findings(path)
    return require(
        (matched <= expected) & (matched <= reported),
        "phylax/one-to-one",
        path=f"{path}.matched",
        expected="no more matches than findings that were expected, or that were reported",
    )


def _documented(path: str) -> Requirement:
    of_them, found = (integer(f"{path}.{n}", missing=0) for n in ("documented", "findings"))
    return require(
        of_them <= found,
        "phylax/documented",
        path=f"{path}.documented",
        expected="no more findings with a remedy and a CWE than findings",
    )


BEHAVIOURAL = (
    require(
        track != "repositories",
        "phylax/track",
        path="track",
        expected="a behavioural track: packages, mcp_servers or skills",
    ),
    _one_to_one("checks.findings"),
)
REPOSITORIES = (
    require(
        track == "repositories", "phylax/track", path="track", expected="the track repositories"
    ),
    *(_one_to_one(f"checks.{run}.{name}") for run in REPETITIONS for name in DIMENSIONS),
    *(_documented(f"checks.{run}.audit") for run in REPETITIONS),
)
