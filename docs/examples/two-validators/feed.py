"""Sends the daemon at a socket a reward of each miner, every five seconds, as its validator saw it.

python feed.py alice.sock
"""

import json
import random
import sys
import time
from pathlib import Path

import httpx

from tallystick_chain.simulated.hotkeys import hotkey_of

MINERS = [hotkey_of(f"miner-{number}") for number in range(1, 5)]

while not Path(sys.argv[1]).exists():
    time.sleep(1)
while True:
    task, lines = f"task-{time.time_ns()}", ""
    for worth, hotkey in enumerate(MINERS, 1):
        reward = round(worth / 4 * random.random(), 6)
        record = {"skill_type": "reward", "task_id": task, "miner": {"hotkey": hotkey}}
        lines += json.dumps(record | {"checks": {"reward": reward}}) + "\n"
    with httpx.Client(transport=httpx.HTTPTransport(uds=sys.argv[1])) as daemon:
        answers = daemon.post("http://localhost/intake", content=lines).raise_for_status()
    for answer in map(json.loads, answers.text.splitlines()):
        if answer["status"] == "rejected":
            print(answer)
    time.sleep(5)
