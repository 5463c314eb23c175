"""A job for the tests: says on stdout "ready", then each signal that it gets; SIGTERM ends it with
status 7. SIGTSTP, SIGTTIN and SIGTTOU keep their default."""

import os
import signal

wanted = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
          signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT, signal.SIGALRM}
signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
os.write(1, b"ready\n")
number = None
while number != signal.SIGTERM:
    number = signal.sigwait(wanted)
    os.write(1, number.name.encode() + b"\n")
os._exit(7)
