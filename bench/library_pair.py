"""What an acquire and its release cost in Python, by the library `berth`, beside two bare round trips of the same lines
to an echo server.

    library_pair.py SOCKET ECHO-SOCKET NAME ROUNDS PAIRS

One line for each round: nanoseconds a pair with the library, and nanoseconds of the same, bare."""

import os
import pathlib
import socket
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
sys.dont_write_bytecode = True
os.environ.pop("BERTH_LEASE", None)

import berth  # noqa: E402

path, echo, name, rounds, pairs = sys.argv[1:]
client = berth.Client(path)
bare = socket.socket(socket.AF_UNIX)
bare.connect(echo)
with client.acquire(name) as lease:
    acquire = f"acquire {name}:1 program=library_pair.py once={os.urandom(9).hex()} bind=peer\n".encode()
    release = f"release {lease.id}\n".encode()


def with_library():
    with client.acquire(name):
        pass


def with_nothing():
    bare.sendall(acquire)
    bare.recv(65536)
    bare.sendall(release)
    bare.recv(65536)


def nanoseconds(once):
    begun = time.perf_counter_ns()
    for _ in range(int(pairs)):
        once()
    return (time.perf_counter_ns() - begun) // int(pairs)


for _ in range(int(rounds)):
    print(nanoseconds(with_library), nanoseconds(with_nothing))
