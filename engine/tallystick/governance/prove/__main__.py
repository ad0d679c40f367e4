"""The process that asks the solver: ``python -m tallystick.governance.prove``."""

from tallystick.governance.prove.process import serve

if __name__ == "__main__":
    serve()
