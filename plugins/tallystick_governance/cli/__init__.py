"""The commands that ask what a rule set, or a change of one, does."""
