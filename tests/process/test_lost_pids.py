"""Process numbers are used again, and mean something else elsewhere: by its number, no process
keeps, steals or dies for another's lease. In a private PID namespace, where numbers can be
chosen."""

import os
import pathlib
import signal
import socket
import struct
import subprocess

from conftest import Berthd, read_line
from daemon_help import in_child, held, must_end_well, refused, status, stopped
from lines import DEADLINE, Client, LineSocket
from lost_help import (CLONE_NEWPID, all_back, all_free, asked_until, call, libc, needs_pids,
                       read_byte, restart, with_own_pids)

pytestmark = needs_pids

CONFIGURATION = "grace = 0.2s\n[lock a]\nkill-after = 0.1s\n"


def start_time(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19])


def end(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def reuse(pid, work=signal.pause):
    """Ends the process, and starts another with the same number at another time."""
    before = start_time(pid)
    end(pid)
    while True:
        pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        assert in_child(work) == pid, "somebody else forks in our namespace"
        if start_time(pid) != before:
            return
        end(pid)


def lives(pid):
    return os.waitpid(pid, os.WNOHANG) == (0, 0)


def in_a_world_of_its_own(directory, work):
    """work(daemon) with a daemon in its own PID namespace."""
    def first():
        daemon = Berthd(directory, CONFIGURATION)
        work(daemon)
        daemon.stop()
    with_own_pids(first)


def test_a_pid_reused_before_berthd_looks(directory):
    """Both the process and the connection are gone before berthd sees either."""
    def work(daemon):
        victim, client = in_child(signal.pause), daemon.client()
        held(client, f"acquire a pid={victim}")
        with stopped(daemon):
            client.close()
            reuse(victim)
        asked_until(daemon, all_free)
        assert lives(victim)
    in_a_world_of_its_own(directory, work)


def test_reused_before_it_asks(directory):
    """A child asks for its dead parent, whose number another process has."""
    def work(daemon):
        here, there = socket.socketpair()

        def connect():
            connection = Client(daemon.socket).socket
            socket.send_fds(there, [b"x"], [connection.fileno()])
            signal.pause()

        here.settimeout(DEADLINE)
        victim = in_child(connect)
        _, (fd,), _, _ = socket.recv_fds(here, 1, 1)
        client = LineSocket(socket.socket(fileno=fd))
        assert client.request("ping") == "ok"
        reuse(victim)
        assert refused(client, "acquire a bind=peer") == "bad-value"
        asked_until(daemon, all_free)
        client.close()
    in_a_world_of_its_own(directory, work)


def test_reused_while_it_is_watched(directory):
    """The connection is gone, berthd watches the process itself and not its number."""
    def work(daemon):
        victim, client = in_child(signal.pause), daemon.client()
        held(client, f"acquire a pid={victim}")
        client.close()
        asked_until(daemon, lambda now: now.resources["a"]["holders"][0].get("away") == "1")
        with stopped(daemon):
            reuse(victim)
        asked_until(daemon, all_free)
        assert lives(victim)
    in_a_world_of_its_own(directory, work)


def test_reused_over_a_restart(directory):
    def work(daemon):
        for how in "kill", "stop":
            victim, client = in_child(signal.pause), daemon.client()
            held(client, f"acquire a pid={victim}")
            getattr(daemon, how)()
            reuse(victim)
            daemon.start()
            asked_until(daemon, all_free)
            assert lives(victim), how
    in_a_world_of_its_own(directory, work)


def test_the_other_process_is_not_killed(directory):
    """The lease of a dead process, whose number another has now, is revoked."""
    def work(daemon):
        victim, client = in_child(signal.pause), daemon.client()
        lease = held(client, f"acquire a pid={victim}")
        reuse(victim)
        assert daemon.client().request(f"revoke {lease}") == "ok"
        asked_until(daemon, all_free)
        assert lives(victim)
    in_a_world_of_its_own(directory, work)


def test_the_other_process_reclaims_nothing(directory):
    """A process with the wrapper's number is not the job's wrapper."""
    def work(daemon):
        victim, client = in_child(signal.pause), daemon.client()
        lease = held(client, f"acquire a pid={victim}")
        daemon.kill()
        reuse(victim)
        daemon.start()
        assert refused(daemon.client(), f"reclaim {lease} a:1:0 pid={victim}") == "lost"
        asked_until(daemon, all_free)
    in_a_world_of_its_own(directory, work)


# ---- a client in a namespace that is not berthd's


def test_a_client_in_another_namespace(berth, berthd, directory):
    """Its numbers mean nothing here, or another process: the lease is bound to its connection."""
    daemon = berthd("[lock a]\n")
    wrapper = subprocess.Popen(
        ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child", berth.path, "run", "-v", "a",
         "--", "sh", "-c", "echo runs $$; read line"], env=berth.environ, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert int(read_line(wrapper.stdout).split()[1]) < 10
    assert "granted" in read_line(wrapper.stderr)
    assert "cannot see" in read_line(wrapper.stderr)
    assert status(daemon.client()).resources["a"]["holders"][0]["bound"] == "connection"
    restart(daemon, "kill")
    asked_until(daemon, all_back(1, 0))
    wrapper.kill()
    wrapper.communicate()
    asked_until(daemon, all_free)


def test_a_program_in_another_namespace(berthd):
    """It names no number: the kernel says which process has connected."""
    daemon = berthd("[lock a]\n")

    def first():
        client = daemon.client()
        assert " bound=program " in client.request("acquire a bind=peer")
        client.close()
        asked_until(daemon, lambda now: now.resources["a"]["holders"][0].get("away") == "1")

    must_end_well(in_child(lambda: with_own_pids(first)))
    asked_until(daemon, all_free)


def test_a_client_in_another_namespace_names_its_child(berthd, directory):
    """By the number that it has here: the client cannot mean that."""
    daemon = berthd("[lock a]\n")
    told, tell = os.pipe()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "numbers"))
        listener.listen()

        def child():
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(directory / "numbers"))
                connection.recv(1)

        def first():
            pid = in_child(child)
            number = int(os.read(told, 16))
            assert number != pid
            assert " bound=connection" in daemon.client().request(f"acquire a pid={number}")
            end(pid)

        client = in_child(lambda: with_own_pids(first))
        connection, _ = listener.accept()
        with connection:
            numbers = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            os.write(tell, b"%d" % struct.unpack("3i", numbers)[0])
            must_end_well(client)
    for fd in (told, tell):
        os.close(fd)


def test_a_berthd_in_another_namespace(directory):
    """It sees no number of the client's, not even that of the peer."""
    ready, notify = os.pipe()
    over, finish = os.pipe()

    def first():
        daemon = Berthd(directory, CONFIGURATION)
        os.write(notify, b"x")
        os.read(over, 1)
        daemon.stop()

    def name_one_of_its_own(client):
        numbers = client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        daemon = struct.unpack("3i", numbers)[0]
        with open(f"/proc/{daemon}/ns/pid", encoding="ascii") as namespace:
            call(libc.setns, namespace.fileno(), CLONE_NEWPID)
        stranger = in_child(signal.pause)
        words = pathlib.Path(f"/proc/{stranger}/status").read_text().split()
        number = int(words[words.index("NSpid:") + 2])
        assert " bound=connection" in client.request(f"acquire a pid={number}")
        end(stranger)

    pid = in_child(lambda: with_own_pids(first))
    assert read_byte(ready) == b"x"
    must_end_well(in_child(lambda: name_one_of_its_own(Client(directory / "s"))))
    client, other = Client(directory / "s"), Client(directory / "s")
    assert " bound=connection" in client.request(f"acquire a pid={os.getpid()}")
    assert other.request("acquire a").startswith("waiting ")
    client.close()
    program = Client(directory / "s")
    assert program.request("acquire a bind=peer").startswith("waiting ")
    assert other.line().startswith("* granted ")
    other.close()
    granted = program.line()
    assert granted.startswith("* granted ") and "bound=" not in granted
    program.close()
    os.write(finish, b"x")
    must_end_well(pid)
    for fd in (ready, notify, over, finish):
        os.close(fd)
