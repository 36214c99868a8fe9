"""Changes a file without a thought for its format: bytes, lines and words of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tests.fuzz import hostile

_TOKEN = re.compile(rb"[\w.+-]+|[ \t]+|[^\w \t]")
_MOST = 1_000_000


def mutated(random: Random, content: bytes, others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    """Return the content after one to six changes.

    Args:
        random: decides on everything.
        content: the file to change.
        others: files of which parts may be put in.
        words: what means something in the format.
    """
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 6))):
        change = random.choice(_CHANGES)
        content = change(random, content, others, words)[:_MOST]
    return content


def pumped(random: Random, content: bytes, words: Sequence[bytes], size: int) -> bytes:
    """Return a file of about so many bytes, made by repeating something in a valid file or instead of one."""
    kind = random.random()
    if kind < 0.35:  # a word, or what lies between two words, of a valid file
        tokens = _TOKEN.findall(content) or [b"x"]
        place = random.randrange(len(tokens))
        unit = b"".join(tokens[place : place + random.choice((1, 1, 2, 3))])
        return b"".join((*tokens[:place], unit * (size // len(unit) + 1), *tokens[place:]))
    if kind < 0.5:  # a line
        lines = content.splitlines(keepends=True) or [b"\n"]
        place = random.randrange(len(lines))
        return b"".join((*lines[:place], lines[place] * (size // len(lines[place]) + 1), *lines[place:]))
    if kind < 0.6:  # something else after the first bytes of a valid file
        unit = random.choice((*words, *_UNITS))
        return content[: random.randrange(len(content) + 1)] + unit * (size // len(unit) + 1)
    unit = random.choice((*words, *_UNITS))
    return unit * (size // len(unit) + 1)


_UNITS = (
    *(
        b"[",
        b"{",
        b"(",
        b"<a>",
        b'{"a":',
        b"- ",
        b"a: ",
        b"? ",
        b"&a ",
        b"*a ",
        b"\n",
        b" ",
        b"\t",
        b"#",
        b"\\",
        b'"',
        b"'",
    ),
    *(b"a", b"1", b"0 ", b"a,", b"1,1\n", b",", b"\x00", b"\xff", b"a ", b"a.", b"-", b"_ ", b"\xc3\xa9", b"&#38;"),
    *(b"[\n", b"\r", b"|\n ", b"!!a ", b"[]", b"{}", b"&amp;", b"<a/>", b"<!---->", b'"\\u0000"', b"%", b"--- \n"),
)


def _flip(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    if not content:
        return b"\x01"
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 2, 8))):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _put_bytes(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    place = random.choice((0, len(content), random.randrange(len(content) + 1)))
    added = random.choice(hostile.BYTES) if random.random() < 0.8 else random.randbytes(random.randrange(1, 20))
    return content[:place] + added + content[place:]


def _put_word(random: Random, content: bytes, _others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    place = random.randrange(len(content) + 1)
    return content[:place] + (random.choice(words) if words else b"x") + content[place:]


def _cut_out(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    start = random.randrange(len(content) + 1)
    return content[:start] + content[start + random.choice((1, 2, 8, 64)) :]


def _truncate(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def _repeat(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    start = random.randrange(len(content) + 1)
    part = content[start : start + random.choice((1, 4, 16, 64, 1024))]
    return content[:start] + part * random.choice((1, 2, 5, 40)) + content[start:]


def _splice(random: Random, content: bytes, others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else content
    return content[: random.randrange(len(content) + 1)] + other[random.randrange(len(other) + 1) :]


def _change_word(random: Random, content: bytes, _others: Sequence[bytes], words: Sequence[bytes]) -> bytes:
    tokens = _TOKEN.findall(content)
    if not tokens:
        return _word(random, words)
    place = random.randrange(len(tokens))
    kind = random.random()
    if kind < 0.6:
        tokens[place] = _word(random, words)
    elif kind < 0.75:
        tokens[place] = random.choice(tokens)
    elif kind < 0.85:
        del tokens[place]
    else:
        other = random.randrange(len(tokens))
        tokens[place], tokens[other] = tokens[other], tokens[place]
    return b"".join(tokens)


def _change_line(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    lines = content.splitlines(keepends=True)
    if not lines:
        return b"\n"
    place, other = random.randrange(len(lines)), random.randrange(len(lines))
    kind = random.randrange(5)
    if kind == 0:
        del lines[place]
    elif kind == 1:
        lines.insert(other, lines[place])
    elif kind == 2:
        lines[place], lines[other] = lines[other], lines[place]
    elif kind == 3:
        lines[place] *= random.choice((2, 10, 200))
    else:
        lines[place] = lines[place].rstrip(b"\r\n")
    return b"".join(lines)


def _encode(random: Random, content: bytes, _others: Sequence[bytes], _words: Sequence[bytes]) -> bytes:
    encoding = random.choice(("utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1"))
    return content.decode(errors="replace").encode(encoding, errors="replace")


def _word(random: Random, words: Sequence[bytes]) -> bytes:
    kind = random.random()
    if kind < 0.3 and words:
        return random.choice(words)
    if kind < 0.6:
        return hostile.text(random).encode(errors="surrogatepass")
    return hostile.number(random).encode()


_Change = Callable[[Random, bytes, Sequence[bytes], Sequence[bytes]], bytes]

_CHANGES: tuple[_Change, ...] = (
    *(_change_word,) * 8,
    *(_change_line,) * 3,
    *(_put_bytes,) * 3,
    *(_put_word,) * 3,
    *(_flip,) * 2,
    *(_cut_out,) * 2,
    *(_repeat,) * 2,
    *(_splice,) * 2,
    _truncate,
    _encode,
)
