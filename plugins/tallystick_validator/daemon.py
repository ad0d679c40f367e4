"""The daemon: one process around a `Validator`, with its lock, its signals, its logs and its service.

SIGTERM and SIGINT end it within ten seconds, whatever it is doing; SIGHUP reads the configuration
again. Two daemons cannot share a folder or a state. systemd is told of readiness, and kept informed
by its watchdog, without a library.
"""
