"""The plugin itself, by whose name receipts and locks know this code; it brings no skill type."""

tallystick_api = 1
