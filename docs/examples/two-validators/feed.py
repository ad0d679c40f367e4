"""Sends the daemon at a socket a reward of each miner, every five seconds, as its validator saw it.

python feed.py alice.sock
"""

import json
import random
import socket
import sys
import time
from pathlib import Path

from tallystick_chain.simulated.hotkeys import hotkey_of

MINERS = [hotkey_of(f"miner-{number}") for number in range(1, 5)]

while not Path(sys.argv[1]).exists():
    time.sleep(1)
while True:
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.connect(sys.argv[1])
        task = f"task-{time.time_ns()}"
        for worth, hotkey in enumerate(MINERS, 1):
            reward = round(worth / 4 * random.random(), 6)
            miner = {"hotkey": hotkey}
            record = {"skill_type": "reward", "task_id": task, "miner": miner}
            record["checks"] = {"reward": reward}
            daemon.sendall(json.dumps(record).encode() + b"\n")
        daemon.shutdown(socket.SHUT_WR)
        for answer in map(json.loads, daemon.makefile()):
            if answer["status"] == "rejected":
                print(answer)
    time.sleep(5)
