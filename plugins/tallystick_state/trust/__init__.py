"""Trust in a state: keys, signed statements, the trust file that names them, and proofs."""
