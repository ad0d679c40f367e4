"""Clients: the addresses that are one client, for limits of requests and of connections."""

from __future__ import annotations

import ipaddress

_IPV6_SUBNET = 64
"""Bits of an IPv6 address that tell clients apart: one client has all addresses of a subnet."""


def is_loopback(host: str) -> bool:
    """Return whether a host, or the name of a client, is this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def client_of(address: str) -> str:
    """Return the name of the client that has an address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if ip.version == 6 and ip.ipv4_mapped is None:  # the version
        return str(ipaddress.ip_network((ip, _IPV6_SUBNET), strict=False))
    return str(getattr(ip, "ipv4_mapped", None) or ip)
