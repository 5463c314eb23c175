"""The tables of mutations: reading them, matching them with the source, carrying one out. README.md has the format."""

import collections
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLES = pathlib.Path(__file__).parent
FIELDS = ("guarantee", "breaks", "caught-by")

# `find` and `put` are whole lines, each with its LF.
Edit = collections.namedtuple("Edit", "path find put")


class Mutation:
    def __init__(self, name, where):
        self.name = name
        self.where = where  # "TABLE:LINE"
        self.fields = {}
        self.edits = []

    @property
    def caught_by(self):
        return self.fields["caught-by"]

    @property
    def paths(self):
        return sorted({edit.path for edit in self.edits})

    def carried_out(self, path, text):
        """The text of that file with this mutation. A LookupError names a text that is not there
        exactly once."""
        places = []
        for edit in self.edits:
            if edit.path == path:
                found = ("\n" + text).count("\n" + edit.find)
                if found != 1:
                    raise LookupError(f"{path} has {found} times:\n{edit.find}")
                places.append((("\n" + text).index("\n" + edit.find), edit))
        for place, edit in sorted(places, reverse=True):
            text = text[:place] + edit.put + text[place + len(edit.find):]
        return text


def read_table(path):
    """The mutations of one table, in order. A SyntaxError names a malformed row."""
    mutations = []
    edit = None  # path, lines to find, lines to put
    lines = path.read_text().split("\n")
    for number, line in enumerate(lines, 1):
        where = f"{path.name}:{number}"
        name = re.fullmatch(r"\[([a-z0-9-]+)\]", line)
        field = re.fullmatch(r"([a-z-]+): (\S.*)", line)
        start = re.fullmatch(r"@@ (\S+)", line)
        if name:
            mutations.append(Mutation(name.group(1), where))
            edit = None
        elif not line or line.startswith("#"):
            edit = None
        elif not mutations:
            raise SyntaxError(f"{where}: before the first [NAME]: {line}")
        elif start:
            edit = (start.group(1), [], [])
            mutations[-1].edits.append(edit)
        elif edit and line[0] in " -+":
            edit[1].extend([line[1:] + "\n"] if line[0] in " -" else [])
            edit[2].extend([line[1:] + "\n"] if line[0] in " +" else [])
        elif field and not edit and field.group(1) in FIELDS and field.group(1) not in mutations[-1].fields:
            mutations[-1].fields[field.group(1)] = field.group(2)
        else:
            raise SyntaxError(f"{where}: neither a field, nor a line of an edit: {line}")
    for mutation in mutations:
        mutation.edits = [Edit(path, "".join(find), "".join(put)) for path, find, put in mutation.edits]
    return mutations


def read_tables():
    return [mutation for path in sorted(TABLES.glob("*.mutations")) for mutation in read_table(path)]
