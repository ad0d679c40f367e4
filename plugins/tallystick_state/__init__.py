"""State: what outlives a record. Pure transitions here; `store` keeps what they give."""
