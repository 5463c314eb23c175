"""The processes of a flood: berthd as delivered, one user who floods it, and another one."""

import contextlib
import os
import resource
import subprocess

from processes import DEADLINE, Bench, Trouble, pin_to, read_before_deadline, wait_until

FLOODER = 65534
VICTIM = 4711
CONNECTIONS = 2000  # max-clients-per-user
WAITERS = 850  # below max-waiters-per-user: some waiters come and go

# No key of [daemon] but the socket: the default bounds apply.
CONFIGURATION = """
[daemon]
socket = {socket}
[lock theirs]
[semaphore slots]
limit = 1000
"""


def sockets(pid):
    """How many sockets the process has."""
    directory, n = "/proc/%d/fd" % pid, 0
    for fd in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):
            n += os.readlink(os.path.join(directory, fd)).startswith("socket:")
    return n


class FloodBench(Bench):
    """Has the rounds measured so far: the figures and the information are from one run."""

    configuration = CONFIGURATION

    def __init__(self, build, directory):
        super().__init__(build, directory)
        if os.geteuid() != 0:
            raise Trouble("needs root, to be two other users")
        if len(os.sched_getaffinity(0)) < 2:
            raise Trouble("needs two CPUs")
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2 * CONNECTIONS:
            raise Trouble("needs %d open files" % (2 * CONNECTIONS))
        os.chmod(directory, 0o711)
        self.measured = {}

    @contextlib.contextmanager
    def flooder(self, server, kind):
        """The flooder works on the second CPU until the end of the block, and leaves nothing
        behind."""
        before = sockets(server.process.pid)
        command = pin_to(1) + [self.program("bench/flood_user"), self.socket]
        process = subprocess.Popen(
            command + [str(word) for word in (FLOODER, kind, CONNECTIONS, WAITERS)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        try:
            if not read_before_deadline(process.stdout.fileno()):
                raise Trouble("the flooder has ended")
            yield
            if process.poll() is not None:
                raise Trouble("the flooder has ended")
        finally:
            process.kill()
            process.communicate()
        self.connect(self.socket).close()  # waits until all connections before it are accepted
        wait_until(lambda: sockets(server.process.pid) <= before)

    def victim(self, how, bursts):
        """Nanoseconds of each of the victim's acquires and releases."""
        command = pin_to(0) + [self.program("bench/flood_victim"), self.socket]
        done = subprocess.run(
            command + [str(word) for word in (VICTIM, "slots", how, bursts)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=DEADLINE,
            check=False,
        )
        if done.returncode != 0:
            raise Trouble(done.stderr.decode().strip() or "the victim has failed")
        return [int(line) for line in done.stdout.split()]

    def rounds(self, kind, how="kept", n=5, bursts=40):
        """Samples with the flood, and with a flooder that only spins, round by round."""
        both = []
        with self.berthd(pinned=True) as server:
            for _ in range(n):
                with self.flooder(server, kind):
                    flooded = self.victim(how, bursts)
                with self.flooder(server, "spin"):
                    both.append((flooded, self.victim(how, bursts)))
        return both
