"""For the tests of berthctl top: a real terminal, of which each cell can be read. The tmux server is
the test's own, with its socket in the test's directory."""

import re
import shutil
import subprocess

import pytest

from lines import DEADLINE, until

needs_tmux = pytest.mark.skipif(not shutil.which("tmux"), reason="needs tmux")


def is_in(text, wanted):
    """A string; a pattern, whose ^ and $ are those of a line; or a function of the text."""
    if callable(wanted):
        return wanted(text)
    return re.search(wanted.pattern, text, re.M) if isinstance(wanted, re.Pattern) else wanted in text


class Screen:
    """A shell on a terminal of so many columns and lines."""

    def __init__(self, program, columns=80, lines=24, **environ):
        self.directory = program.directory
        self.command = ["tmux", "-u", "-S", str(self.directory / "tmux"), "-f", "/dev/null"]
        self.environ = {**program.environ, "LC_ALL": "C.UTF-8", "ENV": "", **environ}
        self.environ.pop("TMUX", None)
        self.tmux("new-session", "-d", "-x", str(columns), "-y", str(lines), "sh")
        self.see(re.compile("[$#]$"))

    def tmux(self, *words):
        done = subprocess.run([*self.command, *words], capture_output=True, text=True, check=False,
                              env=self.environ, cwd=self.directory, timeout=DEADLINE)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def lines(self):
        return [line.rstrip() for line in self.tmux("capture-pane", "-p").splitlines()]

    def text(self):
        return "\n".join(self.lines())

    def see(self, *wanted, none=()):
        """Waits until the screen has all these (is_in()), and none of those; returns its
        lines."""
        def found():
            text = self.text()
            is_seen = all(is_in(text, one) for one in wanted) and not any(is_in(text, one) for one in none)
            return text if is_seen else None

        return until(found, lambda: f"not seen: {wanted}, or seen: {none}, in\n{self.text()}").splitlines()

    def press(self, *keys):
        """Names of keys as tmux has them: Down, C-c, x."""
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def do(self, line):
        """A line for the shell."""
        self.type(line)
        self.press("Enter")

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def is_alternate(self):
        return self.tmux("display", "-p", "#{alternate_on}").strip() == "1"

    def has_cursor(self):
        return self.tmux("display", "-p", "#{cursor_flag}").strip() == "1"

    def end(self):
        subprocess.run([*self.command, "kill-server"], capture_output=True, check=False, timeout=DEADLINE)
