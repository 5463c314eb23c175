"""All process tests, several at the same time, as many of them wait while others compute:
$BERTH_TEST_WORKERS processes take the tests of a file, or some of a long file, in turn. They are
forked once the tests are known: to import them all takes longer than many of them."""

import atexit
import itertools
import os
import struct
import sys
import tempfile

import pytest

AT_ONCE = 24
SHARE = struct.Struct("HH")


def at_end(function, *arguments):
    """Of this process; its forks have ends of their own."""
    pid = os.getpid()
    atexit.register(lambda: os.getpid() == pid and function(*arguments))


def in_shares(items):
    """(first, end) of each share of a worker, the long files first."""
    shares = []
    for _, of_a_file in itertools.groupby(range(len(items)), lambda i: items[i].path):
        indexes = list(of_a_file)
        shares += [(indexes[i], indexes[min(i + AT_ONCE, len(indexes)) - 1] + 1)
                   for i in range(0, len(indexes), AT_ONCE)]
    return sorted(shares, key=lambda share: share[0] - share[1])


def taken(queue, items):
    """A read takes a whole share, as a pipe is read by one process at a time."""
    while share := os.read(queue, SHARE.size):
        first, end = SHARE.unpack(share)
        yield from items[first:end]
    yield None


def print_to(output, config):
    """From now on. pytest captures into another file, as the old one would have several writers."""
    capture = config.pluginmanager.getplugin("capturemanager")
    capture.stop_global_capturing()
    os.dup2(output.fileno(), 1)
    capture.start_global_capturing()
    capture.suspend_global_capture()


def work(session, queue):
    for item, nextitem in itertools.pairwise(taken(queue, session.items)):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)
        if stop := session.shouldfail or session.shouldstop:
            raise session.Interrupted(stop)


def pytest_runtestloop(session):
    n_workers = int(os.environ.get("BERTH_TEST_WORKERS", "1"))
    if n_workers == 1 or session.config.option.collectonly or session.testsfailed:
        return None # as pytest does it
    queue, end = os.pipe()
    os.write(end, b"".join(SHARE.pack(*share) for share in in_shares(session.items)))
    os.close(end)
    sys.stdout.flush()
    outputs = {}
    for _ in range(n_workers):
        output = tempfile.TemporaryFile()
        if (pid := os.fork()) == 0:
            print_to(output, session.config)
            work(session, queue)
            return True # to the summary, of this worker's tests
        outputs[pid] = output
    while outputs:
        pid, status = os.wait()
        with outputs.pop(pid) as output: # in one piece, when it is over
            output.seek(0)
            sys.stdout.write(output.read().decode(errors="replace"))
        if status not in (0, pytest.ExitCode.NO_TESTS_COLLECTED << 8):
            session.testsfailed += 1
    return True
