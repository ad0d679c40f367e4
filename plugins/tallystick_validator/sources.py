"""Sources of the intake: a folder of JSONL files, a Unix socket, and ``POST /intake`` on loopback.

Each answers JSONL with a line for each line, once it is durable. Lengths, connections and slow
clients are limited.
"""
