"""Every request, key, code, event, shown key and configuration key of the code's tables is in doc/protocol.md
and conf/berth.conf, with the same rights, statuses and defaults, and the other way round; messages call
keys by their names; each guarantee of doc/guarantees.md names tests that exist, and has mutations;
doc/journal.md has the keys of a record; doc/redis.md has the keys and scripts, doc/fleet.md and
doc/servers.md the rights, tables and times that the code has. `berthd --check` accepts what is marked as checked. The README is short, links lead somewhere,
nothing cites a document that is not in the repository, and some phrases that no native would write are
nowhere.

usage: check_docs.py SRCDIR PRINT_TABLES BERTHD"""

import json
import pathlib
import re
import sys

from checking import accepted, carry_out, require, rows_of

srcdir = pathlib.Path(sys.argv[1])
rows = rows_of(sys.argv[2])
protocol = (srcdir / "doc/protocol.md").read_text()
sample = (srcdir / "conf/berth.conf").read_text()
readme = (srcdir / "README.md").read_text()
guarantees = (srcdir / "doc/guarantees.md").read_text()
redis = (srcdir / "doc/redis.md").read_text()
fleet = "".join((srcdir / f"doc/{name}.md").read_text() for name in ("fleet", "servers"))
scripts = {path.stem: path.read_text() for path in (srcdir / "src/redis/scripts").glob("*.lua")}
scripts["common"] = "".join(path.read_text() for path in sorted((srcdir / "src/redis/scripts/common").glob("*.lua")))


def check_commands():
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", protocol, re.M | re.S))
    sections.pop("Reserved", None)
    for word, right, keys in rows("command"):
        text = sections.pop(word, None)
        require(text, f"protocol.md: no section for {word}")
        heading = (text or "").split("\n* ")[0].split("\n\n")[0]
        require(f"({right})" in heading, f"protocol.md: {word}: should say ({right})")
        documented = set(re.findall(r"(\w+)=", heading.split("(")[0]))
        require(documented == set(keys.split()),
                f"protocol.md: {word}: has keys {sorted(documented)}, code has {keys.split()}")
    require(not sections, f"protocol.md: unknown requests {list(sections)}")


def check_codes():
    groups = re.findall(r"^Exit status (\d+):\n\n((?:\* .*\n(?:  .*\n)*)+)", protocol, re.M)
    documented = {word: (int(status), " ".join(meaning.split())) for status, items in groups
                  for word, meaning in re.findall(r"^\* `([a-z-]+)`: (.*\n(?:  .*\n)*)", items, re.M)}
    coded = {word: (int(status), meaning) for word, status, meaning in rows("code")}
    for word in documented.keys() | coded.keys():
        require(documented.get(word) == coded.get(word),
                f"protocol.md: code {word}: {documented.get(word)}, code has {coded.get(word)}")


def check_events():
    documented = set(re.findall(r"^\| `\* (\w+)", protocol, re.M))
    coded = {word for word, in rows("event")}
    require(documented == coded, f"protocol.md: events {documented}, code has {coded}")


def check_shown_keys():
    """The keys of the lines of `status`, `watch` and `hosts`, each where its line is described."""
    sections = dict(re.findall(r"^### (\S+)\n(.*?)(?=^##|\Z)", protocol, re.M | re.S))
    status = re.sub(r"\n  (?=\S)", " ", sections["status"])
    about = {word: text for word, text in re.findall(r"^\* `(\w+) [A-Z]+`: (.*)$", status, re.M)}
    about["ok"] = next(line for line in status.splitlines() if line.startswith("* `ok"))
    everywhere = status.split("The keys of these lines:")[1].split("\n\n", 2)[2] + sections["watch"]
    about["host"] = about["gone"] = sections["hosts"]
    about["database"] += sections["hosts"]
    for line, key, _ in rows("shown"):
        require(re.search(rf"[`\[| ]{key}[`=]", about[line] + (everywhere if line not in ("ok", "host") else "")),
                f"protocol.md: status: no {key} of `{line}`")


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
    for key, sections, *_ in rows("conf"):
        for section in sections.split():
            coded.add((section, key))
            require(any(kind_key in found for kind_key in [(section, key)] + [
                (kind, key) for kind in ("semaphore", "lock", "pool") if section != "daemon"]),
                f"berth.conf: no {key} for [{section}]")
    for section, key in found:
        require((section, key) in coded, f"berth.conf: [{section}] has no key {key}")


def check_messages():
    """Words that a message uses as keys are keys: all words with a key's beginning, and all in
    backquotes."""
    keys = {word for word, *_ in rows("conf")}
    for path in (srcdir / "src").glob("*/*.c"):
        if path.parent.name not in ("status", "fleet", "daemon", "view", "table", "berthctl"):
            continue
        for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', path.read_text()):
            named = re.findall(r"\b(?:max|kill|on|admin|socket)-[a-z]+(?:-[a-z]+)*\b|(?<=`)[a-z-]+(?=`)", text)
            for word in named:
                require(word in keys, f"{path.relative_to(srcdir)}: {word} is no configuration key")


# ---- README.md, and what documents refer to ----

# What a reader takes in at once.
README_LINES, README_COLUMNS, README_WORDS = 128, 80, 900
N_GUARANTEES = 10


def check_readme():
    lines = readme.splitlines()
    require(len(lines) <= README_LINES, f"README.md: {len(lines)} lines, at most {README_LINES}")
    require(len(readme.split()) <= README_WORDS, f"README.md: {len(readme.split())} words, at most {README_WORDS}")
    for number, line in enumerate(lines, 1):
        require(len(line) <= README_COLUMNS, f"README.md:{number}: more than {README_COLUMNS} columns")
    numbered = re.findall(r"^(\d+)\. \*\*(.*?)\*\*", readme, re.M)
    titles = re.findall(r"^## (\d+)\. (.*)$", guarantees, re.M)
    require(numbered == titles, f"README.md: guarantees {numbered}, guarantees.md has {titles}")


def tests_of(pattern):
    """FILE::NAME of each test there."""
    return {f"{path.name}::{name}" for path in (srcdir / "tests").glob(pattern)
            for name in re.findall(r"^def (test_\w+)\(", path.read_text(), re.M)}


def cited(pattern):
    """What each mutation says of the guarantee that it breaks, where that is like the pattern."""
    return {found for path in (srcdir / "tests/broken").glob("*.mutations")
            for line in re.findall(r"^guarantee: (.*)$", path.read_text(), re.M) for found in re.findall(pattern, line)}


def check_guarantees():
    """Each item names tests that exist; each guarantee has items and mutations."""
    sections = re.findall(r"^## (\d+)\. [^\n]*\n(.*?)(?=^## )", guarantees, re.M | re.S)
    numbers = [str(i) for i in range(1, N_GUARANTEES + 1)]
    require([number for number, _ in sections] == numbers, "guarantees.md: not numbered from 1 to 10")
    tests, broken = tests_of("*/test_*.py"), cited(r"\b(\d+)\. ")
    require(broken == set(numbers), f"tests/broken: guarantees {sorted(broken)}, guarantees.md has {numbers}")
    for number, text in sections:
        items = re.findall(r"^\* (.*\n(?:  .*\n)*)", text, re.M)
        require(items, f"guarantees.md: {number}: no list of what happens")
        for item in items:
            named = re.findall(r"`(test_\w+\.py::test_\w+)`", item)
            require(named, f"guarantees.md: no test is named for: {item}")
            for name in named:
                require(name in tests, f"guarantees.md: there is no {name}")


def check_libraries():
    """Each rule has rows, which name tests and conversations that exist; and a mutation."""
    text = (srcdir / "doc/libraries.md").read_text()
    rules = re.findall(r"^\*\*\((\w)\) ", text, re.M)
    rows = re.findall(r"^\| (?:\((\w)\) )?\| (?!what is tried|---)[^|]*\| (.*) \|$", text, re.M)
    require(len(rules) == 10 and [rule for rule, _ in rows if rule] == rules, "libraries.md: not a row for each of ten rules")
    require(cited(r"^Library: \((\w)\)") == set(rules), f"tests/broken: not a mutation for each rule of libraries.md: {rules}")
    there = tests_of("process/test_*.py") | {path.name for path in (srcdir / "tests/conformance").glob("*.txt")}
    for rule, names in rows:
        named = re.findall(r"`([^`]*)`", names)
        require(named, f"libraries.md: no test is named in a row of ({rule})")
        for name in named:
            require(name in there, f"libraries.md: there is no {name}")


def anchors(text):
    """Made from headings as GitHub does: lower case, without punctuation, dashes for spaces."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links():
    documents = [*srcdir.glob("*.md"), *(srcdir / "doc").glob("*.md"), srcdir / "bench/README.md"]
    for document in documents:
        text = document.read_text()
        for target in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            file = document.parent / path if path else document
            require(file.exists(), f"{document.name}: no {target}")
            if anchor and file.exists():
                require(anchor in anchors(file.read_text()), f"{document.name}: no {target}")


def texts():
    """(path, text) of each file of ours."""
    for folder in ("src", "tests", "bench", "scripts", "doc", "conf", "debian", "systemd", "completions"):
        for path in (srcdir / folder).rglob("*"):
            if path.suffix not in (".o", ".a", ".pyc", ".log", ".trs") and path.is_file():
                yield path.relative_to(srcdir), path.read_text(errors="replace")


def check_citations():
    """Documents named anywhere are in the repository."""
    ours = {path.name for path in srcdir.glob("**/*.md")}
    for path, text in texts():
        for name in re.findall(r"\b([A-Za-z][\w-]*\.md)\b", text):
            require(name in ours, f"{path}: cites {name}")


def check_comments():
    """Files, functions and members that a comment names are there. Another project's file has its folder before it."""
    sources = {path: text for path, text in texts() if path.suffix in (".c", ".h", ".def")}
    files = {path.name for path in sources}
    code = set(re.findall(r"\w+", re.sub(r"/\*.*?\*/", "", "\n".join(sources.values()), flags=re.S)))
    for path, text in sources.items():
        for comment in re.findall(r"/\*.*?\*/", text, re.S):
            for name in re.findall(r"(?<![\w/])[a-z]\w*\.[ch]\b", comment):
                require(name in files, f"{path}: a comment names {name}")
            for name in re.findall(r"\b([a-z]+_\w+)\(\)", comment):
                require(name in code or name == "command_x", f"{path}: a comment names {name}()")
            for names in re.findall(r"\b([a-z]\w*)->(\w+)", comment):
                require(code.issuperset(names), f"{path}: a comment names {'->'.join(names)}")


def check_files():
    """Files that doc/architecture.md names are there, wherever they are in src/: no two have one name."""
    named = re.findall(r"`((?:\w+/)*[\w-]+\.(?:[ch]|def|lua))`", (srcdir / "doc/architecture.md").read_text())
    require(named, "doc/architecture.md: no files")
    ours = {path.name for path in (srcdir / "src").rglob("*")}
    for name in named:
        there = (srcdir / "src" / name).exists() or (srcdir / name).exists() or name in ours
        require(there, f"doc/architecture.md names {name}, which is not there")


MAX_COLUMNS = 100


def check_width():
    """Lines of documents have a width; rows of tables, terms of manuals and what is fenced cannot be broken."""
    documents = [*srcdir.glob("*.md"), *(srcdir / "doc").glob("*.md"), *(srcdir / "doc/man").glob("*.scd")]
    for document in documents:
        is_fenced = False
        for number, line in enumerate(document.read_text().splitlines(), 1):
            is_fenced ^= line.startswith("```")
            is_row = line.startswith(("|", "*", "_") if document.suffix == ".scd" else "|")
            require(len(line) <= MAX_COLUMNS or is_fenced or is_row, f"{document.name}:{number}: more than {MAX_COLUMNS} columns")


def check_phrases():
    """Comments, documents and messages have none of these phrases, nor has README.md. Each has a plain form:
    again; name who says it."""
    strange = re.compile(r"\b(ane[w]|it is sai[d]|(?:says?|said|tells?|told) of i[t]|(?:is|are) told o[f])\b", re.I)
    for path, text in [*texts(), (pathlib.Path("README.md"), readme)]:
        if path.suffix == ".mutations":  # what they put into the source may be wrong
            text = re.sub(r"^\+.*", "", text, flags=re.M)
        for found in strange.finditer(text):
            require(False, f"{path}:{text.count(chr(10), 0, found.start()) + 1}: \"{found[0]}\": say it plainly")


# ---- the fleet ----

def table_after(mark):
    """Cells of the rows of the first table after a mark, or a heading."""
    table = re.search(r"(?:^\|.*\n)+", fleet.partition(mark)[2], re.M)
    lines = table.group().splitlines()[2:] if table else []
    return [line.strip("| ").split(" | ") for line in lines]


def check_keys():
    source = (srcdir / "src/redis/key_names.c").read_text()
    coded = re.findall(r'"(\w+)"', source.split("script_key_words")[1].split("};")[0])
    documented = re.findall(r"^\* `(\w+)` \((?:hash|set|sorted set|stream)\):", redis, re.M)
    require(coded and documented == coded, f"redis.md: keys {documented}, code has {coded}")


def check_journal():
    """The keys of a lease's record: those of the envelope in its table, all others in one list."""
    journal = (srcdir / "doc/journal.md").read_text().partition("### The envelope of a lease")[2]
    envelope, _, further = journal.partition("### Further keys")
    listed = re.search(r"Today's are (.*?)\.\s", further, re.S)
    documented = {"envelope": {word for cell in re.findall(r"^\| (`.*?) \|", envelope, re.M)
                               for word in re.findall(r"`(\w+)`", cell)} - {"held"},
                  "further": set(re.findall(r"`(\w+)`", listed.group(1) if listed else ""))}
    rows = (srcdir / "src/journal/record_rows.def").read_text()
    coded = {"envelope": set(), "further": set(re.findall(
        r"^ATTRIBUTE\((\w+),", (srcdir / "src/base/attributes.def").read_text(), re.M))}
    for word, presence in re.findall(r"^ROW\((\w+), \w+, ([A-Z_ |]+),", rows, re.M):
        coded["envelope" if re.search(r"ENVELOPE|MUST\b", presence) else "further"].add(word)
    for part, keys in coded.items():
        require(keys == documented[part],
                f"journal.md: {part}: not there, or not in the code: {sorted(keys ^ documented[part])}")


def check_scripts():
    calls = re.search(r"^## Calls\n(.*?)^## ", redis, re.M | re.S).group(1)
    documented = set(re.findall(r"^### (\S+)$", calls, re.M))
    coded = scripts.keys() - {"common", "library", "rights", "script"}
    require(documented == coded, f"redis.md: calls {sorted(documented)}, code has {sorted(coded)}")
    phases = set(re.findall(r"^\* `(\w+)", calls.split("### hello\n")[1].split("\n### ")[0], re.M))
    table = re.search(r"^local phases = \{(.*?)\}$", scripts["hello"], re.M).group(1)
    coded = {"begin", *re.findall(r"(\w+)(?:'\])? = ", table)}
    require(phases == coded, f"redis.md: phases of hello {sorted(phases)}, code has {sorted(coded)}")
    layout = re.search(r"^layout=(\d+)", (srcdir / "src/redis/scripts/assemble").read_text(), re.M).group(1)
    require(f"The layout is version {layout};" in " ".join(redis.split()), "redis.md: another layout")


def check_rights():
    """The user line has each command that a script or the link uses, with those that only a cluster needs, and
    no other."""
    lines = re.findall(r"^(?:user berth|ACL SETUSER berth) .*$", fleet, re.M)
    documented = set(re.findall(r"\+(\S+)", " ".join(lines)))
    given = {word for text in scripts.values() for word in re.findall(r"(?:all|ask)\('([A-Z]+)'", text)}
    for name in ("handshake", "loading", "link_calls"):
        text = (srcdir / f"src/redis/{name}.c").read_text()
        given |= set(re.findall(r'= "([A-Z]+)"|put\(link, 0, "([A-Z]+)"|\{"([A-Z]+)"[},]', text))
    given.add("EVAL")  # by which the rights of scripts are tried
    words = {word for item in given for word in ([item] if isinstance(item, str) else item) if word}
    words = {{"SCRIPT": "script|load", "FUNCTION": "function|load", "CLIENT": "client|setname",
              "CLUSTER": "cluster|slots"}.get(word, word.lower())
             for word in words - {"AUTH", "CONFIG", "HELLO", "LOAD", "SETNAME", "SLOTS"}}
    swept = (srcdir / "src/redis/old_libraries.c").read_text()
    words |= {f"function|{word.lower()}" for word in re.findall(r'"FUNCTION", words\[1\] = "(\w+)"', swept)}
    require(documented == words, f"fleet.md, servers.md: rights: only there {sorted(documented - words)}, "
            f"only in the code {sorted(words - documented)}")


def check_managed():
    """The tables of what a server must allow, and of what can be acknowledged."""
    rows = re.findall(r'^ABILITY\(\w+, "([^"]+)", "([^"]+)", (\w+), (\w+),\s*"([^"]*)"\)',
                      (srcdir / "src/redis/abilities.def").read_text(), re.M)
    needs = {"REQUIRED": "yes", "OPTIONAL": "no"}
    coded = [[f"`{word}`", command, needs.get(need, "`{}`".format(fault[6:].replace("_", "-"))), without]
             for word, command, need, fault, without in rows]
    require(coded and table_after("<!-- abilities -->") == coded, "servers.md: not the table of abilities.def")
    rows = re.findall(r'^FAULT\(\w+, "([^"]+)", (\w+),\s*"([^"]*)"\)',
                      (srcdir / "src/base/faults.def").read_text(), re.M)
    coded = [[f"`{word}`", done.lower(), meaning] for word, done, meaning in rows]
    require(coded and table_after("<!-- faults -->") == coded, "servers.md: not the table of faults.def")


def check_times():
    """Uses the formulas of src/conf/databases.c and src/core/time_limit.c."""
    rows = [[float(cell.split()[0]) for cell in row] for row in table_after("<!-- times -->")]
    require(rows, "fleet.md: no table of times")
    for row in rows:
        ttl = row[0]
        kill_after = min(10, ttl / 4)
        margin = max(1, kill_after / 3)
        dead = 0.84 * ttl - 0.25
        stop = dead - kill_after - margin
        right = [ttl, min(ttl / 6, 0.16 * ttl + 0.2), kill_after, stop, stop + kill_after, dead - margin / 2, dead, ttl]
        close = all(abs(a - b) < 0.0101 for a, b in zip(row, right))
        require(close, f"fleet.md: times {row} should be {right}")


def check_checked():
    """Tries the configurations marked as checked."""
    blocks = re.findall(r"^<!-- checked -->\n```ini\n(.*?)^```$", fleet, re.M | re.S)
    require(blocks, "fleet.md: no configuration is marked as checked")
    for block in blocks:
        done = accepted(sys.argv[3], block)
        knows = "built without TLS" not in done.stderr
        require(done.returncode == 0 or not knows, f"a configuration is refused: {done.stderr}{block}")


# ---- alert rules and dashboard ----

FROM_ELSEWHERE = {"berth_up": set()}  # of the textfile recipe
OF_A_TARGET = {"instance", "job"}


def metric_labels():
    """{name: its labels}, a histogram's series included."""
    metrics = dict(FROM_ELSEWHERE)
    for name, text, _ in rows("metric"):
        kind, *labels = text.split(", ")
        metrics[name] = set(labels)
        if kind == "histogram":
            metrics.update({f"{name}_bucket": {*labels, "le"}, f"{name}_sum": set(labels), f"{name}_count": set(labels)})
    return metrics


def label_values():
    codes = {word for word, _, _ in rows("code")}
    states = re.search(r"^\* `database NAME`: `state`: (.*?); `ttl`", protocol, re.M | re.S)[1]
    return {"reason": codes, "code": codes, "verb": {word for word, _, _ in rows("command")},
            "state": set(re.findall(r"`(\w+)`", states))}


def labels_of_query(where, query, metrics, values):
    """Returns the labels that the result has."""
    names = re.findall(r"\bberth_\w+", query)
    require(names, f"{where}: no metric in {query}")
    has = {*OF_A_TARGET}
    for name in names:
        require(name in metrics, f"{where}: there is no metric {name}")
        has |= metrics.get(name, set())
    for name, selector in re.findall(r"\b(berth_\w+)\{(.*?)\}", query):
        for label, text in re.findall(r'(\w+)[=!]~?"(.*?)"', selector):
            require(label in metrics.get(name, set()) | OF_A_TARGET, f"{where}: {name} has no label {label}")
            for value in text.split("|") if "$" not in text else ():
                require(value in values.get(label, {value}), f"{where}: {label} is never {value}")
    groups = [set(group.split(", ")) for group in re.findall(r"\bby \((.*?)\)", query)]
    for group in groups:
        require(group <= has, f"{where}: no metric there has {sorted(group - has)}")
    return set.union(*groups) if groups else has


def check_metrics_files():
    metrics, values = metric_labels(), label_values()
    rules = (srcdir / "doc/metrics/berth.rules.yml").read_text()
    alerts = re.findall(r"^ +- alert: (\w+)\n(.*?)(?=^ +- alert|\Z)", rules, re.M | re.S)
    require(len(alerts) == rules.count("alert:") > 0, "berth.rules.yml: the check does not find all alerts")
    for alert, text in alerts:
        expression = re.search(r"^ +expr: (?:>-\n +)?(.*)$", text, re.M)[1]
        has = labels_of_query(alert, expression, metrics, values)
        said = set(re.findall(r"\$labels\.(\w+)", text))
        require(said <= has, f"{alert}: its result has no {sorted(said - has)}")
    dashboard = json.loads((srcdir / "doc/metrics/berth.dashboard.json").read_text())
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            name, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", variable["query"]["query"]).groups()
            require(label in metrics.get(name, set()) | OF_A_TARGET, f"dashboard: {name} has no {label}")
    for panel in dashboard["panels"]:
        for target in panel.get("targets", ()):
            has = labels_of_query(f"dashboard: {panel['title']}", target["expr"], metrics, values)
            said = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            require(said <= has, f"dashboard: {panel['title']}: its result has no {sorted(said - has)}")


carry_out("check_docs", globals())
