"""A shell with job control for the tests: leads a session on a terminal and does on request, over
the descriptor in its argument, what an interactive shell does.

Requests and answers are JSON, one a line:
["start", argv...]   runs it in the foreground in a group of its own       -> pid
["start-background", argv...]                                             -> pid
["wait"]             until the job stops or ends; takes the terminal back  -> [how, number]
["fg"], ["bg"]       continues it                                          -> null
["foreground"]       the terminal's foreground group                       -> group"""

import json
import os
import signal
import sys

TERMINAL = 0


def start(argv, in_foreground):
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        if in_foreground:
            os.tcsetpgrp(TERMINAL, os.getpid())
        for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT,
                       signal.SIGQUIT, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        os.execvp(argv[0], argv)
    try:
        os.setpgid(pid, pid)
    except PermissionError:
        pass  # it has executed, so it has done it itself
    return pid


def wait(pid):
    _, status = os.waitpid(pid, os.WUNTRACED)
    os.tcsetpgrp(TERMINAL, os.getpgrp())
    if os.WIFSTOPPED(status):
        return "stopped", os.WSTOPSIG(status)
    if os.WIFSIGNALED(status):
        return "killed", os.WTERMSIG(status)
    return "exited", os.WEXITSTATUS(status)


def main():
    channel = os.fdopen(int(sys.argv[1]), "r+b", buffering=0)
    os.set_inheritable(channel.fileno(), False)
    for number in (signal.SIGTTOU, signal.SIGTTIN, signal.SIGTSTP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    pid = None
    for line in iter(channel.readline, b""):
        word, *arguments = json.loads(line)
        answer = None
        if word.startswith("start"):
            answer = pid = start(arguments, word == "start")
        elif word == "wait":
            answer = wait(pid)
        elif word == "fg":
            os.tcsetpgrp(TERMINAL, pid)
            os.killpg(pid, signal.SIGCONT)
        elif word == "bg":
            os.killpg(pid, signal.SIGCONT)
        elif word == "foreground":
            answer = os.tcgetpgrp(TERMINAL)
        channel.write(json.dumps(answer).encode() + b"\n")


main()
