"""What an adversary once found to be lost, kept for ever or given away: each was repaired, and is
tried again here."""

import contextlib
import os
import resource
import shutil
import signal

import pytest

from conftest import Berthd
from daemon_help import (
    NOBODY, become, children, connect_as, event, held, held_with_proof, is_quiet, lease_of, needs_root,
    open_files, refused, status, waits)
from lines import Client, until
from lost_help import (
    BOOTS, MS_RDONLY, after_restart, all_free, asked_until, living_as, mount, needs_mounts, needs_pids, read_byte,
    restart, set_boot_id, sleeper, with_own_mounts, with_own_pids)


# ---- max-hold has changed meanwhile


def ignores_term():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def test_max_hold_changed_while_berthd_was_down(berthd):
    """The promise stays: the lease is stopped at its old end, for its max-hold, and the next berthd
    knows that, whether the file has a longer one now or none."""
    text = "[lock longer]\n{}kill-after = 1h\n[lock removed]\n{}kill-after = 1h\n"
    daemon = berthd(text.format("max-hold = 0.5s\n", "max-hold = 0.5s\n"))
    with sleeper(ignores_term) as pid:
        leases = {name: held(daemon.client(), f"acquire {name} pid={pid}") for name in ("longer", "removed")}
        for client in daemon.clients:
            client.close()
        daemon.kill()
        daemon.configure(text.format("max-hold = 1h\n", ""))
        daemon.start()
        now = asked_until(daemon, lambda now: all("stopping" in now.resources[name]["holders"][0] for name in leases))
        for _ in range(2):
            for name, lease in leases.items():
                assert now.holders(name) == [lease]
                assert now.resources[name]["holders"][0]["stopping"] == "max-hold"
            client = after_restart(daemon, "kill")
            for name in leases:
                assert refused(client, f"acquire {name} wait=0") == "would-wait"
            now = status(client)
    asked_until(daemon, all_free)


# ---- identities that have become one


@needs_root
def test_identities_that_a_reload_has_made_one(berthd):
    """Two users' jobs have one name since a reload: both live on, over a restart too."""
    text = "[semaphore s]\nlimit = 2\n"
    daemon = berthd(text)
    with sleeper() as pid, sleeper(lambda: become(NOBODY)) as other:
        clients = daemon.client(), connect_as(daemon, NOBODY)
        leases = [held(client, f"acquire s holder=x pid={job}")
                  for client, job in zip(clients, (pid, other))]
        daemon.configure(text + "identity = shared\n")
        assert clients[0].request("reload") == "ok"
        restart(daemon, "kill")
        assert status(daemon.client()).holders("s") == leases


# ---- a bind that is refused


def is_detached(now):
    return now.resources["a"]["holders"][0].get("away") == "1"


@needs_pids
def test_a_refused_bind_changes_nothing(berthd):
    """berthd cannot see the client's process numbers, so the lease cannot be bound; its process is
    watched as before."""
    daemon = berthd("[lock a]\n")
    with sleeper() as pid:
        client = daemon.client()
        lease = held(client, f"acquire a pid={pid}")
        client.close()
        asked_until(daemon, is_detached)

        def elsewhere():
            assert refused(Client(daemon.socket), f"bind {lease} pid=5") == "kind"

        with_own_pids(elsewhere)
        assert status(daemon.client()).holders("a") == [lease]
    asked_until(daemon, all_free)


# ---- a journal that cannot be written


def test_the_limit_of_file_size_is_reached(berthd):
    """The client that asks for the change learns that there is none; berthd lives, and what was
    written down before is kept."""
    daemon = berthd("grace = 1h\n[lock a]\n[lock b]\n")
    with sleeper() as first, sleeper() as second:
        client = daemon.client()
        bound, timed = held(client, f"acquire a pid={first}"), held(client, "acquire b ttl=1h")
        _, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
        assert refused(client, f"bind {bound} pid={second}") == "no-space"
        assert refused(client, f"renew {timed} ttl=2h") == "no-space"
        assert is_quiet(client)
        for _ in range(2):
            client = daemon.client()
            now = status(client)
            assert (now.holders("a"), now.holders("b")) == ([bound], [timed])
            assert refused(client, "acquire a wait=0") == refused(client, "acquire b wait=0") == "would-wait"
            restart(daemon, "kill")


def test_a_grant_that_cannot_be_written_down_is_not_announced(berthd):
    """The first waiter's grant cannot be written: it is denied, which grants the next one, and so
    on. No client gets a grant."""
    daemon = berthd("grace = 1h\n[lock a]\n")
    holder, *waiters = [daemon.client() for _ in range(4)]
    lease = held(holder, "acquire a")
    leases = [waits(client, "acquire a") for client in waiters]
    soft, hard = resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
    assert holder.request(f"release {lease}") == "ok"
    assert [event(client) for client in waiters] == [("denied", lease, "no-space") for lease in leases]
    resource.prlimit(daemon.process.pid, resource.RLIMIT_FSIZE, (soft, hard))
    assert held(waiters[2], "acquire a wait=0") not in leases


# ---- a journal that is not ours

TWO_LOCKS = "[lock a]\n[lock b]\n"


def must_be_in_a_grace(daemon, lease, proof):
    """Only holders of earlier leases get one: nothing else is given away."""
    client = daemon.client()
    assert refused(client, "acquire a wait=0") == refused(client, "acquire b wait=0") == "grace"
    assert client.request(f"reclaim {lease} a:1:0 pid={os.getpid()} {proof}").startswith(f"ok {lease} ")


@needs_mounts
def test_another_boot_s_journal_in_place_of_this_boot_s(directory):
    """The state says that there was a berthd since the boot: its leases may be missing."""
    def work():
        old = directory / "old.journal"
        set_boot_id(directory, BOOTS[0])
        daemon = Berthd(directory, f"grace = 1h\n{TWO_LOCKS}")
        daemon.stop()
        shutil.copy(daemon.journal, old)
        set_boot_id(directory, BOOTS[1])
        daemon.start()
        lease, proof = held_with_proof(daemon.client(), f"acquire a pid={os.getpid()}")
        daemon.kill()
        shutil.copy(old, daemon.journal)
        daemon.start()
        must_be_in_a_grace(daemon, lease, proof)
        daemon.stop()
    with_own_mounts(work)


def test_another_socket_s_journal(berthd, directory):
    """Whole, and empty: but it is another socket's."""
    daemon = berthd(f"grace = 1h\n{TWO_LOCKS}")
    (directory / "other").mkdir()
    other = Berthd(directory / "other", f"grace = 1h\n{TWO_LOCKS}")
    other.stop()
    lease, proof = held_with_proof(daemon.client(), f"acquire a pid={os.getpid()}")
    daemon.kill()
    shutil.copy(other.journal, daemon.journal)
    daemon.start()
    must_be_in_a_grace(daemon, lease, proof)


@needs_mounts
def test_no_journal_and_no_state(directory):
    """Where no state can be written, nothing shows whether this is a first start."""
    def work():
        (directory / "state").mkdir()
        mount("tmpfs", directory / "state", "tmpfs", flags=MS_RDONLY)
        daemon = Berthd(directory, f"grace = 0.1s\n{TWO_LOCKS}")
        asked_until(daemon, lambda now: now.grace is None)
        held(daemon.client(), f"acquire a pid={os.getpid()}")
        daemon.kill()
        daemon.configure(f"grace = 1h\n{TWO_LOCKS}")
        daemon.journal.unlink()
        daemon.start()
        client = daemon.client()
        assert refused(client, "acquire a wait=0") == refused(client, "acquire b wait=0") == "grace"
        daemon.stop()
    with_own_mounts(work)


# ---- few descriptors


def test_no_descriptor_to_look_at_a_process(berthd):
    """Then it is not known whether the client's numbers mean anything here: that is no reason to
    bind the lease to the connection instead, now or later."""
    daemon = berthd("[semaphore s]\nlimit = 3\n")
    client = daemon.client()
    assert client.request("ping") == "ok"
    pid = daemon.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    for more in range(4):  # none, then not enough, at last those that a look takes
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_files(daemon) + more, hard))
        answer = client.request(f"acquire s pid={os.getpid()}")
        assert "bound=connection" not in answer
        assert answer.startswith("ok " if more >= 2 else "error no-memory ")
        if more >= 2:
            assert client.request(f"release {lease_of(answer)}") == "ok"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    assert held(client, f"acquire s pid={os.getpid()}")
    assert status(client).resources["s"]["holders"][0].get("bound") != "connection"


FILES = 160
PLACES = FILES - 64  # as berthd calculates it


@contextlib.contextmanager
def sleepers_of_nobody(n):
    """Their pids, once they run as they shall."""
    ready, notify = os.pipe()

    def work(_):
        become(NOBODY)
        os.write(notify, b"x")
        os.closerange(3, 4096)
        signal.pause()

    with children(n, work) as pids:
        for _ in pids:
            assert read_byte(ready) == b"x"
        yield pids
    os.close(ready)
    os.close(notify)


def answered(client):
    with contextlib.suppress(BrokenPipeError):
        client.send("ping\n")
    return client.line()


def connect_until_busy(daemon):
    """Another user's connections, as many as berthd has places."""
    for _ in range(FILES):
        answer = answered(connect_as(daemon, NOBODY))
        if answer != "ok":
            assert answer.startswith("error busy ")
            return
    pytest.fail("there is room for everybody")


@needs_root
@pytest.mark.parametrize("first", ["watches", "connections"])
def test_a_user_uses_up_descriptors(berthd, first):
    """... with processes that berthd has to watch, and with connections: others get what they ask
    for, or hear that there is no room."""
    daemon = berthd(f"max-clients = {PLACES}\nmax-clients-per-user = 1000\n"
                    "[semaphore s]\nlimit = 1000\n[lock a]\n")
    resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (FILES, FILES))
    early = daemon.client()
    assert early.request("ping") == "ok"
    with sleepers_of_nobody(FILES // 2) as pids, living_as(daemon, NOBODY) as flood:
        for pid in pids:
            assert "bound=connection" not in held_answer(flood, f"acquire s pid={pid}")
        if first == "connections":
            connect_until_busy(daemon)
        flood.close()
        until(lambda: all(one.get("away") == "1" for one in status(early).resources["s"]["holders"]))
        connect_until_busy(daemon)
        assert open_files(daemon) < FILES - 24
        assert answered(daemon.client()) == "ok"  # an operator's
        assert refused(daemon.client(), "acquire a") == "busy"
        assert "bound=connection" not in held_answer(early, f"acquire a pid={os.getpid()}")
        assert early.request("reload") == early.request("pause s") == "ok"


def held_answer(client, request):
    answer = client.request(request)
    assert answer.startswith("ok "), answer
    return answer
