"""``python -m tallystick``."""

from tallystick.cli.main import main

if __name__ == "__main__":
    main()
