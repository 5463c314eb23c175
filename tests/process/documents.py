"""Blocks of a document that readers paste, by mark and name.

A block is <!-- MARK: NAME -->, and the fenced text below it. Marks are recipe (a shell's lines, a
crontab, a makefile), conf (a file of conf.d), main (a whole berth.conf) and unit (a file of
systemd)."""

import pathlib
import re

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def blocks(document, mark):
    """{name: text} of the blocks in a file of the source."""
    found = re.findall(rf"^<!-- {mark}: (\S+) -->\n```\w+\n(.*?)^```$",
                       (SOURCE / document).read_text(), re.M | re.S)
    assert len(found) == len(dict(found)), f"{document}: two of one name"
    return dict(found)
