"""What the demo runs under a lease: COMMAND, which reads FILE and writes RESULT, between two looks
at the clock. Reports on stdout what it saw, as JSON, one line before and one after: the demo
believes the jobs, not the daemon.

demo_job.py FILE RESULT COMMAND [ARGUMENT]...

Imports little, because it is started so often."""

import json
import os
import sys
import time


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    say(started=now(), lease=os.environ["BERTH_LEASE"], token=int(os.environ["BERTH_TOKEN"]),
        slot=int(os.environ["BERTH_SLOT"]))
    source, result, *command = sys.argv[1:]
    job = os.posix_spawnp(command[0], command, os.environ, file_actions=[
        (os.POSIX_SPAWN_OPEN, 0, source, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, result, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)])
    status = os.waitstatus_to_exitcode(os.waitpid(job, 0)[1])
    say(ended=now())
    return 1 if status else 0


sys.exit(main())
