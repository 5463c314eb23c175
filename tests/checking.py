"""What check_docs.py and check_man.py share: the tables of the code, and how a file is checked."""

import subprocess
import sys
import tempfile

failures = []


def require(condition, message):
    if not condition:
        failures.append(message)


def rows_of(print_tables):
    """rows(kind): those of the code's tables."""
    printed = subprocess.run([print_tables], capture_output=True, text=True, check=True).stdout
    fields = [line.split("\t") for line in printed.splitlines()]

    def rows(kind):
        found = [row[1:] for row in fields if row[0] == kind]
        require(found, f"no {kind}: did print_tables run?")
        return found

    return rows


def accepted(program, text):
    """What `PROGRAM --check` says of a file with that text."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        return subprocess.run([program, "--check", "-c", file.name], capture_output=True, text=True, check=False)


def carry_out(name, functions):
    """Calls each that is called check_...; ends the program called `name`."""
    for word, function in list(functions.items()):
        if word.startswith("check_"):
            function()
    for failure in failures:
        print(f"{name}: {failure}", file=sys.stderr)
    sys.exit(bool(failures))
