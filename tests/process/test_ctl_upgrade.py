"""berthctl hosts and finish-upgrade: what an operator reads during an upgrade. The real thing is
test_fleet_upgrade.py's."""

from lines import DEADLINE

UP = "database main state=up ttl=30000 incarnation=1 differing=0 calls=1"
HOST = "host {} session=0123456789abcde{} database=main heard_at=-100 held=0 waiting=0 version=1.{}"


def answered(berthctl, fake, lines, *words):
    """Runs berthctl; returns its request, status, stdout and stderr."""
    process = berthctl.start(*words, text=True)
    peer, request = fake.asked()
    peer.send("".join(line + "\n" for line in lines))
    out, err = process.communicate(timeout=DEADLINE)
    return " ".join(request), process.returncode, out, err


def hosts(berthctl, fake, layout, *knows):
    lines = [f"{HOST.format(name, n, n)} layout_from={known[0]} layout_to={known[-1]}"
             for n, (name, known) in enumerate(zip("abc", knows))]
    _, status, out, _ = answered(berthctl, fake, ["ok", f"{UP} layout={layout}", *lines, "end"], "hosts")
    assert status == 0
    title, *rows = out.splitlines()
    column = title.split().index("LAYOUTS")
    assert rows[len(knows)] == "database main up"
    return [row.split()[column] for row in rows[:len(knows)]], rows[len(knows) + 1:]


LAYOUTS = [
    (2, ["2", "2"], ["2", "2"], []),
    (3, ["23", "23"], ["2-3", "2-3"], []),
    (2, ["23", "23"], ["2-3", "2-3"], [
        "  layout: 2; all hosts can read layout 3: berthctl finish-upgrade main"]),
    (2, ["23", "2", "2"], ["2-3", "2", "2"], ["  layout: 2; b, c cannot read layout 3"]),
]


def test_hosts_say_what_an_upgrade_waits_for(berthctl, fake):
    for layout, knows, shown, says in LAYOUTS:
        assert hosts(berthctl, fake, layout, *knows) == (shown, says)


def test_finish_upgrade(berthctl, fake):
    for was, said in ("", ""), (" was=2", ""), (" was=3", " already: there is nothing to upgrade"):
        for words, request in ((), "upgrade"), (("main",), "upgrade database=main"):
            assert answered(berthctl, fake, [f"ok database=main layout=3{was}"], "finish-upgrade", *words) == (
                request, 0, f"database main has layout 3{said}\n", "")
    why = "database main: b cannot read layout 3: upgrade berthd there first"
    said = f"error older {why.replace(' ', '%20')}"
    request, status, out, err = answered(berthctl, fake, [said], "finish-upgrade")
    assert (status, out) == (75, "") and why in err
    assert berthctl("finish-upgrade", "a", "b").returncode == 64
