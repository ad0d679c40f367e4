"""Back-test: what candidates would have done to a history."""
