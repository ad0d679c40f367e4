"""Connections to a chain by URL: a simulated one, or a real one through an SDK.

| URL | chain |
|---|---|
| ``simulate://HOST:PORT`` | the process of ``tallystick chain simulate`` |
| ``sdk11:NETWORK`` | a real one, by the SDK bittensor 11 |
| ``sdk10:NETWORK`` | a real one, by the SDK bittensor 10 |
"""

from __future__ import annotations
