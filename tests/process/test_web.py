"""berth-web: a real one follows a real berthd, and answers over HTTP."""

import contextlib
import json
import os
import re
import resource
import select
import shutil
import socket
import subprocess
import time

import pytest

from conftest import BUILD
from daemon_help import NOBODY, held, needs_root, untimed, waits
from documents import SOURCE
from lines import DEADLINE
from web_help import Web, needs_web, resource_of

CONFIG = """
[pool gpus]
items = gpu0 gpu1
[semaphore licenses]
limit = 2
[semaphore secret]
limit = 2
show-commands = owner
"""

pytestmark = needs_web


@pytest.fixture
def web_of(directory, sanitizer_reports):
    webs = []

    def start(*args, **options):
        webs.append(Web(directory, *args, **options).start())
        return webs[-1]

    yield start
    for each in webs:
        each.stop()


@pytest.fixture
def web(daemon, web_of):
    return web_of().ready()


# ---- routes


def test_routes(daemon, web):
    page = web.ask("/")
    assert page.status == 200 and page.text.lower().startswith("<!doctype html>")
    assert web.ask("/healthz").text == "ok\n"
    assert "berth_followers" in web.ask("/metrics").text
    assert "\nberth_web_connected 1\n" in web.ask("/metrics").text
    assert [each["name"] for each in web.status()["resources"]] == ["gpus", "licenses", "secret"]
    assert web.history()["leases"] == []
    assert web.ask("/nothing").status == web.ask("/status.json/").status == 404
    table = re.findall(r"^X\(0x(\w+), 0x(\w+)\)$", (SOURCE / "src/client/deceptive.def").read_text(), re.MULTILINE)
    (harmful,) = re.findall(r"const harmful = (.*);", page.text)
    assert len(table) > 10 and "\\u{202e}" in harmful
    for first, last in table:  # page and terminal have one table of deceptive characters
        assert f"\\u{{{first}}}-\\u{{{last}}}" in harmful


@pytest.mark.skipif(not shutil.which("node"), reason="no JavaScript here")
def test_the_scripts_of_the_page_parse(daemon, web):
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", web.ask("/").text, re.S)
    assert scripts
    parse = "for (const text of JSON.parse(require('fs').readFileSync(0))) new (require('vm').Script)(text);"
    subprocess.run(["node", "-e", parse], input=json.dumps(scripts), text=True, check=True, timeout=DEADLINE)


def test_status_is_what_berthctl_prints(daemon, client, web, berthctl):
    held(client, "acquire gpus holder=job-1")
    waits(daemon.client(), "acquire gpus:2")
    seen = web.follow(lambda answer: (resource_of(answer, "gpus") or {}).get("waiting") == 1)
    printed = json.loads(berthctl("status", "--json").stdout)

    def timeless(value):
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if key not in ("good_until", "position")}
        return [timeless(each) for each in value] if isinstance(value, list) else value

    whole = web.status()
    assert whole["full"] and seen["serial"]
    for key in ("version", "draining", "resources", "templates", "databases"):
        assert timeless(whole[key]) == timeless(printed[key]), key
    assert whole["host"] == socket.gethostname() and whole["hosts"] == []
    assert resource_of(whole, "gpus")["waiters"][0]["position"] == 1


def test_only_get_and_head(daemon, web):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "BREW"):
        answer = web.ask("/healthz", method)
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD"), method
    for path in ("/", "/healthz", "/metrics", "/status.json", "/history.json"):
        answer = web.ask(path, "HEAD")
        assert answer.status == 200 and answer.body == b"" and int(answer.headers["Content-Length"]) > 0


def test_requests_that_are_refused(daemon, web):
    for headers, status in (  # no body is taken, and a header's name is a token
            ("Content-Length: 5\r\n\r\nhello", 413), ("Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
            ("Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello", 413),
            *((f"{name}: 5\r\nConnection: close\r\n\r\nhello", 400)
              for name in ("Content-Length ", "Content-Length\t", "Ho(st"))):
        answer = web.raw(f"GET / HTTP/1.1\r\nHost: localhost\r\n{headers}".encode())
        assert answer.startswith(f"HTTP/1.1 {status} ".encode()), headers
    for query in ("&".join(f"k{n}=1" for n in range(300)), "k=" + 3000 * "1"):
        answer = web.raw(f"GET /status.json?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 414 "), query
        assert web.ask("/status.json?" + query[:15]).status == 200
    for query in ("from=x", "from=-1", "from=2&until=1", "limit=0", "limit=5001", "resource=../x",
                  "until=99999999999999999999"):
        assert web.ask("/history.json?" + query).status == 400, query


# ---- who asks


def test_the_host_is_checked(daemon, web_of):
    web = web_of("hosts = web.example other.example\n").ready()
    for host in ("localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8181", "web.example", "Other.Example:443"):
        assert web.ask("/healthz", Host=host).status == 200, host
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "web.example.", "", "a b",
                 "128.0.0.1", "localhost:x", "[::2]"):
        assert web.ask("/healthz", Host=host).status == 421, host
    assert b" 400 " in web.raw(b"GET /healthz HTTP/1.0\r\n\r\n").split(b"\r\n")[0]
    twice = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"
    assert b" 400 " in web.raw(twice).split(b"\r\n")[0]


def test_other_origins(daemon, web_of):
    """And a list over several lines."""
    web = web_of("hosts = a.example,\n    b.example\n    c.example\n").ready()
    for host in ("a.example", "b.example", "c.example"):
        assert web.ask("/healthz", Host=host).status == 200
    mine = web.ask("/status.json", Origin=web.where.rstrip("/"))
    assert mine.status == 200 and mine.headers["Access-Control-Allow-Origin"] is None
    for origin in ("https://evil.example", "null", "https://a.example", web.where.rstrip("/") + ".evil.example"):
        answer = web.ask("/status.json", Origin=origin)
        assert answer.status == 403 and answer.headers["Access-Control-Allow-Origin"] is None, origin


def test_headers(daemon, web):
    for path in ("/", "/status.json", "/nothing"):
        headers = web.ask(path).headers
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-store"
        assert headers["Set-Cookie"] is None and headers["X-Frame-Options"] == "DENY"
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; ")
        assert "unsafe" not in headers["Content-Security-Policy"]
    policy = web.ask("/").headers["Content-Security-Policy"]
    assert "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'" in policy
    assert policy.count("script-src 'sha256-") == policy.count("style-src 'sha256-") == 1


# ---- what changes


def test_a_poll_hears_at_once(daemon, web):
    before = web.status()
    connection = web.connection()
    connection.request("GET", f"/status.json?after={before['serial']}")
    web.until(lambda: "\nberth_web_polls 1\n" in web.ask("/metrics").text, True)
    held(daemon.client(), "acquire licenses program=train")
    connection.sock.settimeout(10)  # the poll itself would end after 25 s
    changes = json.loads(connection.getresponse().read())
    assert not changes["full"] and changes["removed"] == []
    (licenses,) = changes["resources"]
    assert licenses["name"] == "licenses" and licenses["holders"][0]["program"] == "train"
    connection.close()


def test_it_ends_while_more_is_asked(daemon, web):
    """A poll ends with it; the requests behind that one on its connection begin nothing more."""
    serial = web.status()["serial"]
    paths = [f"/status.json?after={serial}", "/metrics", "/history.json", f"/status.json?after={serial}"]
    with socket.create_connection(("127.0.0.1", web.port), DEADLINE) as sock:
        for path in paths:
            sock.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        web.until(lambda: "\nberth_web_polls 1\n" in web.ask("/metrics").text, True)
        web.stop()
        answers = b"".join(iter(lambda: sock.recv(65536), b""))
    assert answers.count(b"HTTP/1.1 200 ") == 1 and answers.count(b"HTTP/1.1 503 ") == 3


def test_changes_after_a_serial(daemon, web):
    before = web.status()
    first, second = daemon.client(), daemon.client()
    held(first, "acquire licenses")
    held(second, "acquire gpus")
    both = web.follow(
        lambda answer: {"licenses", "gpus"} <= {each["name"] for each in answer["resources"]}, None)
    assert both["full"]
    changes = web.status(before["serial"])
    assert not changes["full"]
    assert {each["name"] for each in changes["resources"]} == {"gpus", "licenses"}


def test_time_goes_on(daemon, web):
    """And an unknown serial gets all."""
    for serial in ("x", "0123456789abcdef.1.1", "1.2", "9.9.9.9", "%00", "z" * 200):
        answer = web.status(serial)
        assert answer["full"] and len(answer["resources"]) == 3, serial
    held(daemon.client(), "acquire licenses")
    licenses = lambda answer: (resource_of(answer, "licenses") or {"holders": []})["holders"]
    web.follow(licenses)
    first = web.status()
    web.until(lambda: web.status()["now"] > first["now"], True)
    assert licenses(web.status()) == licenses(first)
    assert 0 <= first["now"] - licenses(first)[0]["since"] < 60000


def test_what_is_removed(daemon, client, web):
    before = web.status()
    daemon.configure("[pool gpus]\nitems = gpu0 gpu1\n")
    assert client.request("reload") == "ok"
    names = set()

    def all_gone(changes):
        names.update(changes.get("removed", []))
        return {"licenses", "secret"} <= names

    web.follow(all_gone, before)
    assert [each["name"] for each in web.status()["resources"]] == ["gpus"]


def test_berthd_restarts(daemon, client, web):
    held(client, f"acquire licenses pid={os.getpid()}")
    before = web.follow(lambda answer: (resource_of(answer, "licenses") or {}).get("in_use") == 1)
    daemon.stop()
    lost = web.follow(lambda answer: not answer["connected"], before)
    assert lost["why"] and web.ask("/healthz").status == 503
    assert resource_of(web.status(), "licenses")["in_use"] == 1  # as it was known last
    assert "\nberth_web_connected 0\n" in web.ask("/metrics").text
    daemon.start()
    back = web.follow(lambda answer: answer["connected"], lost)
    assert back["why"] is None and web.ask("/healthz").status == 200
    assert resource_of(web.status(), "licenses")["in_use"] == 1


def test_without_berthd(directory, web_of):
    web = web_of()
    web.until(lambda: "cannot connect" in web.ask("/healthz").text, True)
    status = web.status()
    assert not status["connected"] and "cannot connect" in status["why"] and status["resources"] == []
    assert web.ask("/").status == 200


def test_a_berthd_that_refuses(fake, web_of):
    web = web_of()
    for _ in range(2):
        peer, words = fake.asked()
        assert words == ["watch"]
        peer.send("error busy too%20many\n")
        web.until(lambda: "too many (busy)" in web.ask("/healthz").text, True)
    fake.accept()
    assert web.log.read_text().count("berthd refuses to be followed: too many (busy)") == 1


def test_a_berthd_that_sends_nonsense(fake, web_of):
    web = web_of()
    peer, _ = fake.asked()
    peer.send(b"ok draining=7\nholder\n\x00\xff\n" + b"x" * 5000 + b"\n")
    web.until(lambda: "does not speak this protocol" in web.ask("/healthz").text, True)
    fake.accept()


# ---- what has ended


def test_history(client, web):
    """test_web_past.py has who else is asked."""
    lease = held(client, "acquire licenses program=train")
    assert client.request(f"release {lease}") == "ok"
    web.until(lambda: [each["lease"] for each in web.history()["leases"]], [lease])
    (entry,) = web.history("from=0&resource=licenses")["leases"]
    assert entry["how"] == "released" and entry["program"] == "train"
    assert web.history("from=0&resource=gpus")["leases"] == []
    assert web.history()["host"] == socket.gethostname()


# ---- what strangers write


def test_hostile_text(daemon, web):
    nasty = "</script>\x01\x7f\u202e\"\\"
    encoded = "".join(f"%{byte:02X}" for byte in nasty.encode())
    held(daemon.client(), f"acquire licenses holder={encoded} program=%FF%3Cb%3E")
    seen = web.follow(lambda answer: (resource_of(answer, "licenses") or {}).get("in_use") == 1)
    (holder,) = resource_of(seen, "licenses")["holders"]
    assert holder["holder"] == nasty and holder["program"] == "\\xff<b>"
    body = web.ask("/status.json").body
    assert all(0x20 <= byte < 0x7f for byte in body.rstrip(b"\n"))


@needs_root
def test_hidden_leases(daemon, directory, web_of):
    held(daemon.client(), "acquire secret program=mine")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    web = web_of(before=user).ready()
    (holder,) = resource_of(web.status(), "secret")["holders"]
    assert holder["program"] is None and holder["uid"] == 0


# ---- who keeps others out

SLOW = b"GET / HTTP/1.1\r\nHost: localhost\r\nX: "


@pytest.fixture
def many_descriptors():
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, limits[1]), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def is_open(sock):
    sock.setblocking(False)
    try:
        return sock.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False


def slow_connections(web, n):
    socks = []
    for _ in range(n):
        connection = web.connection()
        connection.connect()
        connection.sock.sendall(SLOW)
        socks.append(connection.sock)
    return socks


def test_slow_connections_keep_nobody_out(many_descriptors, daemon, web_of):
    web = web_of().ready()
    poll = web.connection()
    poll.request("GET", "/status.json?after=" + web.status()["serial"])
    slow = slow_connections(web, 1500)
    assert web.ask("/healthz").status == 200
    assert not is_open(slow[0]) and sum(map(is_open, slow)) <= 800  # the oldest went, before any deadline
    assert is_open(poll.sock)  # it waits for its route, which has a time limit of its own
    for sock in [poll.sock, *slow]:
        sock.close()


def test_one_user_of_a_unix_socket_leaves_room(many_descriptors, daemon, directory, web_of):
    web = web_of(listen=str(directory / "web.sock")).ready()
    slow = slow_connections(web, 450)
    assert web.ask("/healthz").status == 200
    assert not is_open(slow[0]) and sum(map(is_open, slow)) <= 400
    for sock in slow:
        sock.close()


def test_headers_have_a_deadline(daemon, web):
    """However steadily their bytes come."""
    (slow,) = slow_connections(web, 1)
    end = time.monotonic() + DEADLINE
    with contextlib.suppress(ConnectionError):
        while not select.select([slow], [], [], 0.5)[0]:
            assert time.monotonic() < end
            slow.sendall(b"a")
    assert not is_open(slow)
    slow.close()


# ---- where it listens


def test_a_unix_socket(daemon, directory, web_of):
    path = directory / "web.sock"
    web = web_of(listen=str(path)).ready()
    assert web.where == str(path) and web.ask("/").status == 200
    assert path.stat().st_mode & 0o777 == 0o666
    assert web.ask("/", Host="evil.example").status == 421
    web.process.kill()
    web.process.wait()
    web.start().ready()  # over the one that is left
    web.stop()
    assert not path.exists()


def test_a_path_that_is_no_socket(daemon, directory):
    path = directory / "file"
    path.write_text("precious")
    status, log = Web(directory, listen=str(path)).fails()
    assert status == 69 and "left alone" in log and path.read_text() == "precious"


def test_the_request_that_activates_it(daemon, web_of):
    """It is answered once berthd has answered."""
    listener = socket.create_server(("127.0.0.1", 0))
    with socket.create_connection(listener.getsockname(), DEADLINE) as first:
        first.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        web_of(listen=None, inherited=listener)
        assert first.recv(4096).startswith(b"HTTP/1.1 200 ")
    listener.close()


def test_a_unix_socket_that_is_handed_over(daemon, directory, web_of):
    """The request that activates it, above, comes by TCP."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory / "web.sock"))
        listener.listen()
        web = web_of(listen=None, inherited=listener).ready()
        assert web.ask("/healthz").text == "ok\n"
        web.stop()
        assert (directory / "web.sock").exists()  # it is the manager's


def test_a_service_manager(daemon, directory, web_of):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.settimeout(DEADLINE)
    manager.bind(str(directory / "notify"))
    web = web_of(environ={"NOTIFY_SOCKET": str(directory / "notify")})
    said = manager.recv(4096).decode()
    assert said.startswith("READY=1\n") and f"serving {web.where}" in said
    while "following berthd" not in said:
        said = manager.recv(4096).decode()
    web.stop()
    while "STOPPING=1" not in said:
        said = manager.recv(4096).decode()
    manager.close()


# ---- its file


ERRORS = [
    ("listen = 0.0.0.0:8181\n", "is not one of loopback"),
    ("listen = 10.0.0.7:8181\n", "is not one of loopback"),
    ("listen = here\n", "expected ADDRESS:PORT, such as 127.0.0.1:8181, or an absolute path"),
    ("listen = 127.0.0.1:99999\n", "expected ADDRESS:PORT, such as"),
    ("socket = s\n", "expected an absolute path"),
    ("hosts = http://web.example\n", "expected names without scheme and port"),
    ("colour = red\n", "colour: unknown key"),
    ("peers = https://web2.example\n", "peers: unknown key"),
    ("database = none\n", "database: unknown key"),
    ("host = web.example\n", "host: unknown key; did you mean hosts?"),
    ("nonsense\n", "a line is KEY = VALUE"),
    ("[other]\nx = 1\n", "the only section is [web]"),
    ("hosts = " + "a" * 300 + "\n", "a line has at most 190 bytes"),
]


def test_errors_of_the_file(directory):
    for text, words in ERRORS:
        status, log = Web(directory, text, listen=None).fails()
        assert status == 78 and words in log, (text, log)
        assert len(log.splitlines()) == 1 and untimed(log).startswith("berth-web: "), log


def test_check(directory):
    web = Web(directory, "listen = 127.0.0.1:8181\nhosts = a.example\n")
    assert subprocess.run([BUILD / "berth-web", "-c", web.config, "--check"], capture_output=True,
                          text=True).stdout == "OK\n"
    web.config.write_text("[web]\nlisten = 0.0.0.0:8181\n")
    done = subprocess.run([BUILD / "berth-web", "-c", web.config, "--check"], capture_output=True,
                          text=True)
    assert done.returncode == 78 and "put a proxy with a login before it" in done.stderr


def test_where_to_listen_is_checked(directory):
    status, log = Web(directory, listen="8181").fails()
    assert status == 64
    assert log == ("berth-web: --listen 8181: expected ADDRESS:PORT, such as 127.0.0.1:8181, "
                   "or an absolute path\n")


def test_a_port_in_use(directory):
    with socket.create_server(("127.0.0.1", 0)) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        status, log = Web(directory, listen=where).fails()
        assert status == 69
        assert untimed(log) == (f"berth-web: cannot listen at {where}: Address already in use "
                                "(is berth-web.socket active? else choose another port)\n")
