"""The protocol's lines: values, what is asked for, what is granted."""

from __future__ import annotations

import functools
import os
import re
import sys
from dataclasses import dataclass
from typing import NamedTuple, Optional

MAX_LINE = 4096
_WANTED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._/@+-]*)(?::([0-9]{1,9}|all|shared))?")
_KEYS = ("priority", "reason", "program", "holder", "kill_after", "on_lost", "nested", "replace", "share")


def encode(value: object) -> str:
    raw = str(value).encode("utf-8", "surrogateescape")
    if b"\0" in raw:
        raise ValueError("a zero byte")
    return "".join(chr(byte) if 0x21 <= byte <= 0x7E and byte != 0x25 else f"%{byte:02X}" for byte in raw)


def decode(word: str) -> str:
    raw = re.sub(rb"%([0-9A-Fa-f]{2})", lambda found: bytes([int(found[1], 16)]), word.encode("latin-1"))
    return raw.decode("utf-8", "backslashreplace")


def keys_of(words: list[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


class Units(NamedTuple):
    """What a lease has of one resource: slots of a semaphore or lock, or items of a pool."""

    name: str
    token: int
    slots: tuple[int, ...]
    items: tuple[str, ...]
    text: str  # as berthd wrote them: `0-3,7`


def word_of(units: Units) -> str:
    return f"{'item' if units.items else 'slot'}={units.name},{units.token},{units.text}"


def units_of(word: str) -> Optional[Units]:
    """None: the word is about something else."""
    if not word.startswith(("slot=", "item=")):
        return None
    name, token, text = word[5:].split(",", 2)
    if word[0] == "i":
        return Units(name, int(token), (), tuple(text.split(",")), text)
    if text.isdigit():  # a shorter way for most
        return Units(name, int(token), (int(text),), (), text)
    slots: list[int] = []
    for span in text.split(","):
        first, _, last = span.partition("-")
        slots += range(int(first), int(last or first) + 1)
    return Units(name, int(token), tuple(slots), (), text)


def count_of(wanted: str, units: Units) -> str:
    return str(len(units.slots) + len(units.items)) if wanted.isdigit() else wanted


def parent_lease() -> str:
    """The lease that the process runs under, if it does."""
    lease = os.environ.get("BERTH_LEASE", "")
    return lease if re.fullmatch("[0-9a-z]{1,13}", lease) else ""


def own_name() -> str:
    name = os.path.basename(sys.argv[0] if getattr(sys, "argv", None) else "")
    return name.encode("utf-8", "surrogateescape")[:64].decode("utf-8", "ignore") or "python"


@dataclass(frozen=True)
class Request:
    """What is asked for. Immutable: each reclaim repeats it."""

    wanted: tuple[tuple[str, str], ...]
    texts: str  # keys that only people read
    keys: str
    strict: bool
    words: str  # the names and counts

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, wanted: tuple[str, ...], strict: bool, items: tuple[tuple[str, object], ...], parent: str) -> Request:
        options: dict[str, object] = {"program": own_name()}
        options.update(items)
        pairs = []
        for word in wanted:
            found = _WANTED.fullmatch(word)
            if not found:
                raise ValueError(f"not NAME, NAME:COUNT, NAME:all or NAME:shared: {word!r}")
            pairs.append((found[1], (found[2] or "1").lstrip("0") or "0"))
        if not pairs:
            raise ValueError("no resource is named")
        if unknown := options.keys() - set(_KEYS):
            raise TypeError(f"unknown: {', '.join(sorted(unknown))}")
        said = {key: f" {key}={encode(options[key])}" for key in _KEYS if options.get(key) is not None}
        texts = said.pop("reason", "") + said.pop("program", "")
        keys = "".join(said.values()) + (f" parent={parent}" if parent else "")
        words = "".join(f" {name}:{count}" for name, count in pairs)
        return cls(tuple(pairs), texts, keys, strict, words)

    def words_with(self, units: tuple[Units, ...]) -> str:
        """There may be more units than wanted: what else is wanted takes them as well (`also`)."""
        wanted = zip(self.wanted, units)
        return "".join(f" {name}:{count_of(count, one)}:{one.text}" for (name, count), one in wanted) or self.words
