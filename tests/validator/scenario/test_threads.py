"""Types of messages are learnt by one thread at a time, as msgspec crashes where two do."""

import subprocess
import sys

import pytest

LEARN = """
import sys, threading
import attrs
from tallystick_chain.simulated.wire import decoded

sys.setswitchinterval(1e-6)
inner = {"number": attrs.field(type=int)}
text = b'{"first": 1, "inner": {"number": 1}, "last": 1}'
values = []
for _ in range(1000):
    fields = {"first": int, "inner": attrs.make_class("Inner", inner), "last": int}
    kind = attrs.make_class("Outer", {name: attrs.field(type=it) for name, it in fields.items()})
    together = threading.Barrier(3)

    def learn(kind=kind, together=together):
        together.wait()
        values.append(decoded(text, kind).inner.number)

    threads = [threading.Thread(target=learn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
assert values == [1] * 3000
"""


@pytest.mark.nightly
def test_threads_that_meet_a_type_at_once_learn_it_one_after_the_other() -> None:
    subprocess.run([sys.executable, "-c", LEARN], check=True)
