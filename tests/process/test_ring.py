"""`ring`: a descriptor of the history's file, for a program that keeps it for longer."""

import array
import mmap
import os
import pwd
import re
import select
import socket
import struct

import pytest

from conftest import Berthd
from daemon_help import (
    NOBODY, become, code, connect_as, held, in_child, must_end_well, needs_root, open_files, refused, stopped)
from gate import Gate, with_shim
from lines import until
from lost_help import after_restart

CONFIG = "[semaphore s]\nlimit = 4\n"
HEAD = struct.Struct("<16sQQ64sQ")  # up to the id


def read_ring(client, request="ring\n", n_lines=1):
    """What has come until the last line of the answer: its lines and its descriptors."""
    client.send(request)
    text, fds = b"", array.array("i")
    while text.count(b"\n") < n_lines:
        data, control, flags, _ = client.socket.recvmsg(65536, socket.CMSG_SPACE(64 * fds.itemsize))
        assert data and not flags & socket.MSG_CTRUNC
        text += data
        for level, kind, bytes_ in control:
            assert (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS)
            fds.frombytes(bytes_)
    return text.decode().splitlines(), list(fds)


def ring_of(client):
    """Its keys, and its descriptor."""
    (line,), (fd,) = read_ring(client)
    found = re.fullmatch(r"ok ring=([0-9a-f]{16}) layout=(\d+) size=(\d+)", line)
    return found.groups(), fd


def test_the_file_is_the_history(daemon, client):
    client.request("release " + held(client, "acquire s reason=read-by-others"))
    (ring, layout, size), fd = ring_of(client)
    content = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
    magic, _, ring_size, _, number = HEAD.unpack_from(content)
    assert magic == b"berth history 1\0" and f"{number:016x}" == ring
    assert len(content) == int(size) == ring_size + 4096 and int(layout) == 3
    assert b"read-by-others" in content[:]
    client.request("release " + held(client, "acquire s reason=later"))
    assert b"later" in content[:]
    os.close(fd)
    assert read_ring(client, "ping\n") == (["ok"], [])


def test_it_outlives_berthd(daemon, client):
    (before, *_), fd = ring_of(client)
    client = after_restart(daemon, "kill")
    (after, *_), again = ring_of(client)
    assert before == after and os.path.sameopenfile(fd, again)
    daemon.stop()
    (daemon.socket.parent / "s.history").unlink()
    daemon.start()
    (other, *_), third = ring_of(daemon.client())
    assert other != before
    for each in fd, again, third:
        os.close(each)


def must_only_read(fd):
    for work in (lambda: os.pwrite(fd, b"x", 0), lambda: os.ftruncate(fd, 0), lambda: os.posix_fallocate(fd, 0, 1)):
        with pytest.raises(OSError):
            work()
    with pytest.raises(PermissionError):
        mmap.mmap(fd, 0, prot=mmap.PROT_READ | mmap.PROT_WRITE)
    with pytest.raises(PermissionError):
        os.open(f"/proc/self/fd/{fd}", os.O_RDWR)


@needs_root
@pytest.mark.parametrize("has_file", [True, False])
def test_nobody_writes_to_it(berthd, directory, has_file):
    """Of a user who may read it: also where it is in memory alone."""
    if not has_file:
        (directory / "s.history").mkdir()
    daemon = berthd(f"history-user = {NOBODY}\n" + CONFIG)
    assert ("cannot use the history file" in daemon.log.read_text()) != has_file

    def work():
        become(NOBODY)
        client = daemon.client()
        _, fd = ring_of(client)
        must_only_read(fd)
        assert b"berth history" == os.pread(fd, 13, 0)

    must_end_well(in_child(work))


@needs_root
def test_by_name(directory, sanitizer_reports):
    """berthd looks up the asker's name, and others need not wait. While the name service hangs, nobody is taken for another."""
    gate = Gate(directory / "gate")
    name = pwd.getpwuid(NOBODY).pw_name
    daemon = Berthd(directory, f"history-user = {name}\n" + CONFIG,
                    before=with_shim("names_shim.so", BERTH_NAMES_GATE=gate.path))
    try:
        asker, stranger, client = connect_as(daemon, NOBODY), connect_as(daemon, 60001), daemon.client()
        gate.shut()
        stranger.send("ring\n")
        at_gate = gate.wait_for_somebody()
        assert client.request("ping") == "ok" and not select.select([stranger.socket], [], [], 0)[0]
        assert stranger.line() == "error busy the%20name%20service%20does%20not%20answer"  # after 4 s
        gate.path.unlink()
        os.close(at_gate)
        until(lambda: asker.request("ring").startswith("ok ring="))
        assert refused(stranger, "ring") == "forbidden"
    finally:
        for each in daemon.clients:
            each.close()
        daemon.stop()


def test_answers_that_are_read_together(daemon, client):
    """With one descriptor for all."""
    lines, fds = read_ring(client, "ping\nring\nring\nping\n", 4)
    assert lines[0] == lines[3] == "ok" and lines[1] == lines[2] and lines[1].startswith("ok ring=")
    assert len(fds) in (1, 2)
    for fd in fds:
        os.close(fd)


def test_many_that_do_not_read(daemon):
    """They keep no descriptors in berthd, and everybody else goes on."""
    clients, other = [daemon.client() for _ in range(20)], daemon.client()
    assert all(client.request("ping") == "ok" for client in [*clients, other])
    before = open_files(daemon)
    for client in clients:
        client.send("ring\n" * 2000)
    _, fd = ring_of(other)
    os.close(fd)
    assert open_files(daemon) == before
    for client in clients:
        client.close()
    until(lambda: open_files(daemon) == before - len(clients))
    assert other.request("ping") == "ok"


def test_who_has_gone_before_the_answer(daemon, client):
    with stopped(daemon):
        for _ in range(10):
            other = daemon.client()
            other.send("ring\n")
            other.close()
    assert client.request("ping") == "ok"
    _, fd = ring_of(client)
    os.close(fd)


def test_without_a_history(berthd, directory):
    daemon = berthd("history = 0\n" + CONFIG)
    lines, fds = read_ring(daemon.client())
    assert code(lines[0]) == "unknown" and not fds


def test_of_a_file_that_was_cut(daemon, client, directory):
    os.truncate(directory / "s.history", 8192)
    assert refused(client, "ring") == "unknown"
    client = after_restart(daemon, "kill")
    _, fd = ring_of(client)
    os.close(fd)
