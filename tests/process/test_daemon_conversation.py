"""Pipelining, events between answers and never inside one, half-close."""

import socket

from daemon_help import Status, event, half_close, held, is_quiet, lease_of, status, stopped, waits
from lost_help import asked_until

LOCKS = 3000
MANY = "".join(f"[lock r{i}]\n" for i in range(LOCKS))


# ---- answers in the order of the requests


def test_the_rest_of_a_long_line_belongs_to_its_connection(berthd):
    daemon = berthd()
    client, other = daemon.client(), daemon.client()
    client.send("x" * 5000)
    assert client.line().startswith("error too-long ")
    other.send("version\nping\n")
    assert other.line().startswith("ok version=")
    assert other.line() == "ok"
    client.send("ping\n")
    assert client.request("version").startswith("ok version=")


def test_however_the_bytes_are_cut(berthd, chance):
    """One byte at a time, or many lines in one."""
    client = berthd("[semaphore b]\nlimit = 100000\n[lock a]\n").client()
    requests = [chance.choice(["ping", "status a", "nonsense", "acquire b wait=0", "acquire b:0",
        "x" * 5000, "version", "", "acquire b reason=" + "%20" * 250]) for _ in range(900)]
    data = "\n".join(requests).encode() + b"\nping\n"
    position = 0
    while position < len(data):
        n = chance.choice([1, 2, 7, 100, 5000])
        client.send(data[position:position + n])
        position += n
    for request in requests:
        answer = client.line()
        if request.startswith("status"):
            while client.line() != "end":
                pass
        expected = {"ping": "ok", "nonsense": "error unknown-command ", "": "error malformed ",
            "acquire b:0": "error impossible ", "x" * 5000: "error too-long ", "version": "ok version"}
        assert answer.startswith(expected.get(request, "ok")), (request[:80], answer)
    assert client.line() == "ok"
    assert client.buffer == b""


# ---- events


def test_events_come_between_answers(berthd):
    """An event that a connection's own request causes follows the answer."""
    client = berthd("[lock a]\n[lock b]\n").client()
    client.send("acquire a\nacquire a\nacquire b\n")
    first, second = lease_of(client.line()), lease_of(client.line())
    client.line()
    client.send(f"release {first}\nping\nrelease {second}\nping\n")
    assert client.line() == "ok"
    assert client.line().startswith(f"* granted {second} slot=a,")
    assert [client.line() for _ in range(3)] == ["ok", "ok", "ok"]


def test_no_event_inside_a_long_answer(berthd):
    """The connection's leases are granted, lost and denied while it is being sent its status."""
    daemon = berthd("[semaphore s]\nlimit = 1\n[lock a]\n[lock b]\n" + MANY)
    client, other = daemon.client(), daemon.client()
    first = held(other, "acquire s")
    granted = waits(client, "acquire s")
    lost = held(client, "acquire a")
    held(other, "acquire b")
    denied = waits(client, "acquire b")
    drained = client.request("drain")
    assert drained == "ok held=3"
    rounds = 20
    client.send("status\n" * rounds + "ping\n")  # far more than a socket holds
    assert other.request("undrain") == "ok"
    assert other.request(f"release {first}") == "ok"
    assert other.request(f"release {lost}") == "ok"
    assert other.request(f"cancel {denied}") == "ok"
    events = []
    for _ in range(rounds):
        line = client.line()
        while line.startswith("*"):
            events.append(line)
            line = client.line()
        lines = [line]
        while lines[-1] != "end":
            lines.append(client.line())
        assert not any(line.startswith("*") for line in lines)
        assert len(Status(lines).resources) == LOCKS + 3
    while (line := client.line()) != "ok":
        events.append(line)
    assert [tuple(line.split()[1:3]) for line in events] == [
        ("granted", granted), ("lost", lost), ("denied", denied)]
    assert is_quiet(client)


def test_what_comes_and_goes_during_a_long_answer(berthd):
    """Instances and whole resources vanish while they are being listed."""
    daemon = berthd("[semaphore x/*]\nlimit = 2\n" + MANY)
    operator = daemon.client()
    owners = [daemon.client() for _ in range(20)]
    for i, owner in enumerate(owners):
        owner.send("".join(f"acquire x/{i}.{k}\n" for k in range(20)))
        for _ in range(20):
            assert owner.line().startswith("ok ")
    for _ in range(3):  # a client that reads nothing for 10 s is dropped: not all at once
        readers = [daemon.client() for _ in range(3)]
        for i, reader in enumerate(readers):
            reader.send("status\n" * 3 + "version\n")
            reader.socket.recv(1)
            reader.buffer += b"o"
            owners.pop().close()
            daemon.configure("[semaphore x/*]\nlimit = 2\n" + MANY[:len(MANY) // (1 + i)].rpartition("[")[0])
            assert operator.request("reload") == "ok"
        for reader in readers:
            for _ in range(3):
                Status(reader.rest_of_lines())
            assert reader.line().startswith("ok version=")
    for owner in owners:
        owner.close()
    asked_until(daemon, lambda now: now.held == 0)


# ---- the end


def test_half_close_with_long_answers(berthd):
    """Delivered whole, however slowly they are read."""
    daemon = berthd("[lock a]\n" + MANY)
    other, client = daemon.client(), daemon.client()
    rounds = 20
    held(client, "acquire a")
    waiting = waits(other, "acquire a")
    client.send("status\n" * rounds + "acquire r0\nversion\n")
    half_close(client)
    for _ in range(rounds):
        lines = [client.line()]
        while lines[-1] != "end":
            lines.append(client.line())
        assert len(Status(lines).resources) == LOCKS + 1
    assert client.line().startswith("ok 1")
    assert client.line().startswith("ok version=")
    assert client.line() == ""
    assert event(other)[:2] == ("granted", waiting)
    held(other, "acquire r0 wait=0")


def test_a_client_that_only_reads_ends_when_it_closes(berthd):
    daemon = berthd("[lock a]\n")
    client, other = daemon.client(), daemon.client()
    held(client, "acquire a")
    waiting = waits(other, "acquire a")
    client.socket.shutdown(socket.SHUT_RD)  # nothing can be sent to it any more
    client.send("ping\n")
    assert event(other)[:2] == ("granted", waiting)


def test_everything_at_once(berthd):
    """Found in one turn: a closed connection is granted nothing, and each event is sent once."""
    daemon = berthd("[semaphore s]\nlimit = 2\n")
    holders = [daemon.client(), daemon.client()]
    leases = [held(holder, "acquire s") for holder in holders]
    waiters = [daemon.client() for _ in range(6)]
    waiting = [waits(waiter, "acquire s") for waiter in waiters]
    operator = daemon.client()
    with stopped(daemon):
        waiters[0].close()
        operator.send(f"release {leases[0]}\ncancel {waiting[1]}\nlimit s 3\n")
        holders[1].close()
        waiters[2].send(f"release {waiting[2]}\n")
        waiters[3].close()
    assert [operator.line() for _ in range(3)] == ["ok"] * 3
    assert event(holders[0]) == ("lost", leases[0], "released")
    for waiter, lease in zip(waiters[4:], waiting[4:]):
        assert event(waiter)[:2] == ("granted", lease)
        assert is_quiet(waiter)
    after = status(operator)
    assert after.waiting == 0 and set(waiting[4:]) <= set(after.holders("s"))
