"""The books' fair counting semaphore for Redis, to measure Berth beside it: a set of owners by
time, a set by a counter, and a lock around both. It polls while it waits, and a client whose
clock is wrong takes away what others have; here only its speed matters.

recipe.py REDIS-SOCKET LIMIT CALLERS PAIRS

CALLERS threads, each with its own connection, acquire and release PAIRS times; prints
nanoseconds for each pair, over all callers."""

import concurrent.futures
import sys
import time
import uuid

import redis


class Lock:
    """SET NX with a time; only its owner deletes it."""

    def __init__(self, client, name, seconds=10):
        self.client = client
        self.name = "lock:" + name
        self.seconds = seconds
        self.mine = str(uuid.uuid4())

    def acquire(self):
        while not self.client.set(self.name, self.mine, nx=True, ex=self.seconds):
            time.sleep(0.001)  # as in the recipe: it polls

    def release(self):
        with self.client.pipeline() as pipe:
            while True:
                try:
                    pipe.watch(self.name)
                    if pipe.get(self.name) == self.mine:
                        pipe.multi()
                        pipe.delete(self.name)
                        pipe.execute()
                    return
                except redis.WatchError:
                    continue


class FairSemaphore:
    """Owners by the time of their last refresh (older than `seconds`: over), and by the number that
    they drew: the `limit` smallest hold the semaphore."""

    def __init__(self, client, name, limit, seconds=10):
        self.client = client
        self.name = name
        self.owners = name + ":owner"
        self.counter = name + ":counter"
        self.limit = limit
        self.seconds = seconds

    def try_acquire(self):
        mine = str(uuid.uuid4())
        now = time.time()
        with self.client.pipeline(transaction=True) as pipe:
            pipe.zremrangebyscore(self.name, "-inf", now - self.seconds)
            pipe.zinterstore(self.owners, {self.owners: 1, self.name: 0})
            pipe.incr(self.counter)
            number = pipe.execute()[-1]
            pipe.zadd(self.name, {mine: now})
            pipe.zadd(self.owners, {mine: number})
            pipe.zrank(self.owners, mine)
            if pipe.execute()[-1] < self.limit:
                return mine
        self.release(mine)
        return None

    def acquire(self):
        """Without the lock, two callers that draw numbers in one order and enter them in the other
        both get the last place."""
        lock = Lock(self.client, self.name)
        lock.acquire()
        try:
            return self.try_acquire()
        finally:
            lock.release()

    def refresh(self, mine):
        """False: it was lost, and stays lost."""
        if self.client.zadd(self.name, {mine: time.time()}):
            self.release(mine)
            return False
        return True

    def release(self, mine):
        with self.client.pipeline(transaction=True) as pipe:
            pipe.zrem(self.name, mine)
            pipe.zrem(self.owners, mine)
            return pipe.execute()[0] == 1


def work(path, limit, pairs):
    client = redis.Redis(unix_socket_path=path, decode_responses=True)
    semaphore = FairSemaphore(client, "recipe", limit)
    for _ in range(pairs):
        mine = semaphore.acquire()
        if not mine or not semaphore.release(mine):
            raise RuntimeError("not acquired, or lost")


def main():
    path, limit, callers, pairs = sys.argv[1], *map(int, sys.argv[2:])
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        for n in (max(pairs // 10, 1), pairs):  # the first time is a warm-up
            began = time.monotonic_ns()
            for done in [pool.submit(work, path, limit, n) for _ in range(callers)]:
                done.result()
    print((time.monotonic_ns() - began) // (pairs * callers))


main()
