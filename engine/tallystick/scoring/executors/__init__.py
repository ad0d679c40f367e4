"""Executors: who maps a function over chunks: this process, several of them, or machines."""
