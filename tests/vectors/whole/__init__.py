"""Answers to the vectors of something whole, such as a record or a state."""
