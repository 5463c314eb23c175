"""A Debian that a real systemd has booted, in its own namespaces; seen from outside.

Paths inside are given as inside; `outside()` says where the same file is for us."""

import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import time

from programs import end_all

TOP = pathlib.Path(os.environ["BERTH_TOP"])
WORK = pathlib.Path(os.environ["BERTH_WORK"])
PACKAGE = pathlib.Path(os.environ["BERTH_PACKAGE"])
DEADLINE = 30.0
STARTED = "39f53479d3a045ac8e11786248231fbf"  # MESSAGE_ID of "Started UNIT"

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


class Machine:
    """root: a directory for its files, which must not exist yet."""

    def __init__(self, root):
        self.root = root
        self.cgroup = WORK / "cgroup" / f"berth-boot-{os.environ['BERTH_RUN']}-{root.name}"
        self.namespaces = None  # the process that is its init's parent
        self.pid = None  # of its init, as we see it
        self.started = []
        root.mkdir()
        subprocess.run(["tar", "-C", root, "-xf", WORK / "tree.tar"], check=True)
        (root / "etc/hostname").write_text("berth-test\n")
        for unit in ("console-getty.service", "getty.target", "timers.target"):
            (root / "etc/systemd/system" / unit).symlink_to("/dev/null")

    # ---- on and off ----

    def boot(self):
        """Returns when it has booted."""
        self.cgroup.mkdir(exist_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notify:
            path = self.root / "booted"
            path.unlink(missing_ok=True)
            notify.bind(str(path))
            notify.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            self.namespaces = subprocess.Popen(
                ["sh", "-c", 'echo $$ >"$1"/cgroup.procs && shift && exec "$@"', "sh", self.cgroup,
                 "unshare", "--pid", "--fork", "--kill-child", "--mount", "--uts", "--ipc", "--net", "--cgroup",
                 "--propagation", "unchanged", "sh", TOP / "tests/systemd/boot", self.root, "/booted"],
                stdin=subprocess.DEVNULL)
            self.pid = self.wait_for_ready(notify)

    def wait_for_ready(self, notify):
        end = time.monotonic() + DEADLINE
        while True:
            assert select.select([notify], [], [], max(end - time.monotonic(), 0))[0], "it does not boot"
            text, ancillary, _, _ = notify.recvmsg(4096, socket.CMSG_SPACE(12))
            if b"READY=1" in text.split(b"\n"):
                (_, _, credentials), = ancillary
                return struct.unpack("iII", credentials)[0]

    def off(self):
        """At once, as by a power cut."""
        end_all(self.started)
        self.started = []
        if self.namespaces:
            self.namespaces.kill()
            self.namespaces.wait()
            self.namespaces = None

    # ---- commands ----

    def command(self, args, user=None):
        enter = ["nsenter", "-t", str(self.pid), "-a", "-r", "-w", "--"]
        become = ["setpriv", "--reuid", user, "--regid", user, "--init-groups", "--"] if user else []
        return [*enter, *become, *map(str, args)]

    def start(self, *args, user=None, env=None, **options):
        """A Popen with pipes; killed when the machine is switched off."""
        options.setdefault("stdin", subprocess.PIPE)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        process = subprocess.Popen(self.command(args, user), env={**ENVIRONMENT, **(env or {})}, **options)
        self.started.append(process)
        return process

    def try_(self, *args, user=None, env=None, input=None):
        """Runs it to its end: a CompletedProcess with text."""
        return subprocess.run(
            self.command(args, user), env={**ENVIRONMENT, **(env or {})}, text=True, input=input,
            stdin=subprocess.DEVNULL if input is None else None, capture_output=True, timeout=2 * DEADLINE)

    def run(self, *args, **options):
        """The same, and it must succeed; returns its output."""
        done = self.try_(*args, **options)
        assert done.returncode == 0, f"{args}: {done.returncode}\n{done.stdout}{done.stderr}\n{self.log()}"
        return done.stdout

    def systemctl(self, *args):
        return self.run("systemctl", *args)

    def kill(self, signal, pid):
        self.run("sh", "-c", "kill -$0 $1", signal, pid)

    # ---- files ----

    def outside(self, path):
        """Also for what is mounted while it runs, such as /run."""
        return pathlib.Path(f"/proc/{self.pid}/root{path}")

    def write(self, path, text, mode=0o644):
        file = self.outside(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(mode)

    def read(self, path):
        return self.outside(path).read_text()

    # ---- what systemd knows ----

    def property(self, unit, name):
        return self.systemctl("show", "-P", name, unit).rstrip("\n")

    def main_pid(self, unit="berthd.service"):
        return int(self.property(unit, "MainPID"))

    def wait(self, is_so, what):
        """Polls until is_so() is true."""
        end = time.monotonic() + DEADLINE
        while not (value := is_so()):
            assert time.monotonic() < end, f"in time not: {what}\n{self.log()}"
            select.select([], [], [], 0.02)
        return value

    # ---- the journal ----

    def log(self):
        return subprocess.run(
            self.command(["journalctl", "-q", "-n", "25", "--no-pager"]), env=ENVIRONMENT, text=True,
            capture_output=True).stdout

    def journal(self, after, **fields):
        """Entries after a cursor that have these fields, as dictionaries."""
        self.run("journalctl", "--sync")
        # journalctl's own matches would make it pass over one more entry than the cursor's.
        lines = self.run("journalctl", "-q", "-o", "json", f"--after-cursor={after}").splitlines()
        return [entry for entry in map(json.loads, lines) if fields.items() <= entry.items()]

    def messages(self, after, **fields):
        return [entry["MESSAGE"] for entry in self.journal(after, **fields)]

    def cursor(self):
        """Of the last entry."""
        self.run("journalctl", "--sync")
        line, = self.run("journalctl", "-q", "-n", "1", "-o", "json").splitlines()
        return json.loads(line)["__CURSOR"]

    def wait_for_entry(self, after, **fields):
        """The first such entry after a cursor."""
        follow = self.start("journalctl", "-q", "-f", "-o", "json", f"--after-cursor={after}")
        try:
            end = time.monotonic() + DEADLINE
            buffer = b""
            while True:
                assert select.select([follow.stdout], [], [], max(end - time.monotonic(), 0))[0], (
                    f"no such entry in time: {fields}\n{self.log()}")
                buffer += os.read(follow.stdout.fileno(), 65536)
                *lines, buffer = buffer.split(b"\n")
                for entry in map(json.loads, lines):
                    if fields.items() <= entry.items():
                        return entry
        finally:
            follow.kill()
            follow.wait()
