"""What README.md has the reader type, and what it says will be printed."""

import re

from documents import SOURCE

TEXT = (SOURCE / "README.md").read_text()


def fenced(section):
    """The fenced texts of a section, in order."""
    body = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", TEXT, re.M | re.S).group(1)
    return re.findall(r"^```\w*\n(.*?)^```$", body, re.M | re.S)


INSTALL, HOLD, WAIT, WAITING, STATUS, OWN = fenced("Sixty seconds")
SHOW = re.search(r"`(berthctl [^`]*)`", TEXT).group(1)
OWN_FILE, OWN_SECTION = re.search(r"^sudo tee (\S+) <<'end'\n(.*?)^end$", OWN, re.M | re.S).groups()
FROM_SOURCE, = fenced("Install")

# In the order of the file; each is a comment and one command.
RECIPES = dict(zip("cron xargs gpus deploy two".split(), re.findall(
    r"^# .*\n([^#].*\n)", fenced("Recipes")[0], re.M), strict=True))
PROGRAM = fenced("Recipes")[1]
POOL = "\n".join(re.search(r'"(\[pool \w+\])" and "(items = [^"]*)"', TEXT).groups()) + "\n"


def without_particulars(text):
    """Drops pids, users, ages and leases from what `berth` and `berthctl status` print; line breaks
    and column widths do not count."""
    text = re.sub(r"pid \d+ \((\w+), \w+\) for \d+s", r"pid PID (\1, USER) for AGE", text)
    text = re.sub(r"^( +(?:held +slot \d+|#\d+ +wants \d+)) +\d+s +\d+ +\w+ +(\w+) +\w+$", r"\1 AGE PID USER \2 LEASE",
                  text, flags=re.M)
    return text.split()
