"""A validator that lies: it commits what others commit as its own, and gives noise for batches.

Run as ``python hostile.py SIMULATED NAME``: it prints its port, and goes on until it is killed.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tallystick_chain.simulated.hotkeys import signer_of
from tallystick_chain.simulated.shared_chain import SharedChain
from tallystick_validator.ballots import UID_LIMIT, Ballot, ballot_of

NETUID, EVERYBODY = 7, frozenset(range(UID_LIMIT))
COPIED = set[str]()
"""The digests that it has seen, and says that it has."""


class Liar(BaseHTTPRequestHandler):
    """Says that it has every batch, of an epoch to come, and gives other bytes."""

    def do_GET(self) -> None:  # of the base class
        """Answer a peer."""
        nothing = f"sha256:{'0' * 64}"
        bodies = {
            "status": {"hotkey": "", "network": nothing, "genesis": nothing, "epoch": 2**52},
            "batches": sorted(COPIED),
        }
        name = self.path.split("/")[3]
        body = json.dumps(bodies[name]).encode() if name in bodies else os.urandom(1 << 20)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)


def main(file: str, name: str) -> None:
    """Serve, and copy each digest that another validator commits."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    view = SharedChain(Path(file)).as_hotkey(signer_of(name))
    while True:
        for commitment in view.commitments(NETUID, view.head().best):
            ballot = ballot_of(commitment.data)
            if ballot is not None and ballot.batch is not None and ballot.batch not in COPIED:
                COPIED.add(ballot.batch)
                view.commit(NETUID, Ballot(ballot.epoch, ballot.batch, EVERYBODY).to_bytes(), 1.0)
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
