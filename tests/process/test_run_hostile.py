"""berth run against servers that are broken or malicious: a clean 69, in time, and no job."""

import contextlib
import time

from conftest import read_line
from lines import DEADLINE
from lost_help import scaled

NONSENSE = [
    b"\n", b" \n", b"hello\n", b"\xff\xfe\xfd\n", b"\0\n", b"OK 1 slot=r,1,0\n",
    b"HTTP/1.1 400 Bad Request\r\n", b"x" * 4096 + b"\n", b"x" * 1000000,
    b"ok\n", b"ok 1\n", b"ok L slot=r,1,0\n", b"ok 1 slot=r,1\n", b"ok 1 slot=\n", b"ok 1 slot=,,\n",
    b"ok 1 slot=x,1,0\n", b"ok 1 slot=r,-1,0\n", b"ok 1 slot=r,1,\n", b"ok 1 slot=r,1,a\n",
    b"ok 1 slot=r,1,1-0\n",
    b"ok 1 slot=r,1,0-99999999999\n", b"ok 1 slot=r,1,0-18446744073709551615\n",
    b"ok 1 slot=r,99999999999999999999,0\n", b"ok 1 slot=r,1,1000000\n",
    b"ok 1 item=r,1,a=b\n", b"ok 1 item=r,1,\n", b"ok 1 item=r,1," + b"x" * 65 + b"\n",
    b"ok 1 slot=r,1,0 slot=r,1,0\n", b"ok 1 slot=rr,1,0\n", b"ok 1 slot=r%00,1,0\n",
    b"ok 12345678901234567890 slot=r,1,0\n", b"ok 1  slot=r,1,0\x7f\n",
    b"waiting\n", b"waiting x=1 position=1\n", b"waiting L\n", b"granted 1 slot=r,1,0\n",
    b"ok 1 " + b"a " * 2000 + b"\n",
]


def test_nonsense(berth, fake, directory):
    for answer in NONSENSE:
        process = berth.start("run", "r", "--", "touch", "ran")
        peer, _ = fake.asked()
        with contextlib.suppress(BrokenPipeError):
            peer.send(answer)
        assert process.wait(DEADLINE) == 69, answer[:100]
        assert process.stderr.read() == b"berth: the server there does not speak Berth's protocol\n"
        assert not (directory / "ran").exists()


def test_nonsense_in_the_queue(berth, fake, directory):
    for answer in (b"* granted 1\n", b"* granted 1 slot=x,1,0\n", b"* granted 1 slot=r,1,x\n", b"\x80\n",
                   b"x" * 5000 + b"\n"):
        process = berth.start("run", "r", "--", "touch", "ran")
        fake.queue().send(answer)
        assert process.wait(DEADLINE) == 69, answer[:100]
        assert not (directory / "ran").exists()


def test_what_is_not_known_is_ignored(berth, fake):
    """A newer daemon may say more."""
    process = berth.start("run", "r", "--", "true")
    peer, _ = fake.asked()
    peer.send("* news\n* revoked 1\n*\n* granted 1 slot=r,9,9\n* lost\n* denied\n")
    peer.send("waiting 1 position=1 mood=good\n")
    peer.send("* granted 2 slot=r,1,0\n* denied 2 unknown\n* deadline 1 5\nsomething\n* lost 1\n")
    peer.send("* granted 1 slot=r,1,0 colour=red on_lost=sigh kill_after=x bound=books\n")
    peer.send("* deadline 2 5\n* deadline 1 x stop=5\n* deadline 1\nsomething\n")
    assert process.wait(DEADLINE) == 0
    assert process.stderr.read() == b""
    assert peer.line() == "release 1 exit=0"


def test_garbage_while_the_job_runs(berth, fake):
    process = berth.start("run", "r", "--", "sh", "-c", "echo ready; read line; exit 6", stdin=-1)
    peer = fake.grant()
    assert read_line(process.stdout) == "ready"
    peer.send(b"\xff\n" + b"x" * 20000 + b"\n\n* lost\n* granted 1\nok\n* lost 2 x\n")
    process.stdin.close()
    process.stdin = None
    assert process.wait(DEADLINE) == 6
    assert process.stderr.read() == b""


def test_an_answer_in_pieces(berth, fake):
    process = berth.start("run", "r", "--", "true")
    peer, _ = fake.asked()
    for byte in b"* x\nwaiting 1 position=1\n* granted 1 slot=r,1,0\n":
        peer.send(bytes([byte]))
    assert process.wait(DEADLINE) == 0


def test_chatter_without_an_answer(berth, fake):
    """Events alone do not keep it from giving up in time."""
    process = berth.start("run", "--down-after", "0.5s", "r", "--", "true")
    peer, _ = fake.asked()
    begun = time.monotonic()
    while process.poll() is None:
        with contextlib.suppress(OSError):
            peer.send("* chatter\n" * 100)
        assert time.monotonic() - begun < 5
    assert process.returncode == 69


def test_random_bytes(berth, fake, directory, chance):
    for i in range(scaled(20)):
        process = berth.start("run", "--down-after", "1s", "r", "--", "touch", "ran")
        peer, _ = fake.asked()
        alphabet = b"\n *oke1slt=r,0waing\xff\0%" if i % 2 else bytes(range(256))
        with contextlib.suppress(BrokenPipeError):
            peer.send(bytes(chance.choices(alphabet, k=20000)))
        peer.close()
        assert process.wait(DEADLINE) == 69
        assert not (directory / "ran").exists()
