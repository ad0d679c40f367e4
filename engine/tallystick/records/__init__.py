"""Records: reading them, judging them by their schema, and saying what is wrong with the bad ones.

A line is decoded and validated in one pass by a type made from the schema (``types``). What that
refuses is judged by the JSON Schema itself (``judge``), which accepts it or names what is wrong
(``rejects``). ``decoding`` puts the two together; ``lines`` and ``tables`` read the input.
"""
