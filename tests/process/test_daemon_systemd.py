"""berthd and a service manager: notifications and inherited sockets. The test plays the manager."""

import os
import socket
import subprocess
import time

import pytest

from conftest import BUILD
from daemon_help import (
    become, held, in_child, is_quiet, lease_of, must_end_well, needs_root, status, stopped, waits)
from lines import DEADLINE
from manager_help import Manager, fill


def is_built_with_libsystemd():
    return b"sd_listen_fds" in (BUILD / "berthd").read_bytes()


pytestmark = pytest.mark.skipif(
    not is_built_with_libsystemd(), reason="configured --without-systemd")


@pytest.fixture
def manager(directory, sanitizer_reports):
    managers = []

    def make(*args, **options):
        managers.append(Manager(directory, *args, **options))
        return managers[0]

    yield make
    for each in managers:
        each.end()


# ---- readiness, status


def test_ready_when_clients_can_connect(manager):
    service = manager("[lock a]\n")
    said = service.start()
    assert said["STATUS"] == f"serving {service.socket}: 0 leases held, 0 waiting"
    assert is_quiet(service.client())
    service.process.terminate()
    assert service.until(lambda said: "STOPPING" in said)["STATUS"] == "stopping"
    assert service.process.wait(DEADLINE) == 0


def test_status_says_what_is_held(manager):
    service = manager("[semaphore a]\nlimit = 2\n")
    client = service.started()
    lease = held(client, "acquire a")
    assert service.status("held").endswith(": 1 lease held, 0 waiting")
    held(client, "acquire a")
    waits(client, "acquire a")
    assert service.status("1 waiting").endswith(": 2 leases held, 1 waiting")
    client.send(f"release {lease}\n")
    assert service.status("0 waiting").endswith(": 2 leases held, 0 waiting")
    client.send("drain\n")
    assert service.status("drain").endswith(": 2 leases held, 0 waiting; draining")
    client.close()
    assert service.status("drained").endswith(": 0 leases held, 0 waiting; drained")
    other = service.client()
    assert other.request("undrain") == "ok"
    assert service.status("0 waiting").endswith(": 0 leases held, 0 waiting")


def test_status_is_sent_at_most_once_a_second(manager):
    """However much happens; the last status is true."""
    service = manager("[semaphore a]\nlimit = 2\n")
    began = service.start()["at"]
    client = service.client()
    for _ in range(200):
        lease = held(client, "acquire a")
        assert client.request(f"release {lease}") == "ok"
    held(client, "acquire a")
    service.status("1 lease held")
    said = [each for each in service.heard if "STATUS" in each]
    assert len(said) <= 2 + (said[-1]["at"] - began)
    assert said[-1]["at"] - began > 0.9


def test_nothing_is_said_while_nothing_changes(manager):
    """The loop is not woken either: the status has no timer of its own."""
    service = manager("[lock a]\n")
    client = service.started()
    held(client, "acquire a")
    service.status("1 lease held")
    assert is_quiet(client)  # and a turn in which nothing has changed
    path = f"/proc/{service.process.pid}/status"

    def switches():
        with open(path) as lines:
            return int(next(line for line in lines if line.startswith("voluntary")).split()[1])

    before = switches()
    assert service.hear(timeout=2.5) is None
    assert switches() - before <= 1  # it may just have gone to sleep


def test_a_database_that_cannot_be_reached(manager, directory):
    service = manager(
        f"[redis west]\nurl = unix://{directory}/none\n[semaphore a]\nscope = fleet\n"
        "redis = west\nlimit = 1\n")
    service.start()
    assert service.status("reach").endswith("; not reachable: west")


def test_a_manager_that_does_not_read(manager):
    """Its queue is full: berthd still serves, and notifies later."""
    service = manager("[lock a]\n")
    service.start()
    fill(service.directory / "notify")
    client = service.client()
    held(client, "acquire a")
    time_limit = time.monotonic() + 1.5  # past the second within which nothing is sent
    while time.monotonic() < time_limit:
        assert is_quiet(client)
    service.status("1 lease held")
    assert is_quiet(client)


# ---- reload


def test_reloading(manager):
    service = manager("[lock a]\n")
    service.start()
    for text, word in (("[lock a]\n[lock b]\n", "ok"), ("[lock", "error")):
        service.configure(text)
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        client = service.client()
        assert client.request("reload").split()[0] == word
        reloading = service.until(lambda said: "RELOADING" in said)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        assert before <= int(reloading["MONOTONIC_USEC"]) <= after
        assert service.hear()["READY"] == "1"
        client.close()


# ---- watchdog


def watched(service, seconds):
    service.environ["WATCHDOG_USEC"] = str(int(seconds * 1e6))


def test_watchdog_is_fed_at_half_its_time(manager):
    service = manager("[lock a]\n")
    watched(service, 1)
    service.start()
    times = [service.until(lambda said: "WATCHDOG" in said)["at"] for _ in range(4)]
    assert 1.4 < times[-1] - times[0] < 3


def test_watchdog_is_not_fed_by_a_loop_that_hangs(manager):
    service = manager("[lock a]\n")
    watched(service, 0.2)
    service.start()
    service.until(lambda said: "WATCHDOG" in said)
    with stopped(service):
        while service.hear(0):
            pass
        assert service.hear(timeout=0.5) is None
    service.until(lambda said: "WATCHDOG" in said)


def test_a_watchdog_for_another_process(manager):
    service = manager("[lock a]\n")
    watched(service, 0.1)
    service.environ["WATCHDOG_PID"] = "1"
    service.start()
    assert service.hear(timeout=0.5) is None


def test_watchdog_waits_longer_for_a_reload(manager):
    service = manager("[lock a]\n")
    watched(service, 30)
    service.start()
    assert service.client().request("reload") == "ok"
    assert service.until(lambda said: "RELOADING" in said)["WATCHDOG_USEC"] == "300000000"
    assert service.until(lambda said: "READY" in said)["WATCHDOG_USEC"] == "30000000"


# ---- a start that fails


@pytest.mark.parametrize("text, wanted, why", [
    ("[lock a]\nlimt = 1\n[lock]\n", 78, "berth.conf:4: [lock a] limt: "),
    ("", 69, "another berthd serves it"),
], ids=["configuration", "socket"])
def test_why_it_does_not_start(manager, berthd, text, wanted, why):
    if wanted == 69:
        berthd("")
    service = manager(text)
    code, _, said = service.fails()
    assert code == wanted
    assert said["STATUS"].startswith("not started: ") and why in said["STATUS"]
    assert not any("READY" in each for each in service.heard)


# ---- sockets


def test_an_inherited_socket_is_served(manager, directory):
    service = manager("[lock a]\n")
    service.listen()
    early = service.client()  # queues
    early.send("acquire a\n")
    (directory / "run").mkdir()
    service.environ["RUNTIME_DIRECTORY"] = str(directory / "run")
    service.start()
    assert early.line().startswith("ok ")
    assert early.request("ping") == "ok"
    assert "ignored" not in service.log.read_text()  # the file says the same
    assert sorted(os.listdir(directory / "run")) == ["s.history", "s.journal", "s.lock"]  # named after it
    for fd in os.listdir(f"/proc/{service.process.pid}/fd"):
        if int(fd) > 2:
            with open(f"/proc/{service.process.pid}/fdinfo/{fd}") as info:
                flags = int(next(line for line in info if line.startswith("flags")).split()[1], 8)
            assert flags & os.O_CLOEXEC, fd


def test_it_is_not_unlinked(manager):
    service = manager(head="[lock a]\n")
    service.listen(mode=0o600)
    service.start()
    service.stop()
    assert service.socket.is_socket()
    assert "ignored" not in service.log.read_text()  # the file says neither path nor mode


def test_its_path_is_gone(manager):
    """Clients that hold a connection go on; new ones do not find the socket: the log must say so."""
    service = manager("[lock a]\n")
    service.listen()
    service.socket.unlink()
    service.start()
    assert f"{service.socket}: no longer exists" in service.log.read_text()


def test_clients_queue_while_nobody_serves(manager):
    """A restart: holders go on holding, and clients that connected meanwhile are served."""
    service = manager("[semaphore a]\nlimit = 2\n")
    service.listen()
    service.start()
    held(service.client(), f"acquire a pid={os.getpid()}")
    for end in (service.stop, service.kill):
        end()
        late = service.client()
        late.send("acquire a\n")
        service.start()
        lease = lease_of(late.line())
        assert status(late, "a").holders("a")[1:] == [lease]
        assert late.request(f"release {lease}") == "ok"


def test_accepting_does_not_wait(manager):
    """The inherited socket blocks; a client may be gone before it is accepted."""
    service = manager("[lock a]\n")
    listening = service.listen()
    listening.setblocking(True)
    client = service.started()
    for _ in range(50):
        service.client().close()
    assert is_quiet(client)


def test_socket_and_mode_of_the_file_are_ignored(manager, directory):
    service = manager(head=f"[daemon]\nsocket = {directory}/other\nsocket-mode = 0600\n")
    service.listen(mode=0o660)
    service.start()
    assert is_quiet(service.client())
    assert not (directory / "other").exists()
    log = service.log.read_text()
    assert log.count("ignored") == 2
    assert f"socket is ignored: the service manager has made {service.socket}" in log
    assert "socket-mode is ignored" in log and "0660" in log
    service.configure("", head="[daemon]\nsocket = /elsewhere\nsocket-mode = 0666\n")
    assert service.client().request("reload") == "ok"
    assert "next start" not in service.log.read_text()


def test_one_by_hand_and_one_activated(manager, directory):
    """The first to start excludes the other; they find each other's leases."""
    service = manager("[lock a]\n")
    listening = service.listen()
    service.start()
    by_hand = [BUILD / "berthd", "-c", service.config]
    second = subprocess.run(by_hand, capture_output=True, text=True, timeout=DEADLINE)
    assert second.returncode == 69 and "another berthd serves it" in second.stderr
    service.stop()
    # Nobody serves it, but the manager listens: the socket is not stale.
    second = subprocess.run(by_hand, capture_output=True, text=True, timeout=DEADLINE)
    assert second.returncode == 69 and "another process serves it" in second.stderr
    listening.close()
    with subprocess.Popen(by_hand, stderr=subprocess.PIPE, text=True) as first:
        try:
            assert "serving on" in first.stderr.readline()
            os.rename(service.socket, directory / "old")
            service.listen()
            code, log, _ = service.fails()
            assert code == 69 and "another berthd serves it" in log
        finally:
            first.terminate()


def other_socket(directory, kind):
    if kind == "tcp":
        other = socket.socket()
        other.bind(("127.0.0.1", 0))
        other.listen()
    elif kind == "datagram":
        other = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        other.bind(str(directory / "o"))
    elif kind == "abstract":
        other = socket.socket(socket.AF_UNIX)
        other.bind("\0" + str(directory))
        other.listen()
    elif kind == "relative":
        other = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(directory)
        other.bind("o")
        os.chdir(here)
        other.listen()
    elif kind == "connection":
        other, peer = socket.socketpair()
        peer.close()
    else:
        other = open(directory / "berth.conf", "rb")
    return other


@pytest.mark.parametrize("kind, why", [
    ("tcp", "not a Unix socket"), ("datagram", "not a stream socket"), ("abstract", "an abstract"),
    ("connection", "does not listen"), ("relative", "a relative path"),
    ("file", "not a socket")])
def test_other_sockets_are_refused(manager, directory, kind, why):
    service = manager("[lock a]\n")
    service.hand_over(other_socket(directory, kind))
    code, log, said = service.fails()
    assert code == 78 and why in log and why in said["STATUS"]
    assert not service.socket.exists()


def test_two_sockets_are_refused(manager, directory):
    service = manager("[lock a]\n")
    first = service.listen()
    service.hand_over(first, service.listen(directory / "t"))
    code, log, _ = service.fails()
    assert code == 78 and "2 sockets were passed" in log


def test_sockets_of_another_process(manager):
    """LISTEN_PID names another process: then there are none, and berthd makes its own."""
    service = manager("[lock a]\n")
    service.environ["LISTEN_FDS"] = "1"
    service.environ["LISTEN_PID"] = "1"
    with open(service.log, "ab") as log:
        service.process = subprocess.Popen(
            [BUILD / "berthd", "-c", service.config], stderr=log, env=service.environ)
    service.until(lambda said: "READY" in said)
    assert is_quiet(service.client())


def test_ready_descriptor_is_the_socket(manager):
    service = manager("[lock a]\n")
    service.listen()
    code, log, _ = service.fails("--ready-fd", "3")
    assert code == 78 and "--ready-fd 3: that is the socket" in log


def test_standard_descriptors_that_are_closed(manager):
    """The socket at 3 stays where it is."""
    service = manager("[lock a]\n")
    service.listen()
    service.closed = (0, 1, 2)
    service.start()
    assert is_quiet(service.client())


# ---- which server clients see


@needs_root
def test_clients_trust_a_socket_of_the_system(manager, berth, directory):
    """While it queues, the server is the manager that listens, of uid 0; then it is berthd."""
    service = manager("[lock a]\n")
    directory.chmod(0o777)
    service.listen()
    early = berth.start("run", "a", "--", "true", user=65534, group=65534, extra_groups=[])
    service.start()
    assert early.wait(DEADLINE) == 0, early.stderr.read()


@needs_root
def test_clients_do_not_trust_another_users_socket(manager, berth, directory):
    """The socket of another user's manager."""
    service = manager("[lock a]\n")
    directory.chmod(0o777)

    def listen():
        become(65534)
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(service.socket))
        listening.listen()
        socket.send_fds(there, [b"x"], [listening.fileno()])

    here, there = socket.socketpair()
    must_end_well(in_child(listen))
    _, (fd,), _, _ = socket.recv_fds(here, 1, 1)
    here.close()
    there.close()
    service.hand_over(socket.socket(fileno=fd))
    service.socket.chmod(0o666)
    done = berth("run", "-n", "a", "--", "true", user=12345, group=12345, extra_groups=[])
    assert done.returncode == 69 and "neither as root, nor as berth" in done.stderr
    early = berth.start("run", "a", "--", "true", user=65534, group=65534, extra_groups=[])
    service.start()
    assert early.wait(DEADLINE) == 0, early.stderr.read()
