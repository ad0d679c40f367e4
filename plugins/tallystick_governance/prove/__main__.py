"""The process that asks the solver: ``python -m tallystick_governance.prove``."""

from tallystick_governance.prove.process import serve

if __name__ == "__main__":
    serve()
