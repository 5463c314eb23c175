"""Leases of many slots: ranges go over the wire, always few enough for a line."""

import os
import re

from daemon_help import held, is_quiet, lease_of, refused, status, waits
from lost_help import after_restart, sleeper

LINE = 4096

CONFIG = """
max-clients-per-user = 100
max-leases-per-user = 10000
[semaphore mem]
limit = 100000
[semaphore small]
limit = 1200
"""


def slots(answer):
    """The words of the one grant in a line."""
    assert len(answer) < LINE
    return re.search(r" slot=[^,]+,\d+,(\S+)", answer)[1].split(",")


def n_slots(words):
    ends = [word.split("-") for word in words]
    return sum(int(one[-1]) - int(one[0]) + 1 for one in ends)


def take_singles(client, name, n):
    """n leases of one slot each, in order."""
    client.send(f"acquire {name}\n" * n)
    return [lease_of(client.line()) for _ in range(n)]


def release(client, leases):
    client.send("".join(f"release {lease}\n" for lease in leases))
    for _ in leases:
        assert client.line() == "ok"


def test_how_many_one_lease_can_have(client):
    """They are one word."""
    for count in 500, 1024, 2049, 16384:
        answer = client.request(f"acquire mem:{count} pid={os.getpid()}")
        assert slots(answer) == [f"0-{count - 1}"]
        release(client, [lease_of(answer)])
    assert refused(client, "acquire mem:16385") == "impossible"
    assert refused(client, "acquire mem:16384 small") == "impossible"
    held(client, "acquire mem:16383 small")


def test_scattered_slots_are_passed_over(client):
    """Six hundred single slots are free below all others: not all of them would fit on a line."""
    leases = take_singles(client, "mem", 1200)
    release(client, leases[::2])
    assert slots(client.request("acquire mem:900")) == ["1200-2099"]
    few = slots(client.request("acquire mem:448"))
    assert few == [str(slot) for slot in range(0, 896, 2)]


def test_a_lease_waits_until_its_slots_fit_on_a_line(daemon, client):
    other = daemon.client()
    leases = take_singles(client, "small", 1200)
    release(client, leases[::2])
    assert status(client, "small").resources["small"]["free"] == "600"
    assert refused(other, "acquire small:500 wait=0") == "would-wait"
    waiting = waits(other, "acquire small:500")
    release(client, leases[1:275:2])  # 275 in one range; with 223 single ones two are lacking
    assert is_quiet(other)
    release(client, leases[275:279:2])
    words = slots(other.line())
    assert (n_slots(words), len(words)) == (500, 224)
    assert words[0] == "0-276"
    assert other.request(f"release {waiting}") == "ok"


def test_it_is_served_in_any_case(daemon, client):
    """Nobody passes it, and when all the others have gone the slots are one range."""
    other, third = daemon.client(), daemon.client()
    leases = take_singles(client, "small", 1200)
    release(client, leases[::2])
    waits(other, "acquire small:1200")
    waits(third, "acquire small")
    release(client, leases[1::2])
    assert slots(other.line()) == ["0-1199"]
    assert is_quiet(third)


def test_many_slots_outlive_the_daemon(daemon, client):
    with sleeper() as child:
        lease = lease_of(client.request(f"acquire mem:5000 pid={child}"))
        client = after_restart(daemon, "kill")
        shown = status(client, "mem").resources["mem"]
        assert (shown["in_use"], shown["free"]) == ("5000", "95000")
        assert slots(client.request(f"reclaim {lease} mem:5000:0-4999")) == ["0-4999"]
        other = daemon.client()
        assert slots(other.request("acquire mem:2")) == ["5000-5001"]
        assert client.request(f"release {lease}") == "ok"


def test_a_job_of_many_slots(daemon, berth):
    run = berth("run", "-S", daemon.socket, "mem:500", "--", "sh", "-c", "echo $BERTH_COUNT $BERTH_SLOT")
    assert run.stdout.split() == ["500", *map(str, range(500))]
    run = berth("run", "-S", daemon.socket, "mem:16384", "--", "sh", "-c", "echo $BERTH_COUNT $BERTH_SLOT")
    assert run.stdout.split() == ["16384", "0-16383"]
