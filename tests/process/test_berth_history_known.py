"""What berth-history does not know: it shows it to nobody, and calls nothing complete that is not."""

import os

import pytest

from daemon_help import connect_as, held, needs_root
from keeper_help import Keeper, Past, needs_history
from lines import until
from test_rights_shown import ANNA, BERT, VIEWING, WORDS

pytestmark = needs_history

OPEN = f"history-user = {os.geteuid()}\n[semaphore s]\nlimit = 4\n"
IN_GROUPS = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/group && exec "$@"')


@pytest.fixture
def keeper(directory):
    started = []

    def start(text="", before=()):
        started.append(Keeper(directory, text, before))
        return started[0]

    yield start
    for each in started:
        for client in each.clients:
            client.close()
        each.stop()


# ---- who sees what ----


@needs_root
def test_viewers_see_all_while_berthd_is_down_if_it_has_said_so(keeper, berthd, directory):
    """Not another in their group who sees all for another reason: an admin."""
    (directory / "group").write_text(f"berth-view:x:{VIEWING}:\n")
    daemon = berthd(OPEN)
    kept = keeper(before=(*IN_GROUPS, directory / "group"))
    client = connect_as(daemon, ANNA)
    assert client.request("release " + held(client, f"acquire s {WORDS}")) == "ok"

    def sees(uid, gid):
        client = connect_as(kept, uid, gid, (gid,))
        entry, = Past(client).entries
        kept.clients.remove(client)
        client.close()
        return "program" in entry

    def sees_while_it_is_down():
        daemon.stop()
        seen = sees(BERT, VIEWING)
        daemon.start()
        until(lambda: sees(BERT, VIEWING) == sees(60009, VIEWING))
        return seen

    hidden = OPEN + "show-commands = owner\n"
    for config, expected in ((hidden, False), (f"admin-users = {BERT}\n{hidden}", False),
                             (f"view-groups = {VIEWING}\n{hidden}", True), (hidden, False)):
        daemon.configure(config)
        assert daemon.client().request("reload") == "ok"
        until(lambda: sees(60008, VIEWING) == (expected is True))
        sees(BERT, VIEWING)
        assert sees_while_it_is_down() == expected, config
