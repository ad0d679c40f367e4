"""The process that checks a plugin: ``python -m tallystick.conformance TARGET --answer FILE``."""

from tallystick.conformance.checks import main

if __name__ == "__main__":
    main()
