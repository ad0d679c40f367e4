"""Records: reading them, judging them by their schema, and saying what is wrong with the bad ones.

A line is decoded and validated in one pass by a type made from the schema (``struct_builder``).
What that refuses is validated by the JSON Schema itself (``validator``), which accepts it or names
what is wrong (``rejects``). ``decoding`` puts the two together.
"""
