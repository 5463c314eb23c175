"""What strangers may write, and what may be printed of that."""

import re
import urllib.parse

MARK = "Qq"  # in each of them, so that a test sees that it was shown at all

# Few, as each costs a program: what is no UTF-8 is apart, as it may be escaped as a whole.
NASTY = {
    "controls": b"\x1b]0;x\x07" b"\x1b[31m\x1b[2J" b"\rroot\r\n" b"\t\b\b\v\f" b"\x7f\x7f",
    "newline": b"\nberth: granted\n<0>kernel" + "\u009b31m\u0085\u009d" "\u2028\u2029".encode(),
    "unseen": ("\u202egpj\u202c\u2066\u2069\u200f\u061c"
               "\u200b\u00ad\ufeff\u2060\u3164\ufe0f\U000e0041").encode(),
    "no UTF-8": b"\x9b31m\x9d0;x\x9c" b"\xff\xfe\xc0\xaf\xe2\x82"
                b"\xed\xa0\x80\xed\xbf\xbf" b"\xf4\x90\x80\x80\xf8\x88\x80\x80\x80",
    "formats": b"%s%n%1000000d%%%x" b"%1b[2J%0a%C2%9B" rb"\x1b\033\u001b\\",
    "shell": b"'\"`\\'\\\"" b"$(touch pwned);`touch pwned`;${IFS}|&touch pwned&",
    "keys": b" pid=1 uid=0 reason=x",
}


def texts(max_bytes):
    """{name: bytes with the mark}; the last has the greatest length, and escaping makes it longer."""
    made = {name: MARK.encode() + nasty + b"z" for name, nasty in NASTY.items()}
    made = {name: text for name, text in made.items() if len(text) <= max_bytes}
    made["longest"] = MARK.encode() + b"\x1b" * (max_bytes - len(MARK))
    return made


# For one of many programs, or of many places that print alike: all of it at once.
TOGETHER = MARK.encode() + b"".join(NASTY.values()) + b"z"


def encoded(text):
    """As the protocol encodes it."""
    return urllib.parse.quote_from_bytes(text, safe="")


UNSEEN = re.compile("[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
                    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff]")


def require_harmless(output, unicode=False, lines=None):
    """Only lines of visible characters; only ASCII, unless `unicode`."""
    text = output.decode("utf-8") if isinstance(output, bytes) else output
    assert text == "" or text.endswith("\n"), text[-100:]
    for line in text.split("\n"):
        assert line.isprintable(), repr(line)
        assert line.isascii() if not unicode else not UNSEEN.search(line), repr(line)
    assert lines is None or len(text.splitlines()) == lines, text
    return text
