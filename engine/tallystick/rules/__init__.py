"""Rule sets: the model, reading with positions, cross checks, digests, references.

``loading.load`` is the way in: it finds the file that a reference means and gives a
`reading.LoadedRuleSet`. ``model`` and ``section`` are the values; ``toml``, ``schema``,
``structure`` and the checks lead to them.
"""
