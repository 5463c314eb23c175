"""A journal's file as doc/journal.md states it, to be read and changed by hand while berthd is
away."""

import struct

PAGE, CHUNK, SLOT = 4096, 65536, 256
HEADER = struct.Struct("<Q16sII40sII")
EXTENT = struct.Struct("<QII")
WORD = 1 << 64


def checksum(data):
    total = 0x9e3779b97f4a7c15 ^ len(data)
    for at in range(0, len(data), 8):
        total = (total ^ int.from_bytes(data[at:at + 8], "little")) * 0xd6e8feb86659fd93 % WORD
        total ^= total >> 32
    return (total ^ total >> 29) * 0xbf58476d1ce4e5b9 % WORD


def extents(content):
    """(offset, slot, size) of each place for a record."""
    n_chunks = HEADER.unpack_from(content)[3]
    for chunk in range(n_chunks):
        size = SLOT << content[HEADER.size + chunk]
        for at in range(0, CHUNK, size):
            offset = PAGE + chunk * CHUNK + at
            yield offset, (offset - PAGE) // SLOT + 1, size


def found(content):
    """(offset, slot, text) of each record."""
    for offset, slot, size in extents(content):
        total, mark, length = EXTENT.unpack_from(content, offset)
        if mark == slot and length > 0:
            end = offset + EXTENT.size + length
            assert length <= size - EXTENT.size and total == checksum(content[offset + 8:end])
            yield offset, slot, content[offset + EXTENT.size:end].decode()


def records(path):
    """Of leases and databases."""
    return [text for _, _, text in found(path.read_bytes()) if not text.startswith("numbers ")]


def put(content, offset, slot, text):
    body = struct.pack("<II", slot, len(text)) + text.encode()
    content[offset:offset + 8 + len(body)] = struct.pack("<Q", checksum(body)) + body


def rewrite(path, change):
    """Replaces each record of a lease or database by change(record)."""
    content = bytearray(path.read_bytes())
    for offset, slot, text in list(found(content)):
        if not text.startswith("numbers "):
            put(content, offset, slot, change(text))
    path.write_bytes(content)


def erase_numbers(path):
    """How far ids and tokens have come is known only from the leases, then."""
    content = bytearray(path.read_bytes())
    for offset, _, text in list(found(content)):
        if text.startswith("numbers "):
            EXTENT.pack_into(content, offset, 0, 0, 0)
    path.write_bytes(content)


def set_header(path, version=1, must_understand=0):
    content = bytearray(path.read_bytes())
    _, *fields = HEADER.unpack_from(content)
    fields[1], fields[-1] = version, must_understand
    HEADER.pack_into(content, 0, 0, *fields)
    struct.pack_into("<Q", content, 0, checksum(content[8:PAGE]))
    path.write_bytes(content)
