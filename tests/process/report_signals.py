"""A job for the tests: says on stdout "ready", then each signal that it gets; SIGTERM ends it with
status 7. SIGTSTP, SIGTTIN and SIGTTOU keep their default, but for those that an argument names;
what gets one of these gets SIGALRM 2 s later."""

import os
import signal
import sys

wanted = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
          signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT, signal.SIGALRM}
more = {signal.Signals[name] for name in sys.argv[1:]}
wanted |= more
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
os.write(1, b"ready\n")
number = None
while number != signal.SIGTERM:
    number = signal.sigwait(wanted)
    os.write(1, number.name.encode() + b"\n")
    if number in more:
        signal.alarm(2)
os._exit(7)
