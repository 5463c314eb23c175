"""A berthd configured --without-systemd says what it cannot do."""

import pytest

from conftest import BUILD
from daemon_help import is_quiet
from manager_help import Manager

pytestmark = pytest.mark.skipif(
    b"sd_listen_fds" in (BUILD / "berthd").read_bytes(), reason="configured with libsystemd")


@pytest.fixture
def service(directory, sanitizer_reports):
    manager = Manager(directory, "[lock a]\n")
    yield manager
    manager.end()


def test_a_socket_is_refused(service):
    service.listen()
    status, log, _ = service.fails()
    assert status == 78 and "built without libsystemd" in log


def test_nobody_hears_that_it_is_ready(service):
    client = service.serves()
    assert is_quiet(client)
    assert service.log.read_text().count("built without libsystemd") == 1
    assert service.hear(0) is None


def test_the_journal_has_lines(service):
    service.log.touch()
    status = service.log.stat()
    service.environ["JOURNAL_STREAM"] = f"{status.st_dev}:{status.st_ino}"
    assert service.serves().request("pause a") == "ok"
    assert "<6>pause a: asked by uid" in service.log.read_text()
