"""The tables of mutations: reading them, finding what they change, changing it. README.md has the format."""

import collections
import functools
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
TABLES = pathlib.Path(__file__).parent
FIELDS = ("guarantee", "breaks", "caught-by")

# How a function, a table or a type of C begins, and a function of Lua. Each ends where a line of the same indentation
# begins with `}` or `end`, one of Lua perhaps on its first line.
DEFINITION = re.compile(r"""
    ^(?![\s\#/*]) (?:__attribute__\(.*\)\)\ )? [^\n;={}"()]* \b(\w+)\( (?= [^;{}]* \)\s*\n\{ )
    | ^(?![\s\#/*]) [^\n;={}()]* \b(\w+)(?:\[[^\]\n]*\])*\ =\ \{\n
    | ^(?:typedef\ )?(?:struct|enum|union)\ (\w+)\ \{\n
    | ^\ *(?:local\ )?function\ (?:\w+[.:])?(\w+)\(""", re.M | re.X)

# A part of a file: its path, and where it begins and ends.
Part = collections.namedtuple("Part", "path start end")


@functools.cache
def text_of(path):
    return (TOP / path).read_text()


@functools.cache
def definitions():
    """All that are in src/, by name."""
    parts = collections.defaultdict(list)
    for path in sorted((TOP / "src").rglob("*.*")):
        if path.suffix in (".c", ".h", ".lua"):
            path = path.relative_to(TOP).as_posix()
            for name, part in definitions_of(path):
                parts[name].append(part)
    return parts


def definitions_of(path):
    text = text_of(path)
    for head in DEFINITION.finditer(text):
        indent = re.match(" *", head.group()).group()
        tail = re.compile(rf".*\bend$|(?s:.*?)\n{indent}(?:\}}|end\b)", re.M).match(text, head.end() - 1)
        yield head[head.lastindex], Part(path, head.start(), tail.end() if tail else len(text))


def pattern(fragment):
    """Of this text, however it is broken into lines."""
    words = re.findall(r"\w+|[^\w\s]", fragment)
    found = re.escape(words[0])
    for before, word in zip(words, words[1:]):
        found += (r"\s+" if re.match(r"\w", before) and re.match(r"\w", word) else r"\s*") + re.escape(word)
    return re.compile(r"(?<!\w)" * bool(re.match(r"\w", words[0])) + found + r"(?!\w)" * bool(re.match(r"\w", words[-1])))


class Edit:
    def __init__(self, scope):
        self.scope = scope  # words: FILE, NAME, or both
        self.find = []
        self.put = []

    def place(self):
        """The part to replace. A LookupError says what is not there exactly once."""
        *paths, name = self.scope if "." not in self.scope[-1] and "/" not in self.scope[-1] else (*self.scope, None)
        if paths and not (TOP / paths[0]).is_file():
            raise LookupError(f"there is no {paths[0]}")
        scopes = [Part(paths[0], 0, len(text_of(paths[0])))] if not name else [
            part for part in definitions()[name] if part.path in (paths or [part.path])]
        if not scopes:
            raise LookupError(f"there is no {' '.join(self.scope)}")
        wanted = pattern(" ".join(self.find))
        found = {Part(scope.path, match.start(), match.end()) for scope in scopes
                 for match in wanted.finditer(text_of(scope.path), scope.start, scope.end)}
        if len(found) != 1:
            raise LookupError(f"{' '.join(self.scope)} has {len(found)} times: {' '.join(self.find)}")
        return found.pop()


class Mutation:
    def __init__(self, name, where):
        self.name = name
        self.where = where  # "TABLE:LINE"
        self.fields = {}
        self.edits = []

    @property
    def caught_by(self):
        return self.fields["caught-by"]

    @functools.cached_property
    def changed(self):
        """The files that it changes: {path: new text}. May raise a LookupError."""
        texts = {}
        places = [(edit.place(), edit) for edit in self.edits]
        for part, edit in sorted(places, key=lambda item: item[0], reverse=True):
            text = texts.get(part.path) or text_of(part.path)
            texts[part.path] = text[:part.start] + "\n".join(edit.put) + text[part.end:]
        return texts


def read_table(path):
    """The mutations of one table, in order. A SyntaxError names a malformed row."""
    mutations = []
    scope = None  # of the edits that follow
    for number, line in enumerate(path.read_text().split("\n"), 1):
        where = f"{path.name}:{number}"
        name = re.fullmatch(r"\[([a-z0-9-]+)\]", line)
        field = re.fullmatch(r"([a-z-]+): (\S.*)", line)
        start = re.fullmatch(r"@@ (\S+)(?: (\w+))?", line)
        text = re.fullmatch(r"([-+]) (.*\S)", line)
        edits = mutations[-1].edits if mutations else None
        if name:
            mutations.append(Mutation(name.group(1), where))
            scope = None
        elif not line or line.startswith("#"):
            scope = None
        elif not mutations:
            raise SyntaxError(f"{where}: before the first [NAME]: {line}")
        elif start:
            scope = [word for word in start.groups() if word]
            edits.append(Edit(scope))
        elif scope and text and text[1] == "-":
            if edits[-1].put:
                edits.append(Edit(scope))
            edits[-1].find.append(text[2])
        elif scope and text and edits[-1].find:
            edits[-1].put.append(text[2])
        elif field and not scope and field.group(1) in FIELDS and field.group(1) not in mutations[-1].fields:
            mutations[-1].fields[field.group(1)] = field.group(2)
        else:
            raise SyntaxError(f"{where}: neither a field, nor a line of an edit: {line}")
    return mutations


def read_tables():
    return [mutation for path in sorted(TABLES.glob("*.mutations")) for mutation in read_table(path)]
