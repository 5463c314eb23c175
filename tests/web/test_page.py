"""The page before made-up answers: what it shows, by eye, by keyboard, by reader."""

import pathlib

import pytest

import browser as browsers
import fixture

AUDIT = (pathlib.Path(__file__).with_name("audit.js").read_text() + "\nreturn audit(document);")
BOX = "return [...document.querySelectorAll('.unit')].map(e => e.getAttribute('aria-label'))"
HOSTILE = "<script>window.hurt=1</script><img src=x onerror='window.hurt=1'>"


def audited(chromium):
    return [(one["rule"], one["what"]) for one in chromium.run(AUDIT)]


# ---- what is shown ----

def test_units_holders_and_queue(chromium, office):
    chromium.open_live(office.address)
    labels = chromium.run(BOX)
    assert any(label.startswith("gpu0, alice, train.py, since") for label in labels), labels
    assert "gpu6, free" in labels and "gpu7, reserved: fan broken" in labels
    text = chromium.text()
    for words in ("its user has reached the quota", "waits for gpus as well", "5 more wait",
                  "1 being stopped", "by root on ares: disk is being replaced", "limit 5 (file: 20) since ",
                  "by root (logged in as alice): too slow", "12 / 12 held"):
        assert words in text, words
    chromium.must_be_clean()


def test_a_rate_and_levels(chromium, office):
    """A badge says when the next unit goes, and goes then, though nothing has changed; the details have more."""
    def held_back(ms):
        return fixture.resource(
            "weather", "semaphore", 20, (), [fixture.waiter(700, 0, "zoe", "fetch.sh", 1, blocked="identity")],
            rate="2/1m", burst=3, grantable=0, next=office.world.now() - office.world.began + ms,
            also=["total:2", "desk"])

    def details():
        chromium.click(".name")
        said = chromium.run("return document.getElementById('details').innerText")
        chromium.run("document.getElementById('details-close').click()")
        return said

    office.world.update(held_back(fixture.HOUR))
    chromium.open_live(office.address + "#now?q=weather")
    badges = "return document.querySelector('.badges').innerText"
    assert chromium.run(badges).startswith("rate 2/1m: the next unit goes in ")
    assert "another lease has its identity" in chromium.text()
    text = details()
    for words in ("grantable now\n0\n", "2/1m, burst 3; the next unit goes at ", "also takes\ntotal:2, desk\n"):
        assert words in text, words
    office.world.update(held_back(2000))
    chromium.wait_for(badges + " === ''")
    assert "grantable now" not in details()
    chromium.must_be_clean()


def test_a_change_is_shown_at_once_and_alone(chromium, office):
    chromium.open_live(office.address)
    chromium.wait_for("const e = document.querySelector('.name'); return e && (e.marked = 1)")
    office.world.update(fixture.resource("deploy", "lock", 1, [
        fixture.holder(700, 0, "zoe", "release.sh", [0])]))
    chromium.wait_for("return document.body.innerText.includes('zoe')")
    assert chromium.run("return document.querySelector('.name').marked") == 1
    office.world.update(fixture.resource("late", "lock", 1), removed=["deploy"])
    chromium.wait_for("return [...document.querySelectorAll('.name')].every("
                      "e => e.textContent !== 'deploy')")
    assert "late" in chromium.run("return berth.model.resources.map(r => r.name)")
    chromium.must_be_clean()


def test_a_lease_on_several_resources_counts_once(chromium, office):
    figures = ("return ['leases', 'waiting'].map(name => [...document.querySelectorAll("
               "'#figures > div')].find(e => e.firstChild.textContent === name)"
               ".lastChild.textContent).map(Number)")
    chromium.open_live(office.address)
    held, waiting = chromium.run(figures)
    office.world.update(*(fixture.resource(name, "lock", 1, [
        fixture.holder(700, 0, "zoe", "release.sh", [0])], [
        fixture.waiter(701, 0, "yves", "release.sh", 1)]) for name in ("one", "two")))
    chromium.wait_for("return document.body.innerText.includes('yves')")
    assert chromium.run(figures) == [held + 1, waiting + 1]
    chromium.must_be_clean()


def test_what_clients_wrote_is_text(chromium, office):
    held = fixture.holder(701, 0, HOSTILE, HOSTILE, [0], holder=HOSTILE, reason=HOSTILE)
    waits = fixture.waiter(702, 0, HOSTILE, "\u202eevil\x1b[2J", 1, blocked="other",
                           blocker=HOSTILE)
    now = office.world.now()
    office.world.update(
        fixture.resource(HOSTILE, "lock", 1, [held], [waits], paused=True, pause_reason=HOSTILE),
        ended=[fixture.past_lease(703, HOSTILE, [HOSTILE], HOSTILE, HOSTILE, now - 9000,
                                  now - 8000, now - 1000, why=HOSTILE)],
        host=HOSTILE)
    chromium.open_live(office.address + "#now?q=window.hurt")
    assert HOSTILE in chromium.text()
    assert "\\u{202e}evil\\u{1b}[2J" in chromium.text()
    chromium.click(".unit")
    chromium.wait_for("return document.querySelector('dialog[open]')")
    chromium.run("document.getElementById('details-close').click();"
                 "document.querySelector('.views a[data-view=timeline]').click()")
    chromium.run("document.getElementById('as-table').click()")
    chromium.wait_for("return document.querySelectorAll('#timeline-table td').length > 0")
    chromium.run("document.querySelector('.views a[data-view=hosts]').click()")
    assert chromium.run("return window.hurt") is None
    assert chromium.run("return document.querySelectorAll('script[src], img').length") == 0
    chromium.must_be_clean()


def test_filters_and_their_address(chromium, office):
    chromium.open_live(office.address)
    names = "return [...document.querySelectorAll('.card .name')].map(e => e.textContent)"
    chromium.run("const q = document.getElementById('query'); q.value = 'train.py';"
                 "q.dispatchEvent(new Event('input', {bubbles: true}))")
    chromium.wait_for(names + ".join() === 'gpus'")
    address = chromium.run("return location.href")
    chromium.open_live(address)
    chromium.wait_for(names + ".join() === 'gpus'")
    chromium.open_live(office.address + "#now?busy=1&order=waiting")
    shown = chromium.wait_for(names)
    assert shown[0] == "warehouse" and "backup-disk" not in shown
    chromium.open_live(office.address + "#now?q=nothing-is-called-so")
    assert "Nothing matches" in chromium.text()
    chromium.must_be_clean()


def test_nothing_yet_tells_how_to_begin(chromium, empty):
    chromium.open_live(empty.address)
    assert "berth run adhoc/first -- sleep 60" in chromium.text()
    assert audited(chromium) == []
    chromium.must_be_clean()


def test_only_commands_that_work_are_proposed(chromium, empty):
    empty.world.update({**fixture.resource("closed", "lock", 1), "grantable": 0}, templates=[])
    chromium.open_live(empty.address)
    assert "nothing can be granted now" in chromium.text() and "berth run" not in chromium.text()
    empty.world.update(fixture.resource("open", "lock", 1))
    chromium.wait_for("return document.body.innerText.includes('berth run open -- sleep 60')")
    chromium.must_be_clean()


def test_why_a_database_grants_nothing(chromium, office):
    chromium.open_live(office.address)
    [database] = office.world.status()["databases"]
    grace_until = office.world.status()["now"] + 24_900
    office.world.update(databases=[{**database, "grace_until": grace_until}])
    chromium.wait_for("return document.getElementById('notices').innerText.includes("
                      "'is new or has lost its data: for 2')")
    office.world.update(databases=[{**database, "grace_until": grace_until, "new": True}])
    chromium.wait_for("return document.getElementById('notices').innerText.includes("
                      "'is new: for 2')")
    assert "berthctl found " in chromium.text()
    chromium.must_be_clean()


def test_why_there_is_no_history(chromium, office):
    office.world.no_history = "berthd: nobody answers there\n"
    chromium.open_live(office.address + "#timeline")
    chromium.wait_for("return document.getElementById('timeline-note').textContent.startsWith("
                      "'The history cannot be shown: berthd: nobody answers there.')")


def test_why_it_is_not_connected(chromium, office):
    office.world.update(connected=False, why="No such file or directory")
    chromium.open(office.address)
    chromium.wait_for("return document.getElementById('state').textContent.includes("
                      "'berthd is not connected: No such file')")
    chromium.wait_for("return document.body.innerText.includes('gpus')")


def test_server_lost_and_back(chromium, office):
    chromium.open_live(office.address)
    office.stop()
    chromium.wait_for("return document.getElementById('state').textContent.startsWith("
                      "'Connection lost: as of')")
    again = fixture.Server(office.world, office.server_port)
    try:
        office.world.update(fixture.resource("since", "lock", 1))
        chromium.wait_for("return document.getElementById('state').textContent === 'live'")
        chromium.wait_for("return berth.model.resource('since') !== undefined")
    finally:
        again.stop()
    chromium.must_be_clean(unless=["Failed to load resource", "ERR_"])


# ---- the timeline ----

def open_table(chromium):
    chromium.run("document.getElementById('as-table').click()")
    return chromium.wait_for("return document.querySelectorAll('#timeline-table tbody tr').length")


def test_timeline_zooms_moves_and_is_a_table(chromium, office):
    chromium.open_live(office.address + "#timeline")
    chromium.wait_for("return berth.past.leases.size > 50")
    span = "return Math.round((berth.timeline.view.until - berth.timeline.view.from) / 60000)"
    assert chromium.run(span) == 60
    chromium.run("document.getElementById('lanes').focus()")
    chromium.press("+")
    assert chromium.run(span) == 30
    chromium.press("-", "ArrowLeft")
    assert chromium.run("return berth.timeline.view.isFollowing") is False
    chromium.press("n")
    assert chromium.run("return berth.timeline.view.isFollowing") is True
    chromium.run("document.querySelector('[data-period=\"21600000\"]').click()")
    chromium.wait_for("return berth.past.leases.size > 300")
    assert chromium.run(span) == 360
    assert open_table(chromium) > 100
    text = chromium.run("return document.getElementById('timeline-table').innerText")
    assert "still held" in text and "released, exit 0" in text and "max-hold" in text
    chromium.must_be_clean()


def wheel(chromium, x, y, **more):
    chromium.command("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, **more)


def test_wheel_zooms_above_the_axis_and_dragging_moves(chromium, office):
    chromium.open_live(office.address + "#timeline")
    chromium.wait_for("return berth.past.leases.size > 50")
    left, top = chromium.run("const b = document.getElementById('lanes').getBoundingClientRect();"
                             "return [b.left, b.top]")
    view = "return berth.timeline.view"
    before = chromium.run(view)
    wheel(chromium, left + 700, top + 10, deltaX=0, deltaY=-120)
    chromium.wait_for("return berth.timeline.view.until - berth.timeline.view.from < "
                      "arguments[0] * 0.9", before["until"] - before["from"])
    before = chromium.run(view)
    for kind, x in (("mousePressed", 500), ("mouseMoved", 560), ("mouseMoved", 700),
                    ("mouseReleased", 700)):
        chromium.command("Input.dispatchMouseEvent", type=kind, x=left + x, y=top + 200,
                         button="left", buttons=1)
    chromium.wait_for("return berth.timeline.view.from < arguments[0]", before["from"])
    assert chromium.run("return document.querySelector('dialog[open]')") is None
    chromium.must_be_clean()


def note(chromium, words):
    chromium.wait_for("return document.getElementById('timeline-note').textContent.includes(arguments[0])", words)


def at(chromium, instant, y):
    """What the pointer finds there."""
    return chromium.run("""
        const box = document.getElementById('lanes').getBoundingClientRect(), view = berth.timeline.view;
        const left = Math.min(280, Math.max(84, box.width * 0.18)), wide = box.width - left - 6;
        return [box.left + left + (arguments[0] - view.from) / (view.until - view.from) * wide,
                box.top + arguments[1]];""", instant, y)


def hover(chromium, instant, words, y=60):
    """Words of the tip at that instant."""
    def is_there():
        x, top = at(chromium, instant, y)
        chromium.command("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=top)
        return chromium.run("const tip = document.getElementById('tip'); return tip.hidden ? '' : tip.textContent")
    chromium.wait_for_call(lambda: words in is_there(), is_there)


def test_whose_it_is_and_from_when_on(chromium, office):
    chromium.open_live(office.address + "#timeline")
    note(chromium, "This host: complete since ")
    note(chromium, "All hosts of database main: complete since ")
    assert "berthd remembers" not in chromium.text()
    office.world.past_keys = {"kept_by": "berthd", "why": "no answer in time",
                              "sources": [fixture.source(None, office.world.began - 600_000)],
                              "failed": [{"database": "main", "why": "no answer of Redis"}]}
    chromium.open_live(office.address + "#timeline")
    note(chromium, ", as far as berthd remembers it (berth-history: no answer in time).")
    note(chromium, "Database main tells nothing of other hosts: no answer of Redis.")
    hover(chromium, office.world.began - 1_800_000, "Nothing is known before ")
    chromium.must_be_clean()


def ask_again(chromium):
    """As 15 seconds later."""
    chromium.run("return new Promise((done) => berth.past.more(done))")


def test_what_was_not_told_is_asked_for_again(chromium, office):
    """For the whole period, and nothing of it is there twice."""
    lease, now = fixture.past_lease, office.world.began
    late = lease(1, "warehouse", [0], "zoe", "late.sh", now - 600_000, now - 590_000, now - 300_000)
    early = lease(2, "warehouse", [0], "yves", "early.sh", now - 1_800_000, now - 1_790_000, now - 1_700_000,
                  host="boreas", lease="5e55/1k0p0000002")
    known = fixture.source(None, 1)
    database = {"sources": [known, fixture.source("main", now - 2_400_000)], "failed": [], "kept_by": "berth-history",
                "leases": [late, early], "gaps": [], "actions": []}
    down = {"from_at_ms": now - 2_000_000, "until_at_ms": now, "why": "down", "n": None}
    not_yet = ({"sources": [known], "failed": [{"database": "main", "why": "no answer of Redis"}], "leases": [late],
                "gaps": [], "actions": []},
               {**database, "kept_by": "berthd", "why": "no answer in time", "leases": [late]},
               {**database, "gaps": [down], "leases": [late]})
    for answer in not_yet:
        office.world.past_keys = answer
        chromium.open_live(office.address + "#timeline?q=warehouse")
        chromium.wait_for("return berth.past.leases.size === 1 && !berth.past.loading")
        assert chromium.run("return berth.past.spans.length") == 0
        office.world.past_keys = database
        ask_again(chromium)
        assert chromium.run("return [...berth.past.leases.values()].map(lease => lease.program)") == [
            "late.sh", "early.sh"]
        assert chromium.run("return [berth.past.spans.length, berth.past.gaps.length]") == [1, 0]
        assert chromium.run("return berth.past.spans[0][0] <= berth.model.now() - 3500000")
    chromium.must_be_clean()


def test_what_is_told_again_moves_by_latency(chromium, office):
    """Leases by their ids, also this host's by its database; actions by what was done when."""
    now, did = office.world.began, fixture.action

    def told(by):
        own = fixture.past_lease(1, "warehouse", [0], "zoe", "own.sh", now - 9000 + by, now - 8000 + by, now - 7000 + by)
        other = fixture.past_lease(2, "warehouse", [1], "yves", "other.sh", now - 9000 + by, now - 8000 + by,
                                   now - 7000 + by, host="boreas", lease="5e55/1k0p0000002")
        again = {**own, "host": "ares", "lease": "5e55/" + own["lease"]}
        office.world.past_keys = {"gaps": [], "leases": [again if by % 2 else own, other], "actions": [
            did(now - 6000 + by, "pause", resource="warehouse"), did(now - 4000 + by, "resume", resource="warehouse"),
            did(now - 2000 + by, "pause", resource="warehouse")]}

    told(0)
    chromium.open_live(office.address + "#timeline?q=warehouse")
    chromium.wait_for("return berth.past.leases.size === 2")
    for by in (3, 140, -120, 1):  # over an edge of 250 ms, wherever one is
        told(by)
        ask_again(chromium)
        assert chromium.run("return [berth.past.leases.size, berth.past.actions.size]") == [2, 3]
    chromium.must_be_clean()


def test_use_is_of_the_time_that_is_known(chromium, office):
    """By the database of a resource, by this host of the others; and not without it."""
    now = office.world.began

    def load():
        """What the canvas says then."""
        chromium.run("""
            const proto = CanvasRenderingContext2D.prototype, fill = proto.fillText;
            window.said = [];
            proto.fillText = function (text, ...more) { window.said.push(text); fill.call(this, text, ...more); };
            berth.past.load(() => { window.said = []; berth.timeline.changed(); });""")
        chromium.wait_for("return window.said.includes('warehouse')")
        return [text for text in chromium.run("return window.said") if "% used" in text]

    units = [fixture.past_lease(i, "warehouse", [i], "zoe", "own.sh", now - 600_000, now - 600_000, now, database="main",
                                host="boreas", lease=f"5e55/{i}") for i in range(12)]
    told = {"gaps": [], "actions": [], "leases": units}
    office.world.update(*[{**each, "holders": [], "waiters": [], "waiting": 0, "in_use": 0}
                          for each in office.world.status()["resources"] if each["name"] == "warehouse"])
    known = fixture.source(None, now - 24 * fixture.HOUR)
    office.world.past_keys = {**told, "sources": [known, fixture.source("main", now - 600_000)]}
    chromium.open_live(office.address + "#timeline?q=warehouse")
    chromium.wait_for("return berth.past.leases.size === 12")
    assert int(load()[0].split(" ")[0]) > 90
    hover(chromium, now - 1_800_000, "Nothing is known before ", y=60)
    office.world.past_keys = {**told, "sources": [known], "failed": [{"database": "main", "why": "no answer"}]}
    assert load() == []
    hover(chromium, now - 1_800_000, "its database tells nothing of other hosts", y=60)
    chromium.must_be_clean()


def test_what_operators_did_is_marked(chromium, office):
    chromium.open_live(office.address + "#timeline?q=warehouse")
    chromium.wait_for("return berth.past.actions.size === 2")
    hover(chromium, office.world.began - 40 * fixture.MINUTE,
          "limit warehouse 20 → 12 by alice: replica is behind")
    hover(chromium, office.world.began - 12 * fixture.MINUTE, "drain by root, boreas", y=30)
    open_table(chromium)
    text = chromium.run("return document.getElementById('timeline-table').innerText")
    assert "limit warehouse 20 → 12" in text and "replica is behind" in text
    chromium.must_be_clean()


def test_gaps_say_why(chromium, office):
    chromium.open_live(office.address + "#timeline")
    chromium.run("document.querySelector('[data-period=\"21600000\"]').click()")
    chromium.wait_for("return berth.past.gaps.length === 1")
    hover(chromium, office.world.began - 124 * fixture.MINUTE,
          ": berth-history was not running, 17 entries missing", y=31)
    hover(chromium, office.world.began - 124 * fixture.MINUTE, "carol, train.py: holds ", y=127)
    open_table(chromium)
    assert "berth-history was not running" in chromium.run(
        "return document.getElementById('timeline-table').innerText")
    chromium.must_be_clean()


def test_what_one_answer_cannot_hold_is_asked_for_where_one_looks(chromium, office):
    now = office.world.began
    office.world.past_keys = {"sources": [fixture.source(None, 1, True)], "actions": [], "gaps": [], "leases": [
        fixture.past_lease(1, "deploy", [0], "zoe", "late.sh", now - 600_000, now - 590_000, now - 300_000)]}
    chromium.open_live(office.address + "#timeline?q=deploy")
    note(chromium, "zoom in to see older ones")
    hover(chromium, now - 1_800_000, "more than fits: zoom in")
    office.world.past_keys = {"sources": [fixture.source(None, 1)], "actions": [], "gaps": [], "leases": [
        fixture.past_lease(2, "deploy", [0], "yves", "early.sh", now - 1_800_000, now - 1_800_000, now - 1_700_000)]}
    chromium.run("document.getElementById('lanes').focus()")
    chromium.press("ArrowLeft")
    chromium.wait_for("return [...berth.past.leases.values()].some(lease => lease.program === 'early.sh')")
    hover(chromium, now - 1_750_000, "early.sh", y=75)
    chromium.must_be_clean()


def test_a_closer_look_does_not_end_what_is_asked_for(chromium, office):
    now = office.world.began
    office.world.past_keys = {"sources": [fixture.source(None, 1, True)], "actions": [], "gaps": [], "leases": [
        fixture.past_lease(1, "deploy", [0], "zoe", "late.sh", now - 600_000, now - 590_000, now - 300_000)]}
    chromium.open_live(office.address + "#timeline?q=deploy")
    note(chromium, "zoom in to see older ones")
    chromium.run("const view = berth.timeline.view; return new Promise((done) => "
                 "berth.past.part(view.from, view.until + 60000, done))")
    assert chromium.run("return berth.past.until <= berth.model.now()")
    assert chromium.run("return berth.past.spans.every(([, until]) => until <= berth.model.now())")
    ask_again(chromium)
    assert chromium.run("return berth.past.error") is None
    chromium.must_be_clean()


def test_each_host_of_a_fleet_has_its_lanes(chromium, office):
    """Also those whose leases are running."""
    chromium.open_live(office.address + "#timeline?q=warehouse")
    chromium.wait_for("return berth.past.leases.size > 50")
    lanes = chromium.run("""
        const view = berth.timeline.view;
        const [group] = berth.groupsOf({query: 'warehouse', user: ''}, view.from, view.until);
        return group.lanes.map((lane) => [lane.name, [...new Set(lane.spans.map((span) =>
            span.lease.host || berth.model.host))], lane.spans.some((span) => span.kind === 'open')])""")
    assert [name for name, _, _ in lanes if name] == ["ares", "boreas", "chronos"]
    assert all(len(hosts) == 1 for _, hosts, _ in lanes)
    assert {hosts[0] for _, hosts, is_open in lanes if is_open} == {"ares", "boreas", "chronos"}
    open_table(chromium)
    assert "chronos" in chromium.run("return document.getElementById('timeline-table').innerText")
    chromium.must_be_clean()


# ---- for everybody ----

@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [browsers.WIDE, browsers.PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("view", ["now", "timeline", "hosts", "details", "table"])
def test_audit(chromium, office, view, size, dark):
    place = {"details": "now", "table": "timeline"}.get(view, view)
    chromium.open_live(f"{office.address}#{place}", size=size, dark=dark, motion=False)
    if view == "details":
        chromium.click(".name")
    elif place == "timeline":
        chromium.wait_for("return berth.past.leases.size > 50")
        if view == "table":
            open_table(chromium)
    elif view == "now":
        chromium.wait_for("return document.querySelectorAll('.unit').length > 8")
    assert audited(chromium) == []
    widths = chromium.run("return [document.documentElement.scrollWidth, innerWidth]")
    assert widths[0] <= widths[1], "the page scrolls sideways"
    chromium.must_be_clean()


def test_the_audit_finds_what_is_wrong(chromium, office):
    chromium.open_live(office.address)
    chromium.run("""
        const add = (tag, properties) => document.querySelector('main').appendChild(
            Object.assign(document.createElement(tag), properties));
        add('p', {id: 'main', textContent: 'twice'}).style.color = '#ccc';
        add('button', {}).style.cssText = 'width: 10px; height: 10px; padding: 0';
        add('input', {tabIndex: 3});
        add('h5', {textContent: 'deep'});
        add('table', {}).createTHead().insertRow();
        add('canvas', {});
        document.documentElement.lang = '';
        document.querySelector('meta[name=viewport]').content = 'user-scalable=no';
        document.querySelector('footer').remove();""")
    rules = {rule for rule, _ in audited(chromium)}
    assert rules >= {"contrast", "name", "target size", "label", "focus order", "duplicate id",
                     "heading order", "table", "image without a name", "language", "landmark",
                     "zoom is not allowed"}


def test_keyboard_alone(chromium, office):
    chromium.open_live(office.address)
    chromium.wait_for("return document.querySelectorAll('.card').length > 3")
    chromium.press("Tab")
    assert chromium.focused()["text"] == "Skip to the resources"
    chromium.press("Enter", "Tab")
    assert chromium.focused()["text"] == "gpus"
    chromium.press("ArrowRight")
    assert chromium.focused()["label"].startswith("gpu0, alice")
    outline = chromium.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    chromium.press("Enter")
    chromium.wait_for("return document.querySelector('dialog[open]')")
    assert "1795433429838527" in chromium.run(
        "return document.getElementById('details').innerText")
    chromium.press("Escape")
    chromium.wait_for("return !document.querySelector('dialog[open]')")
    assert chromium.focused()["label"].startswith("gpu0, alice")
    chromium.press("ArrowDown", "ArrowDown")
    assert chromium.focused()["text"] == "licence/synth"
    chromium.press("End")
    assert chromium.focused()["text"] == "old-database"
    chromium.press("Tab")
    assert chromium.focused()["tag"] == "BODY" or chromium.focused()["text"] != "old-database"
    chromium.press("/")
    assert chromium.focused()["id"] == "query"
    chromium.must_be_clean()


def test_focus_stays_when_its_resource_changes(chromium, office):
    chromium.open_live(office.address)
    chromium.run("document.querySelectorAll('.unit')[2].focus()")
    label = chromium.focused()["label"]
    shown, _ = office.world.resources["gpus"]
    office.world.update({**shown, "waiters": [], "waiting": 0})
    chromium.wait_for("return !document.body.innerText.includes('sweep.py')")
    assert chromium.focused()["label"] == label


def test_colours_are_kept(chromium, office):
    chromium.open_live(office.address)
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = chromium.run(ground)
    chromium.run("document.getElementById('theme').click();"
                 "document.getElementById('theme').click()")
    assert chromium.run(ground) != light
    chromium.open_live(office.address)
    assert chromium.run("return document.documentElement.dataset.theme") == "dark"
    chromium.run("localStorage.clear()")


def test_without_scripts_it_says_what_to_do(chromium, office):
    chromium.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        chromium.open(office.address)
        page = chromium.command("DOM.getDocument", depth=-1)
        assert "berthctl status" in str(page)
    finally:
        chromium.command("Emulation.setScriptExecutionDisabled", value=False)


# ---- many ----

SCROLL = """
    const done = arguments[arguments.length - 1], frames = [], step = arguments[0];
    let last = performance.now(), long = 0;
    new PerformanceObserver((list) => { long += list.getEntries().length; })
        .observe({type: 'longtask'});
    function frame(now) {
        frames.push(now - last);
        last = now;
        window.scrollBy(0, step);
        if (frames.length < 240) requestAnimationFrame(frame);
        else done({frames: frames.slice(2), long, y: window.scrollY,
                   cards: document.querySelectorAll('.card').length,
                   height: document.documentElement.scrollHeight});
    }
    requestAnimationFrame(frame);"""


def test_a_thousand_resources_scroll(chromium):
    crowd = fixture.serve(resources=1000, leases=10000)
    try:
        chromium.open_live(crowd.address)
        chromium.wait_for("return document.querySelectorAll('.card').length > 5")
        seen = chromium.driver.execute_async_script(SCROLL, 120)
        frames = sorted(seen["frames"])
        print(f"\n1000 resources, 10000 leases, 240 frames of 120 pixels: median "
              f"{frames[len(frames) // 2]:.1f} ms, 95 % {frames[int(len(frames) * 0.95)]:.1f} ms, "
              f"longest {frames[-1]:.1f} ms; {seen['long']} tasks of more than 50 ms; "
              f"{seen['cards']} cards are elements")
        assert seen["y"] > 20000 and seen["cards"] < 60
        chromium.run("window.scrollTo(0, document.documentElement.scrollHeight)")
        chromium.wait_for("return [...document.querySelectorAll('.name')].some("
                          "e => e.textContent === 'queue/0999')")
        overlaps = chromium.run("""
            const cards = [...document.querySelectorAll('.card')].map(e => e.getBoundingClientRect())
                .sort((a, b) => a.top - b.top);
            return cards.filter((box, i) => i && cards[i - 1].bottom > box.top + 0.5).length""")
        assert overlaps == 0
        chromium.must_be_clean()
    finally:
        crowd.stop()
