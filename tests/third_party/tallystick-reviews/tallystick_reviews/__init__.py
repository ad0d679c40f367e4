"""Reviews: the tasks that people look at, drawn by a rule set."""
