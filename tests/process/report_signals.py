"""A job for the tests: prints "ready", then each signal that it gets; SIGTERM ends it with status
7. SIGTSTP, SIGTTIN and SIGTTOU keep their default actions, unless an argument names them; such a
signal is followed by SIGALRM 2 s later."""

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
