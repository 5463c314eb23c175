"""The manual pages have every subcommand, option, key, exit status, error code, variable, signal,
file and journal field that the programs have, and no others; and they render without a complaint.

What the programs have is taken from their tables (print_tables), from what they print as --help, and
from the sources where there is no table. The pages are read as they are written, in scdoc; only
berth-protocol(7) and berth-recipes(7), which are made from documents, are read as they are shown.

usage: check_man.py SRCDIR BUILDDIR"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

from checking import accepted, carry_out, require, rows_of

srcdir, builddir = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
PAGES = ["berth.1", "berthctl.1", "berth.conf.5", "berth-protocol.7", "berth-recipes.7", "berthd.8", "berth-history.8",
         "berth-web.8"]
# These are made from a document.
DOCUMENTS = {"berth-protocol.7": "doc/protocol.md", "berth-recipes.7": "doc/recipes.md"}
PROGRAMS = {"berth": "berth.1", "berthctl": "berthctl.1", "berthd": "berthd.8"}
# Built only where its libraries are.
HAS_WEB = (builddir / "berth-web").exists()
if HAS_WEB:
    PROGRAMS["berth-web"] = "berth-web.8"
else:
    PAGES.remove("berth-web.8")
HAS_HISTORY = (builddir / "berth-history").exists()
if HAS_HISTORY:
    PROGRAMS["berth-history"] = "berth-history.8"
else:
    PAGES.remove("berth-history.8")


def require_same(what, page, program):
    """Of two sets or dicts: prints what only one of them has."""
    for name in sorted(page.keys() | program.keys() if isinstance(page, dict) else page | program):
        if isinstance(page, dict):
            require(page.get(name) == program.get(name),
                    f"{what}: {name}: the page has {page.get(name)}, not {program.get(name)}")
        else:
            require(name in page, f"{what}: {name} is missing")
            require(name in program, f"{what}: there is no {name}")


def found(what, values):
    """If nothing is found, this check looks in the wrong place."""
    require(values, f"{what}: the check finds none in the sources")
    return values


def output(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    require(done.returncode == 0, f"{' '.join(command)}: {done.stderr}")
    return done.stdout


# ---- the pages, as written ----

def plain(text):
    """Without scdoc's marks; an underscore inside a word is none."""
    text = re.sub(r"\\(.)", lambda match: f"\0{ord(match[1])};", text)
    text = text.replace("*", "")
    text = re.sub(r"(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", "", text)
    return re.sub(r"\0(\d+);", lambda match: chr(int(match[1])), text)


def escaped(text):
    return re.sub(r"[\\*_]", r"\\\g<0>", text)


def with_tables(path):
    """A page, with the tables that it takes from the source."""
    text = path.read_text()
    return output("awk", "-v", f"srcdir={srcdir}", "-f", str(srcdir / "doc/man/markdown.awk"), str(path)) \
        if "\n@src/" in text else text


source = {page: with_tables(srcdir / f"doc/man/{page}.scd") for page in PAGES}
code = {path.relative_to(srcdir).as_posix(): path.read_text()
        for path in (srcdir / "src").rglob("*") if path.suffix in (".c", ".h", ".def")}


def section(page, title):
    text = re.search(rf"^# {re.escape(title)}\n(.*?)(?=^# |\Z)", source[page], re.M | re.S)
    require(text, f"{page}: no section {title}")
    return text.group(1) if text else ""


def entries(text):
    """(term, description) pairs: a line, and the indented lines below it."""
    return re.findall(r"^([*_].*)\n((?:\t.*\n|\n(?=\t))+)", text, re.M)


# ---- what the programs say ----

def help_of(program, *words):
    return output(str(builddir / program), *words, "--help")


rows = rows_of(builddir / "tests/print_tables")


# ---- options ----

def options_of_help(text):
    """(letter, word): argument"""
    return {(letter, word): argument for letter, word, argument in re.findall(
        r"^  (?:(-\w), |    )(--[\w-]+)(?: (\S+))?(?:  |$)", text, re.M)}


def options_of_page(page, title="OPTIONS"):
    """(letter, word): (argument, the subcommands that take it)"""
    options = {}
    for term, _ in entries(section(page, title)):
        parsed = re.fullmatch(r"(?:\*(-\w)\*, )?\*(--[\w-]+)\*(?: ([^ (]+))?(?: \((.*)\))?", term)
        require(parsed, f"{page}: {title}: cannot be read: {term}")
        if parsed:
            letter, word, argument, takers = parsed.groups("")
            options[letter, word] = plain(argument), set(takers.split(", ")) - {""}
    return options


def check_options_of_berth():
    program = code["src/berth/berth.c"]
    subcommands = found("berth's subcommands", re.findall(r'^    \{"(\w+)", &grammar_', program, re.M))
    taken = {}
    for subcommand in subcommands:
        for key, argument in options_of_help(help_of("berth", subcommand)).items():
            longest = max(taken.get(key, ("", set()))[0], argument, key=len)
            taken[key] = longest, taken.get(key, ("", set()))[1] | {subcommand}
    alone = set(re.findall(r'strcmp\(word, "(--\w+)"\)', program))
    taken |= {("", word): ("", set()) for word in alone - {word for _, word in taken}}
    require_same("berth.1: OPTIONS", options_of_page("berth.1"), taken)
    usage = set(re.findall(r"^  (berth .*)$", help_of("berth"), re.M))
    synopsis = {line.replace("...]", "]...") for line in plain(section("berth.1", "SYNOPSIS")).splitlines() if line}
    require_same("berth.1: SYNOPSIS", synopsis, usage)
    described = set(re.findall(r"^## berth (\w+)$", section("berth.1", "DESCRIPTION"), re.M))
    require_same("berth.1: DESCRIPTION", described, set(subcommands))


def long_options(path):
    """The words of an option table in the source."""
    return found("options", set(re.findall(r"""^    \{(?:0|'.'), \w+, "([a-z-]+)", """, code[path], re.M)))


def options_of_daemon(main):
    return long_options(main) | long_options("src/service/daemon_options.h")


def check_options_of_berthctl():
    text = help_of("berthctl")
    by_help = options_of_help(text)
    usages, takers, page = {"help": {"[COMMAND]"}}, {}, {}
    for name in found("commands", re.findall(r"^  ([a-z-]+) +\S", text, re.M)):
        own = output(str(builddir / "berthctl"), "help", name)
        usages[name] = {form.strip() for form in re.findall(rf"^(?:usage:|      ) berthctl {name}(.*)$", own, re.M)}
        for _, word in options_of_help(own).keys() - by_help.keys():
            takers.setdefault(word, set()).add(name)
    for term, _ in entries(section("berthctl.1", "COMMANDS")):
        name, _, arguments = plain(term).partition(" ")
        page.setdefault(name, set()).add(arguments)
    require_same("berthctl.1: COMMANDS", page, usages)
    options = options_of_page("berthctl.1")
    words = {word[2:] for _, word in options}
    require_same("berthctl.1: OPTIONS", words, long_options("src/berthctl/command_line.c"))
    require_same("berthctl.1: who takes them", {word: by for (_, word), (_, by) in options.items() if by},
                 takers)
    require_same("berthctl.1: OPTIONS",
                 {key: argument for key, (argument, by) in options.items() if not by}, by_help)


def columns_in(source):
    """Titles of struct column."""
    return set(re.findall(r'"([^"]+)", (?:\.cell|STRING|VALUE|COLUMN_)', source))


def check_status_of_berthctl():
    """Columns and states of the table, and keys of the JSON."""
    table = "".join(code[f"src/table/{name}.c"] for name in ("status_table", "lease_table", "cell_text"))
    text = section("berthctl.1", "STATUS")
    shown = dict(found("attributes", re.findall(r'^ATTRIBUTE\((\w+), .*, "(.*)"\)$', code["src/base/attributes.def"], re.M)))
    columns = found("columns", columns_in(table)) | set(shown.values())
    require_same("berthctl.1: STATUS", set(re.findall(r"\*([A-Z]+(?: [A-Z]+)?)\*", text)), columns - {"DATABASE"})
    for state in found("states", re.findall(r'^        \{resource.*, "([a-z ]+)"\}', table, re.M)):
        require(f"*{state}*" in text, f"berthctl.1: STATUS: no state {state}")
    blocks = section("berthctl.1", "JSON").split("```")
    json = code["src/view/json.c"].split("/* ---- a change ---- */")[0]
    coded = re.findall(r'json_object_set_new\(\s*\w+, "(\w+)"|record_value\([\w]+, "(\w+)"', json)
    from_table = {key for row in found("shown keys", rows("shown")) for key in row[2].split()}
    require_same("berthctl.1: JSON", set(re.findall(r'"(\w+)"', blocks[1])),
                 {key for row in found("JSON", coded) for key in row if key} | from_table | shown.keys())
    states = set(re.findall(r'return "([a-z]+)";', json)) | set(re.findall(r'\? "([a-z]+)" : "([a-z]+)"', json)[0])
    require_same("berthctl.1: JSON: states of items", set(re.findall(r"\*([a-z]+)\*", blocks[2])), states)


def check_keys_of_top():
    """What each key does, in the words of its help."""
    found_keys = found("keys of top", re.findall(
        r'^    \{\{[^}]*\}, "([^"]+)",\s*"([^"]+)",\s*\.act', code["src/top/top_actions.c"], re.M))
    require_same("berthctl.1: TOP",
                 {plain(term): plain(text).strip() for term, text in entries(section("berthctl.1", "TOP"))},
                 {", ".join(label.split()): f"{text[0].upper()}{text[1:]}." for label, text in found_keys})


def check_watch_of_berthctl():
    """Events, in words and in JSON, and the keys that all have."""
    sources = code["src/berthctl/watch_events.c"]
    text = section("berthctl.1", "WATCH")
    coded = re.findall(
        r'\.event = (?:[\w>.-]+ \? )?"([a-z-]+)"(?: : "([a-z-]+)")?|(?:words|granted|waits|left) = \{\s*"([a-z-]+)"'
        r'|given_back = \{\s*"([a-z-]+)"|print_host\(context, "([a-z-]+)"|line_about\(\w+, "([a-z-]+)"\)|is_reserved \? "(reserved)" : "(unreserved)"'
        r'|events, (?:now|either), (?:now \? )?"([a-z-]+)"(?: : "([a-z-]+)")?', sources)
    require_same("berthctl.1: WATCH: events", set(re.findall(r"_([a-z-]+)_", text.split("_event_ is one of")[1])),
                 {word for row in found("events", coded) for word in row if word})
    of_change = code["src/view/json.c"].split("/* ---- a change ---- */")[1]
    require_same("berthctl.1: JSON of watch", set(re.findall(r'"(\w+)"', text.split("```")[1])),
                 set(found("keys", re.findall(r'json_object_set_new\(object, "(\w+)"', of_change))))


def check_history_of_berthctl():
    """Columns of the tables, and keys of the JSON."""
    attributes = set(re.findall(r'^ATTRIBUTE\((\w+), .*, "', code["src/base/attributes.def"], re.M))
    titles = set(re.findall(r'^ATTRIBUTE\(.*, "(.*)"\)$', code["src/base/attributes.def"], re.M))
    for title, room in ("HISTORY", "past_table"), ("STATS", "stats_table"):
        coded = columns_in(code[f"src/berthctl/{room}.c"])
        described = re.findall(r"^(\*[A-Z0-9].*)\n\t", section("berthctl.1", title), re.M)
        require_same(f"berthctl.1: {title}", {word for line in described for word in plain(line).split(", ")},
                     found("columns", coded) | (titles if title == "HISTORY" else set()))
    keys = re.findall(r'json_object_set_new\(\s*\w+, "(\w+)"|set_user\(object, "(\w+)", "(\w+)"|"(use|share)"',
                      code["src/view/past_json.c"])
    suffixes = {"SPAN": ("_ms",), "OPTIONAL_SPAN": ("_ms",), "USER": ("_uid", "_user")}
    from_table = {key + suffix
                  for key, kind in found("keys of a past lease", re.findall(
                      r'(?:LEASE|ACTION|GAP)\("(\w+)", FIELD_(\w+), \w+\)', code["src/view/past.c"]))
                  for suffix in suffixes.get(kind, ("",))}
    blocks = "".join(section("berthctl.1", title).split("```")[-2] for title in ("HISTORY", "STATS"))
    require_same("berthctl.1: JSON of history and stats", set(re.findall(r'"(\w+)"', blocks)),
                 {key for row in found("JSON", keys) for key in row if key} | from_table | attributes)


def check_options_of_berthd():
    by_help = options_of_help(help_of("berthd"))
    require_same("berthd --help", {word[2:] for _, word in by_help},
                 options_of_daemon("src/daemon/main.c"))
    page = {key: argument for key, (argument, _) in options_of_page("berthd.8").items()}
    require_same("berthd.8: OPTIONS", page, by_help)


def require_small_daemon(program, room, main, keys):
    """Its options, and the keys of its file, which are in conf/PROGRAM.conf too."""
    page = f"{program}.8"
    by_help = options_of_help(help_of(program))
    require_same(f"{program} --help", {word[2:] for _, word in by_help}, options_of_daemon(main))
    options = {key: argument for key, (argument, _) in options_of_page(page).items()}
    require_same(f"{page}: OPTIONS", options, by_help)
    terms = {plain(term).split(" = ")[0] for term, _ in entries(section(page, "CONFIGURATION"))}
    require_same(f"{page}: CONFIGURATION", terms, found("keys", keys))
    sample = (srcdir / f"conf/{program}.conf").read_text()
    require_same(f"conf/{program}.conf", set(re.findall(r"^;(\w+) = ", sample, re.M)), keys)
    used = {getattr(os, name) for path, text in code.items() if path.startswith((room, "src/service/"))
            for name in re.findall(r"\b(EX_[A-Z]+)\b", text)}
    require_same(f"{page}: EXIT STATUS", set(statuses(page)), found("EX_", used) | {0})
    done = accepted(builddir / program, re.sub("^;", "", sample, flags=re.M))
    require(done.returncode == 0, f"conf/{program}.conf: {done.stderr}")


def check_berth_web():
    if HAS_WEB:
        require_small_daemon("berth-web", "src/web/", "src/web/berth_web.c",
                           set(re.findall(r'^    \{"(\w+)", set_', code["src/web/web_conf.c"], re.M)))


def check_berth_history():
    if HAS_HISTORY:
        require_small_daemon("berth-history", "src/history/", "src/history/berth_history.c",
                           set(re.findall(r'^    \{"(\w+)", set_', code["src/history/berth_history.c"], re.M)))


def check_options_in_other_documents():
    """Options named anywhere belong to some program."""
    known = {program: {word for _, word in options_of_page(page)} for program, page in PROGRAMS.items()}
    documents = {name: (srcdir / name).read_text() for name in ("README.md", "doc/recipes.md", "doc/fleet.md", "doc/servers.md")}
    for page, text in {**source, **documents}.items():
        for word in re.findall(r"\*(--[a-z-]+)\*", text):
            require(any(word in words for words in known.values()) or word == "--",
                    f"{page}: there is no {word}")
        typed = re.findall(r"\*([^*\n]+)\*" if page in source else r"`([^`\n]+)`", text)
        typed += "\n".join(text.split("```")[1::2]).splitlines()
        for line in typed:
            for program, words in re.findall(r"\b(berth|berthctl|berthd)(?!-) ([^|&;]*)", line):
                for word in re.findall(r"(?<!\S)(--[a-z][a-z-]*)", words.split(" -- ")[0]):
                    require(word in known[program], f"{page}: {program} has no {word}")


# ---- keys ----

def range_of(described, kind, maximum):
    described = described.split(", such as ")[0] + (", or unbounded" if described.endswith("), or unbounded") else "")
    if kind == "list" and not described.startswith("a URL"):
        described = described.replace(', nor ', ', or ')
        if maximum == "1000":  # as SYNTAX says
            return re.sub(r"^a (user|group) of this host, or a numeric id$", r"\1s of this host, or numeric ids", described)
        return f"at most {maximum} words, each {described}"
    return described


def check_names():
    """Words that are bold and look like a key or a code are one."""
    known = {row[0] for row in rows("conf")} | {row[0] for row in rows("code")} | {"berth-history", "berth-web", "finish-upgrade"}
    for page, text in source.items():
        for name in re.findall(r"\*([a-z]+(?:-[a-z]+)+)(?: = [a-z-]+)?\*(?!\()", text):
            require(name in known, f"{page}: there is no key or code {name}")


def check_keys():
    page = {}
    for title, text in re.findall(r"^## Keys of ([^\n]*)\n(.*?)(?=^#|\Z)", source["berth.conf.5"], re.M | re.S):
        kinds = " ".join(re.findall(r"\[(\w+)\]", title))
        for term, description in entries(text):
            require((kinds, plain(term)) not in page, f"berth.conf.5: {term} is there twice")
            page[kinds, plain(term)] = " ".join(plain(description).split())
    coded = {}
    for word, kinds, initial, when, kind, maximum, described, text in rows("conf"):
        coded[kinds.strip(), word] = f"{text}.", "; ".join([
            range_of(described, kind, maximum), *["required"] * (initial == "(required)"),
            *[f"default: {initial}"] * (initial not in ("", "(required)")), *["at the next start"] * (when != "reload")]) + "."
    require_same("berth.conf.5: keys", set(page), set(coded))
    for key in page.keys() & coded.keys():
        text, value = coded[key]
        require(page[key].startswith(text), f"berth.conf.5: {key}: does not begin with: {text}")
        require(page[key].endswith(f" {value}"), f"berth.conf.5: {key}: does not end with: {value}")


def check_examples():
    """The examples of berth.conf(5) are valid, apart from their users and groups."""
    examples = [block for block in source["berth.conf.5"].split("```\n")[1::2] if "[" in block]
    for example in found("examples", examples):
        text = re.sub(r"\b(alice|bob|carol|etl)\b", lambda match: str(60000 + len(match[0])), example)
        done = accepted(builddir / "berthd", text)
        require(done.returncode == 0, f"berth.conf.5: an example is refused: {done.stderr}{example}")


def check_bounds():
    """berthd(8) says what happens beyond each bound."""
    require_same("berthd.8: BOUNDS", set(re.findall(r"\*(max-[a-z-]+)\*", section("berthd.8", "BOUNDS"))),
                 {row[0] for row in rows("conf") if re.match("max-(clients|waiters|leases|units|instances|requests)", row[0])})


# ---- rights ----

# For each right, the cells in the table of berthd(8): an ordinary user, the lease's owner, an admin
# of the resource, one of the daemon, root, the daemon's own user.
RIGHTS = {
    "anyone": ["yes", "yes", "yes", "yes", "yes", "yes"],
    "use": ["yes (1)", "yes (1)", "yes (2)", "yes", "yes", "yes"],
    "owner": ["no", "yes", "yes (3)", "yes", "yes", "yes"],
    "admin": ["no", "no", "yes", "yes", "yes", "yes"],
    "lease admin": ["no", "no", "yes (3)", "yes", "yes", "yes"],
    "daemon admin": ["no", "no", "no", "yes", "yes", "yes"],
    "history user": ["no", "no", "no", "no", "yes", "yes"],
}


def check_rights():
    coded = {word: right for word, right, _ in rows("command")}
    coded["reclaim"] = "owner" # `use` is for unknown leases; the owner comes first
    page = {}
    for requests, cells in re.findall(r"^\|< (.*)\n((?::- .*\n)+)", section("berthd.8", "RIGHTS"), re.M):
        for word in re.sub(r" \(\d\)", "", requests).split(", "):
            page[word] = re.findall(r"^:- (.*)$", cells, re.M)
    require_same("berthd.8: RIGHTS", page, {word: RIGHTS[right] for word, right in coded.items()})


# ---- metrics ----

def check_metrics():
    page = {plain(term): plain(text).strip() for term, text in entries(section("berthctl.1", "METRICS"))}
    coded = {f"{name} ({labels})": help for name, labels, help in rows("metric")}
    require_same("berthctl.1: METRICS", page, coded)
    for name, labels, help in rows("metric"):
        require(name.endswith("_total") == labels.startswith("counter"), f"{name}: _total is for counters")
        require(help.endswith("."), f"{name}: its help is no sentence")


# ---- exit statuses and codes ----

def statuses(page):
    return {int(plain(term)): text for term, text in entries(section(page, "EXIT STATUS"))
            if plain(term).isdigit()}


def check_statuses():
    berth = statuses("berth.1")
    coded = found("berth's statuses", {int(number) for number in re.findall(
        r"^    STATUS_\w+ = (\d+),", code["src/client/exit_status.h"], re.M)})
    require_same("berth.1: EXIT STATUS", set(berth), coded | {0})
    for word, status, _ in rows("code"):
        require(int(status) in coded, f"client/exit_status.h: no {status}")
        where = {number for number, text in berth.items() if f"*{word}*" in text}
        require(where == {int(status)}, f"berth.1: EXIT STATUS: {word} is in {where}, not in {status}")
    for subcommand in ("run", "acquire", "renew"):
        text = help_of("berth", subcommand).split("exit status is")[-1]
        for number in re.findall(r"\b\d+\b", text):
            require(int(number) in berth, f"berth {subcommand} --help: {number} is not in berth.1")
    text = help_of("berthctl").split("Exit status:")[-1].split("\n\n")[0]
    require_same("berthctl.1: EXIT STATUS", set(statuses("berthctl.1")),
                 {int(number) for number in re.findall(r"(?:^|; *\s)\s*(\d+) ", text)})
    used = {getattr(os, name) for path, text in code.items() if path.startswith(("src/daemon/", "src/database/", "src/service/"))
            for name in re.findall(r"\b(EX_[A-Z]+)\b", text)}
    require_same("berthd.8: EXIT STATUS", set(statuses("berthd.8")), found("EX_", used) | {0})


# ---- environment ----

# Variables that library functions read.
READ_BY_FUNCTION = {
    "execvp": {"PATH"},
    "setlocale": {"LC_ALL", "LC_CTYPE", "LANG"},
    "sd_notify": {"NOTIFY_SOCKET"},
    "sd_notifyf": {"NOTIFY_SOCKET"},
    "sd_pid_notify": {"NOTIFY_SOCKET"},
    "sd_watchdog_enabled": {"WATCHDOG_USEC", "WATCHDOG_PID"},
    "sd_listen_fds": {"LISTEN_FDS", "LISTEN_PID"},
    "sd_listen_fds_with_names": {"LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"},
}


CLIENTS = ("src/client/", "src/view/", "src/berth/", "src/table/", "src/top/", "src/berthctl/", "src/web/",
           "src/history/")


def variables_read(program):
    """The arguments of getenv() and directory_of_environment() that occur in the program: clients
    share a library."""
    binary = (builddir / program).read_bytes()
    linked = output("nm", "--defined-only", str(builddir / program))
    own = [text for path, text in code.items() if path.startswith(CLIENTS) != (program == "berthd") and (
        not path.startswith("src/client/") or f" {pathlib.Path(path).stem}_" in linked)]
    if program == "berth-web": # of the clients' library it has more than it uses
        own = [text for path, text in code.items()
               if path.startswith(("src/web/", "src/log/", "src/service/", "src/client/endpoint"))]
    if program == "berth-history":
        own = [text for path, text in code.items() if path.startswith(
            ("src/history/", "src/log/", "src/service/", "src/client/endpoint", "src/journal/paths"))]
    names = {name for text in own for name in re.findall(
        r'\b(?:getenv|directory_of_environment)\("([A-Z_]+)"\)', text)}
    names = {name for name in names if f"{name}\0".encode() in binary}
    called = set()
    if program in ("berthd", "berth-web", "berth-history"): # read even where berthd is built without libsystemd
        called = {name for text in code.values() for name in re.findall(r"\b(sd_\w+)\(", text)}
    imported = called if program in ("berth-web", "berth-history") else called | set(re.findall(r" U (\w+)", output("nm", "-D", "--undefined-only", str(builddir / program))))
    for function in imported & READ_BY_FUNCTION.keys():
        names |= READ_BY_FUNCTION[function]
    return names


def variables_of_page(text):
    return {name for term, _ in entries(text) for name in plain(term).split(", ")}


def check_environment():
    for program, page in PROGRAMS.items():
        text = section(page, "ENVIRONMENT").split("These are set for")[0]
        require_same(f"{page}: ENVIRONMENT", variables_of_page(text), found(program, variables_read(program)))
    setter = code["src/berth/environment.c"]
    coded = {f"BERTH_{name}" for name in found("BERTH_", re.findall(r'"(?:%s)+([A-Z_]+)=', setter) + [
        name for pair in re.findall(r'pool \? "([A-Z]+)" : "([A-Z]+)"', setter) for name in pair])}
    text = section("berth.1", "ENVIRONMENT").split("These are set for")[-1]
    require_same("berth.1: ENVIRONMENT: set", variables_of_page(text), coded)
    for name in coded - {"BERTH_LEASE", "BERTH_SOCKET", "BERTH_WAITED_MS"}:
        require(f"_{name.replace('BERTH_', 'BERTH_1_')}_" in text, f"berth.1: no {name} for several")


# ---- signals, files, the journal ----

def signals(text):
    return set(re.findall(r"\bSIG[A-Z0-9]{2,}\b", text))


def check_signals():
    require_same("berth.1: SIGNALS", signals(section("berth.1", "SIGNALS")),
                 found("signals", signals(code["src/berth/signals.c"])))
    serve = re.sub(r"\bfaults\[\] = .*", "", code["src/daemon/serve.c"])  # those of the threads of the pool
    coded = signals(serve) | signals(code["src/journal/journal_map.c"])
    require_same("berthd.8: SIGNALS", signals(section("berthd.8", "SIGNALS")),
                 found("signals", coded) | {"SIGKILL", "SIGCONT"})


def check_files():
    text = "".join(code[path] for path in code if not path.startswith(CLIENTS))
    socket = re.search(r'CONF_DEFAULT_SOCKET "(.*)"', code["src/conf/configuration.h"]).group(1)
    require(f'ENDPOINT_DEFAULT "{socket}"' in code["src/client/endpoint.h"], "endpoint.h: another socket")
    beside = re.findall(r'path_at_runtime\([^;"]*"(\.\w+)"|/%s(\.lock)"', text)
    state = re.findall(r'path_in_state_directory\([^;"]*"(\.\w+)"', text)
    files = {socket + suffix for pair in found("runtime files", beside) for suffix in pair if suffix}
    files |= {f"/var/lib/berth/{socket[1:].replace('/', '-')}{suffix}" for suffix in found("state", state)}
    configuration = {"/etc/berth/berth.conf", "/etc/berth/redis.password"}
    page = {plain(term) for term, _ in entries(section("berthd.8", "FILES"))}
    require_same("berthd.8: FILES", page, files | {socket} | configuration)
    for suffix in re.findall(r'path_beside\([^;"]*"(\.\w+)"', text):
        require(f"_{state[0]}{suffix}_" in section("berthd.8", "FILES"), f"berthd.8: FILES: no {suffix}")


def check_units():
    """Drop-ins that are installed as examples."""
    page = set(re.findall(r"\b([a-z-]+\.conf)\b", section("berthd.8", "UNDER SYSTEMD")))
    coded = {path.name for path in (srcdir / "systemd/examples").glob("*.conf")}
    require_same("berthd.8: UNDER SYSTEMD: examples", page - {"berth.conf"}, found("examples", coded))


def check_journal():
    """Fields of the journal that berthd writes, and the words of BERTH_EVENT."""
    daemon = "".join(text for path, text in code.items() if not path.startswith(CLIENTS))
    fields = set(re.findall(r'"(BERTH_[A-Z_]+)[="]', daemon))
    text, events = section("berthd.8", "JOURNAL").split("The words of _BERTH\\_EVENT_:")
    require_same("berthd.8: JOURNAL", variables_of_page(text), found("fields", fields))
    said = re.findall(r'\.event = (?:[^";]*\? )?"([a-z-]+)"(?: : "([a-z-]+)")?|'
                      r'(?:subject_of|member_subject)\((?:[^";]*[?,] )?"([a-z-]+)"(?: : "([a-z-]+)")?|'
                      r'\blease_log_say\(databases, lease, (?:\w+ \? )?"([a-z-]+)"(?: : "([a-z-]+)")?|'
                      r'_taken\(call, (?:lease, )?"([a-z-]+)"', daemon)
    coded = {word for words in found("events", said) for word in words if word}
    coded |= {word for word, right, _ in rows("command") if right in ("admin", "daemon admin")}
    terms = {word for term, _ in entries(events) for word in plain(term).split(", ")}
    terms |= set(re.findall(r"\*([a-z]+)\*(?!\()", events.strip().rsplit("\n\n", 1)[1]))
    require_same("berthd.8: JOURNAL: events", terms, coded)


# ---- the pages, as shown ----

def made(page):
    """In a release the page stands in the source."""
    path = builddir / "doc/man" / page
    return path if path.exists() else srcdir / "doc/man" / page


# At the right: groff 1.23 complains of each line in a table's text that has one word alone, as it cannot justify it.
RAGGED = "-dAD=l"


def shown(page, width):
    """As one endless page, or tbl complains at page breaks."""
    return subprocess.run(["groff", "-Kutf8", "-t", "-man", "-Tutf8", "-ww", "-P-cbou", f"-rLL={width}n", RAGGED],
                          input=".pl 20000v\n" + made(page).read_text(), capture_output=True, text=True,
                          check=False)


def check_rendering():
    version = output(str(builddir / "berth"), "--version").split()[1]
    for page in PAGES:
        for width in (80, 200):
            done = shown(page, width)
            require(done.returncode == 0 and not done.stderr, f"{page}: groff: {done.stderr}")
            require(f"Berth {version} " in done.stdout, f"{page}: not of version {version}")
        if shutil.which("man"):
            done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(made(page))],
                                  env=dict(os.environ, LC_ALL="C.UTF-8", MANWIDTH="80", MANROFFOPT=RAGGED),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
            require(done.returncode == 0 and not done.stderr, f"{page}: man: {done.stderr}")
        for name, number in re.findall(r"\*(berth[\w.-]*)\*\((\d)\)", source[page]):
            require(f"{name}.{number}" in PAGES, f"{page}: there is no {name}({number})")


def check_documents():
    """A page made from a document has its headings, and all fenced text as written."""
    for page, document in DOCUMENTS.items():
        text = shown(page, 200).stdout
        markdown = (srcdir / document).read_text()
        for block in found("fenced", re.findall(r"^```\w*\n(.*?)^```$", markdown, re.M | re.S)):
            for line in block.splitlines():
                require(line.expandtabs().strip() in text.expandtabs(), f"{page}: not as written: {line}")
        for heading in found("headings", re.findall(r"^## (.*)$", markdown, re.M)):
            require(re.search(rf"^{re.escape(heading.upper())}$", text, re.M), f"{page}: no {heading}")


def check_protocol():
    """The page made from doc/protocol.md has all of it: check_docs.py says that this is complete."""
    text = shown("berth-protocol.7", 200).stdout
    words = " ".join(text.split())
    for word, _, keys in rows("command"):
        require(re.search(rf"^   {word}$", text, re.M), f"berth-protocol.7: no {word}")
        for key in keys.split():
            require(f"{key}=" in words, f"berth-protocol.7: no {key}=")
    for word, status, meaning in rows("code"):
        require(f" {word}: {meaning} " in f"{words} ", f"berth-protocol.7: code {word}")
    for word, in rows("event"):
        require(re.search(rf"^ +\* {word}\b", text, re.M), f"berth-protocol.7: no event {word}")


carry_out("check_man", globals())
