"""Values that readers stumble over: as texts, as words of JSON and YAML, and as bytes."""

from __future__ import annotations

from random import Random

TEXTS = (
    *(
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\x00",
        "\x1b[31mred",
        "\x7f",
        "\x85",
        "\u2028",
        "\u200b",
        "\u202e",
        "\u2066",
        "\u200f",
        "\ufeff",
        "\ufffe",
    ),
    *("\ud800", "\udcff", "\U0001f600", "é", "e\u0301", "٣", "½", "ß", "ﬁ", "Ⅷ", "İ"),
    *(".", "..", "/", "~", "../../x", "/etc/passwd", "/dev/stdin", "a/../../../x", "x\x00y", "con.txt", "-", "--help"),
    *(
        "nan",
        "NaN",
        "inf",
        "-inf",
        "Infinity",
        "1e999",
        "-1",
        "-0",
        "0",
        "1_000",
        "0x10",
        "1e-400",
        "1.5.5",
        "1,5",
        "+1",
    ),
    *("true", "null", "None", "yes", "[]", "{}", "{{x}}", "{0}", "%s%n%d", "${x}", "$(id)", "`id`", "'", '"', "\\"),
    *(
        "<b>",
        "<script>alert(1)</script>",
        "]]>",
        "&lt;",
        "&#0;",
        "#",
        "#x",
        "a,b",
        ";",
        "|",
        "a\nb",
        "a: b",
        "- a",
        "!x",
    ),
)
"""Short texts; what has surrogates in it cannot be encoded."""

NUMBERS = (
    *("0", "-0", "-1", "1", "2", "3", "64", "255", "256", "1.5", "1e5", "-1e5", "1e308", "-1e308", "1e-308", "1e999"),
    *("-1e999", "65535", "65536", "100000", "1000001", "2147483647", "2147483648", "4294967296", "9007199254740993"),
    *(
        "9223372036854775808",
        "18446744073709551616",
        "1e22",
        "0.1",
        "1e-9",
        "5e-324",
        "1.7976931348623157e308",
        "01",
        "+1",
        ".5",
        "1.",
        "1e",
    ),
)
"""Numbers as they stand in files, most of them legal."""

WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity", "[]", "{}", '""', "[[]]", "[null]", '{"": 0}')
"""Other values of JSON."""

DIGITS = (30, 310, 400, 4_300, 4_301, 5_000)
"""Lengths of whole numbers; Python refuses to read more than 4,300 digits, and floats end at 308."""

DEPTHS = (20, 100, 101, 330, 500, 980, 1_000, 1_200, 5_000)

BYTES = (
    *(
        b"\x00",
        b"\xff",
        b"\xfe\xff",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
    ),
    *(b"\r", b"\r\n", b"\n", b"\n\n", b"\t", b" ", b"\x1a", b"\x1b", b"\x08", b"\x85", b"\xe2\x80\xa8", b"\\"),
)

_LONG = (61, 100, 400, 1_000, 5_000, 100_000)


def text(random: Random) -> str:
    """Return a short or long text."""
    chosen = random.choice(TEXTS)
    if random.random() < 0.1:
        return (chosen or "a") * random.choice(_LONG)
    return chosen


def number(random: Random) -> str:
    """Return a number as it stands in a file, perhaps one of very many digits."""
    if random.random() < 0.15:
        sign = random.choice(("", "", "-"))
        digits = random.choice("19") * random.choice(DIGITS)
        return f"{sign}{digits}{random.choice(('', '', '.5', 'e5', 'e-5000'))}"
    return random.choice(NUMBERS)


def nested(random: Random) -> str:
    """Return a deep value of JSON, which may lack its end."""
    depth = random.choice(DEPTHS)
    opening, closing = random.choice((("[", "]"), ('{"a":', "}"), ("[[],", "]"), ('[{"x":', "}]")))
    inside = random.choice(("0", "null", '"x"'))
    return f"{opening * depth}{inside}{closing * (depth if random.random() < 0.8 else 0)}"


def value(random: Random) -> str:
    """Return any value as a word of JSON."""
    kind = random.random()
    if kind < 0.4:
        return number(random)
    if kind < 0.5:
        return nested(random)
    return random.choice(WORDS)
