"""Every request, key, code, event and configuration key of the code's tables is in doc/protocol.md
and conf/berth.conf, with the same rights, statuses and defaults, and the other way round; and each
line of README.md's "What happens when …" names tests that exist.

usage: check_docs.py SRCDIR PRINT_TABLES"""

import pathlib
import re
import subprocess
import sys

srcdir = pathlib.Path(sys.argv[1])
tables = subprocess.run([sys.argv[2]], capture_output=True, text=True, check=True).stdout
protocol = (srcdir / "doc/protocol.md").read_text()
sample = (srcdir / "conf/berth.conf").read_text()
readme = (srcdir / "README.md").read_text()
failures = []


def require(condition, message):
    if not condition:
        failures.append(message)


def rows(kind):
    for line in tables.split("\nkeys\n")[0].splitlines():
        fields = line.split("\t")
        if fields[0] == kind:
            yield fields[1:]


def check_commands():
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", protocol, re.M | re.S))
    sections.pop("Reserved", None)
    commands = list(rows("command"))
    require(commands, "no commands: did print_tables run?")
    for word, right, keys in commands:
        text = sections.pop(word, None)
        require(text, f"protocol.md: no section for {word}")
        heading = (text or "").split("\n* ")[0].split("\n\n")[0]
        require(f"({right})" in heading, f"protocol.md: {word}: should say ({right})")
        documented = set(re.findall(r"(\w+)=", heading.split("(")[0]))
        require(documented == set(keys.split()),
                f"protocol.md: {word}: has keys {sorted(documented)}, code has {keys.split()}")
    require(not sections, f"protocol.md: unknown requests {list(sections)}")


def check_codes():
    documented = {word: (int(status), meaning) for word, meaning, status in
                  re.findall(r"^\| `([a-z-]+)` \| (.*) \| (\d+) \|$", protocol, re.M)}
    coded = {word: (int(status), meaning) for word, status, meaning in rows("code")}
    for word in documented.keys() | coded.keys():
        require(documented.get(word) == coded.get(word),
                f"protocol.md: code {word}: {documented.get(word)}, code has {coded.get(word)}")


def check_events():
    documented = set(re.findall(r"^\| `\* (\w+)", protocol, re.M))
    coded = {word for word, in rows("event")}
    require(documented == coded, f"protocol.md: events {documented}, code has {coded}")


def sample_keys():
    """(kind, key) for each key of the sample file, commented out or not."""
    found = {}
    section = None
    for line in sample.splitlines():
        header = re.match(r"[;#]?\[(\w+)", line)
        key = re.match(r"[;#]?([a-z][a-z-]*) *=(.*)", line)
        if header:
            section = header.group(1)
        elif key:
            found.setdefault((section, key.group(1)), []).append(key.group(2).strip())
    return found


def check_sample():
    found = sample_keys()
    coded = set()
    for line in tables.split("\nkeys\n")[1].splitlines():
        section, key, _ = line.split(" ", 2)
        coded.add((section, key))
        require(any(kind_key in found for kind_key in [(section, key)] + [
            (kind, key) for kind in ("semaphore", "lock", "pool") if section != "daemon"]),
            f"berth.conf: no {key} for [{section}]")
    require(coded, "no keys: did print_tables run?")
    for section, key in found:
        require((section, key) in coded, f"berth.conf: [{section}] has no key {key}")


def check_promises():
    """Each line of "What happens when …" names tests, and there are such tests."""
    section = re.search(r"^## What happens when …\n(.*?)(?=^## )", readme, re.M | re.S)
    lines = re.findall(r"^\| (.*) \|$", section.group(1) if section else "", re.M)[2:]
    require(lines, "README.md: no table of what happens when")
    tests = {name for path in (srcdir / "tests/process").glob("test_*.py")
             for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.M)}
    for line in lines:
        named = re.findall(r"`(test_\w+)`", line.rsplit(" | ", 1)[1])
        require(named, f"README.md: no test is named for: {line}")
        for name in named:
            require(name in tests, f"README.md: there is no {name}")


check_promises()
check_commands()
check_codes()
check_events()
check_sample()
for failure in failures:
    print(f"check_docs: {failure}", file=sys.stderr)
sys.exit(bool(failures))
