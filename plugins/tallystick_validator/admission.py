"""Admission: from one line to the record that the intake keeps, or to why it is refused.

A line is validated by the engine's own decoder under the rules of the state, which refuses with the
engine's codes. Beyond them the record must be of this validator, and its round one of its epoch by
the network file. What only the closing of its epoch can tell (an unknown miner, a limit) is not
asked here.
"""
