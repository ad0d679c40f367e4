"""The lock: which rules, plugins and engine a computation is bound to, byte for byte."""
