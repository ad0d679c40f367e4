"""The command line: thin calls of the API, and what commands share."""
