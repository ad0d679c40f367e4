"""The difference between two rule sets: what it says, what it can do to a score, what it breaks."""
