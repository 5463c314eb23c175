"""A service manager played by the test: it gets berthd's notifications, and hands sockets over."""

import contextlib
import fcntl
import os
import select
import socket
import struct
import subprocess
import sys
import time

from conftest import BUILD
from lines import DEADLINE, Client
from programs import read_line, stop_well

# As systemd does between fork and exec: the pid is known only then. Arguments: descriptors to hand
# over, those to close; the program and its arguments.
EXEC = """
import os, sys
for number, fd in enumerate(filter(None, sys.argv[1].split(",")), 3):
    os.dup2(int(fd), number)
    os.close(int(fd))
for fd in filter(None, sys.argv[2].split(",")):
    os.close(int(fd))
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(sys.argv[3], sys.argv[3:])
"""
SO_TIMESTAMP = 29  # Linux's number on most machines; the socket module has no name for it
TIMEVAL = struct.Struct("@ll")
ABOVE = 50  # the sockets to hand over are above the first descriptors


# A mount namespace in which the journal's socket is the test's. In a chroot / is no mount point:
# then nothing above can be made private, and nothing may be shared.
WITH_JOURNAL = """
{ mount --make-rprivate / 2>/dev/null || ! grep -q ' shared:' /proc/self/mountinfo; } &&
mount -t tmpfs none /run && mkdir -p /run/systemd/journal &&
mount --bind "$0" /run/systemd/journal && exec "$@"
"""


def fill(path):
    """The queue of the datagram socket there: its owner reads nothing."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as filler:
        filler.connect(str(path))
        filler.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                filler.send(b"X=1")


class Journal:
    """What is sent to this test's journal."""

    def __init__(self, directory):
        self.directory = directory / "journal"
        self.directory.mkdir()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(self.directory / "socket"))
        self.entries = []

    def before(self):
        return ["unshare", "-m", "--propagation", "unchanged", "sh", "-c", WITH_JOURNAL, str(self.directory)]

    def entry(self, timeout=DEADLINE):
        """The next entry: all values of each field. None if there is none in time."""
        readable, _, _ = select.select([self.socket], [], [], timeout)
        if not readable:
            return None
        fields = {}
        for line in self.socket.recv(65536).decode("ascii").removesuffix("\n").split("\n"):
            name, value = line.split("=", 1)
            fields.setdefault(name, []).append(value)
        self.entries.append(fields)
        return fields

    def until(self, event, timeout=DEADLINE):
        """The first entry about such an event."""
        end = time.monotonic() + timeout
        while fields := self.entry(max(end - time.monotonic(), 0)):
            if fields.get("BERTH_EVENT") == [event]:
                return fields
        raise AssertionError(f"no {event}: {self.entries}")


class Manager:
    """start() runs berthd with NOTIFY_SOCKET and, if there are any, sockets from descriptor 3 on."""

    def __init__(self, directory, text="", head=""):
        self.directory = directory
        self.log = directory / "berthd.log"
        self.config = directory / "berth.conf"
        self.socket = directory / "s"
        self.clients = []
        self.ear = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ear.bind(str(directory / "notify"))
        self.ear.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        self.environ = {
            **os.environ, "NOTIFY_SOCKET": str(directory / "notify"),
            "STATE_DIRECTORY": str(directory / "state")}
        self.handed = []
        self.journal = None
        self.closed = ()
        self.passed = []
        self.process = None
        self.ready, self.to_daemon = os.pipe()
        self.heard = []
        self.configure(text, head)

    def configure(self, text, head=""):
        self.config.write_text(head or f"[daemon]\nsocket = {self.socket}\n" + text)

    def keep_journal(self):
        """berthd's stderr is the journal, as the environment says."""
        self.log.touch()
        status = self.log.stat()
        self.environ["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
        self.journal = Journal(self.directory)
        return self.journal

    def hand_over(self, *sockets):
        self.handed = list(sockets)
        self.environ["LISTEN_FDS"] = str(len(sockets))

    def listen(self, path=None, mode=0o666):
        """A socket as a socket unit has it, handed over at the next start."""
        listening = socket.socket(socket.AF_UNIX)
        listening.bind(str(path or self.socket))
        os.chmod(path or self.socket, mode)
        listening.listen(4096)
        self.hand_over(listening)
        return listening

    def run(self, *args, program=BUILD / "berthd"):
        fds = [fcntl.fcntl(s, fcntl.F_DUPFD, ABOVE) for s in self.handed]
        words = [sys.executable, "-S", "-c", EXEC, *(",".join(map(str, n)) for n in (fds, self.closed))]
        if self.journal:
            words = [*self.journal.before(), *words]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [*words, program, "-c", self.config, *args], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, pass_fds=[*fds, *self.passed], env=self.environ)
        for fd in fds:
            os.close(fd)

    def start(self, *args):
        """Returns when berthd is ready; its notification then."""
        self.run(*args)
        return self.until(lambda said: "READY" in said)

    def started(self, *args):
        """The same; returns a client."""
        self.start(*args)
        return self.client()

    def hear(self, timeout=DEADLINE):
        """The next message: its assignments. None if there is none in time."""
        readable, _, _ = select.select([self.ear], [], [], timeout)
        if not readable:
            return None
        text, ancillary, _, _ = self.ear.recvmsg(65536, socket.CMSG_SPACE(TIMEVAL.size))
        said = dict(line.split("=", 1) for line in text.decode().splitlines())
        said["at"], = [seconds + micros / 1e6 for level, kind, data in ancillary
                       if (level, kind) == (socket.SOL_SOCKET, SO_TIMESTAMP)
                       for seconds, micros in TIMEVAL.iter_unpack(data)]  # when it came, not when it is read
        self.heard.append(said)
        return said

    def until(self, wanted, timeout=DEADLINE):
        """The first message that is wanted."""
        end = time.monotonic() + timeout
        while said := self.hear(max(end - time.monotonic(), 0)):
            if wanted(said):
                return said
        raise AssertionError(f"not heard: {self.heard}\n{self.log.read_text()}")

    def status(self, text):
        return self.until(lambda said: text in said.get("STATUS", ""))["STATUS"]

    def client(self):
        self.clients.append(Client(self.socket))
        return self.clients[-1]

    def serves(self):
        """Starts a berthd that reports only by --ready-fd that it is ready; returns a client."""
        self.passed = [self.to_daemon]
        self.run("--ready-fd", str(self.to_daemon))
        assert read_line(self.ready) == "ready", self.log.read_text()
        return self.client()

    def fails(self, *args):
        """Runs it to its end: status, log and last notification."""
        self.run(*args)
        status = self.process.wait(DEADLINE)
        while self.hear(0):
            pass
        return status, self.log.read_text(), self.heard[-1] if self.heard else {}

    def stop(self):
        stop_well(self.process, self.log)

    def kill(self):
        self.process.kill()
        self.process.wait(DEADLINE)

    def end(self):
        if self.process and self.process.poll() is None:
            self.stop()
        for client in self.clients:
            client.close()
        os.close(self.ready)
        os.close(self.to_daemon)
        for s in [self.ear, *self.handed, *([self.journal.socket] if self.journal else [])]:
            s.close()
