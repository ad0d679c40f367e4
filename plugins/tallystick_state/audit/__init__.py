"""Audits: what others computed and published, against what follows from its inputs."""
