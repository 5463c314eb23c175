"""`history` shows what leases said of themselves to those who would see it in `status`."""


from daemon_help import connect_as, held, needs_root, waits
from history_help import history, is_over
from test_rights_shown import ALL, ANNA, answers_to, BERT, CLEO, CONFIG, DORA, GROUP, secrets_in, WORDS

pytestmark = needs_root

HIDDEN_KEYS = {"holder", "program", "reason", "why", "cgroup", "args"}


def viewers(daemon):
    """Each of them, and whether they may see what "shut" hides of Anna."""
    return [(connect_as(daemon, ANNA), True), (connect_as(daemon, CLEO), True),
            (connect_as(daemon, BERT, GROUP), True), (connect_as(daemon, DORA), True),
            (daemon.client(), True), (connect_as(daemon, BERT), False)]


def test_who_sees_it(daemon):
    anna = connect_as(daemon, ANNA)
    lease = held(anna, f"acquire shut:2 {WORDS}")
    waiting = waits(anna, f"acquire shut {WORDS}2")
    assert anna.request(f"cancel {waiting}") == "ok"
    assert daemon.client().request(f"drop {lease} reason=theirwhy") == "ok"
    for client, may in viewers(daemon):
        entries = history(client)
        assert len(entries) == 2
        for entry in entries:
            entry.has(uid=str(ANNA))
            assert {"pid", "how", "ended", "waited", "units"} <= entry.keys()
        for line in answers_to(client, "history", "history shut").splitlines():
            if line.startswith("ended"):
                assert secrets_in(line) == (ALL if may else set())
                assert may or not HIDDEN_KEYS & {word.split("=")[0] for word in line.split(" ")}
        assert may == ("theirwhy" in answers_to(client, "history"))


def test_all_see_what_is_not_hidden(daemon):
    anna = connect_as(daemon, ANNA)
    anna.request("release " + held(anna, f"acquire open {WORDS}"))
    assert secrets_in(answers_to(connect_as(daemon, BERT), "history")) == ALL


def test_what_one_resource_hides_another_does_not_show(daemon):
    anna = connect_as(daemon, ANNA)
    anna.request("release " + held(anna, f"acquire open also shut {WORDS}"))
    for client, may in ((connect_as(daemon, BERT), False), (connect_as(daemon, CLEO), False),
                        (connect_as(daemon, DORA), True)):
        assert secrets_in(answers_to(client, "history open")) == (ALL if may else set())


def hides_open(config):
    return config.replace("[semaphore open]", "[semaphore open]\nshow-commands = owner")


def test_what_was_hidden_then_or_is_hidden_now(daemon):
    anna, bert, root = connect_as(daemon, ANNA), connect_as(daemon, BERT), daemon.client()
    for now in hides_open(CONFIG), CONFIG:
        lease = held(anna, f"acquire open {WORDS}")
        anna.request(f"release {lease}")
        daemon.configure(now)
        assert root.request("reload") == "ok"
        request = f"history lease={lease}"
        assert secrets_in(answers_to(bert, request)) == set(), now
        assert secrets_in(answers_to(anna, request)) == secrets_in(answers_to(root, request)) == ALL, now


def test_a_resource_that_is_gone_shows_to_the_daemons_admins(daemon):
    anna, root = connect_as(daemon, ANNA), daemon.client()
    anna.request("release " + held(anna, f"acquire t/x {WORDS}"))
    daemon.configure(CONFIG.split("[semaphore t/*]", maxsplit=1)[0])
    assert root.request("reload") == "ok"
    assert secrets_in(answers_to(connect_as(daemon, BERT), "history")) == set()
    assert secrets_in(answers_to(connect_as(daemon, CLEO), "history t/*")) == set()
    assert secrets_in(answers_to(connect_as(daemon, DORA), "history t/*")) == ALL


def test_a_resource_that_goes_before_a_restart_hides(daemon):
    """The next berthd cannot know what the section hid, of a holder and of a waiter."""
    anna = connect_as(daemon, ANNA)
    lease = held(anna, f"acquire shut:2 {WORDS}")
    waits(anna, f"acquire shut {WORDS}2")
    daemon.kill()
    kept, _, rest = CONFIG.partition("[semaphore shut]")
    daemon.configure(kept + rest[rest.index("\n["):])
    daemon.start()
    again = connect_as(daemon, ANNA)
    assert again.request(f"reclaim {lease} shut:2 {WORDS}").startswith("ok")
    bert, dora = connect_as(daemon, BERT), connect_as(daemon, DORA)
    for _ in range(2):
        assert secrets_in(answers_to(bert, "status", "history", "history s*")) == set()
        assert secrets_in(answers_to(dora, "status", "history s*")) == ALL
        again.request(f"release {lease}")


def test_what_ended_while_there_was_no_berthd_is_hidden(daemon):
    lease = held(connect_as(daemon, ANNA), f"acquire shut ttl=1ms {WORDS}")
    daemon.kill()
    daemon.start()
    bert = connect_as(daemon, BERT)
    is_over(bert, lease)
    assert len(history(bert)) == 1 and secrets_in(answers_to(bert, "history")) == set()
    assert secrets_in(answers_to(connect_as(daemon, CLEO), "history")) == ALL


def test_a_long_answer_hides_to_its_end(daemon):
    anna = connect_as(daemon, ANNA)
    for _ in range(1000):
        anna.request("release " + held(anna, f"acquire shut {WORDS}"))
    assert not secrets_in(answers_to(connect_as(daemon, BERT), "history"))
    assert answers_to(connect_as(daemon, CLEO), "history").count("theirreason") == 1000
