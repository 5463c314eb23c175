"""The library `berth`, driven by a conversation (tests/conformance/README.md): with threads, or with "aio" as its
argument by asyncio."""

import asyncio
import os
import sys
import threading

import berth
from berth import aio


def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


def asked_for(words):
    """The arguments of acquire()."""
    wait, *wanted = words
    strict = wanted[-1] == "+strict"
    return wanted[:-1] if strict else wanted, {"wait": None if wait == "-" else float(wait), "strict": strict}


def say_held(tag, lease):
    say("held", tag, lease.id, *(f"{one.name}={one.token}={one.text}" for one in lease.units))


def with_threads():
    say("driver python lost deadline proof several")
    client = berth.Client(patience=2.0)
    leases = {}

    def acquire(tag, words):
        wanted, options = asked_for(words)
        try:
            lease = leases[tag] = client.acquire(*wanted, **options)
        except berth.BerthError as error:
            say("failed", tag, error.code)
            return
        say_held(tag, lease)
        lease.on_lost(lambda loss: say("lost", tag, loss.code))

    for line in sys.stdin:
        word, *words = line.split()
        if word == "acquire":
            threading.Thread(target=acquire, args=(words[0], words[1:]), daemon=True).start()
        elif word == "release":
            leases.pop(words[0]).release()
            say("released", words[0])
    os._exit(0)  # as a process that dies: what is held is berthd's to notice


async def with_asyncio():
    say("driver aio cancel lost deadline proof several")
    client = aio.Client(patience=2.0)
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    leases, tasks = {}, {}

    async def acquire(tag, words):
        wanted, options = asked_for(words)
        try:
            lease = leases[tag] = await client.acquire(*wanted, **options)
        except berth.BerthError as error:
            say("failed", tag, error.code)
        except asyncio.CancelledError:
            say("cancelled", tag)
        else:
            say_held(tag, lease)
            lease.on_lost(lambda loss: say("lost", tag, loss.code))

    async def release(tag):
        await leases.pop(tag).release()
        say("released", tag)

    while line := await lines.readline():
        word, *words = line.decode().split()
        if word == "acquire":
            tasks[words[0]] = asyncio.create_task(acquire(words[0], words[1:]))
        elif word == "release":
            tasks["release"] = asyncio.create_task(release(words[0]))
        elif word == "cancel":
            tasks[words[0]].cancel()
    os._exit(0)


if "aio" in sys.argv:
    asyncio.run(with_asyncio())
else:
    with_threads()
