"""Find the place in the code that a line of scripts/mutations.txt means.

Places are found by C's tokens, so that neither formatting nor comments count, and by three rules, of which the first
that finds a place decides: the very tokens, once in the file; the tokens up to a one-to-one renaming of identifiers,
once in the file; the very tokens, once in all of src/ (the code has moved).
"""
import collections
import functools
import re

KEYWORDS = frozenset("""auto bool break case char const continue default do double else enum extern false float for goto
    if inline int long NULL register restrict return short signed sizeof static struct switch true typedef union unsigned
    void volatile while""".split())
TOKEN = re.compile(r"""
    (?P<skipped> \s+ | \\\n | //[^\n]* | /\*.*?\*/ )
  | (?P<literal> (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | [uUL]?'(?:\\.|[^'\\\n])*' | \.?\d(?:[eEpP][+-]|[\w.])* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<sign> <<= | >>= | \.\.\. | -> | \+\+ | -- | << | >> | && | \|\| | \#\# | [-+*/%&|^<>=!]= | . )
    """, re.VERBOSE | re.DOTALL)

Token = collections.namedtuple("Token", "text begin end is_name")
Place = collections.namedtuple("Place", "file begin end replacement how")


@functools.lru_cache(maxsize=None)
def tokens(text):
    found = [m for m in TOKEN.finditer(text) if m.lastgroup != "skipped"]
    return [Token(m.group(), m.start(), m.end(), m.lastgroup == "word" and m.group() not in KEYWORDS) for m in found]


def renaming(wanted, there):
    """{name in `wanted`: name in `there`} where the two differ in names alone, and one to one; otherwise None."""
    names, back = {}, {}
    for w, t in zip(wanted, there):
        if w.is_name and t.is_name:
            if names.setdefault(w.text, t.text) != t.text or back.setdefault(t.text, w.text) != w.text:
                return None
        elif w.text != t.text:
            return None
    return names


def matches(text, source, may_rename):
    """Of each place in `source`: its first and last token, and how names changed."""
    wanted, all_tokens = tokens(text), tokens(source)
    for i in range(len(all_tokens) - len(wanted) + 1 if wanted else 0):
        there = all_tokens[i:i + len(wanted)]
        names = renaming(wanted, there)
        if names is not None and (may_rename or all(old == new for old, new in names.items())):
            yield there[0], there[-1], names


def renamed(text, names):
    """`text` with other names; all else, its white space too, stays."""
    for token in reversed(tokens(text)):
        if token.is_name and token.text in names:
            text = text[:token.begin] + names[token.text] + text[token.end:]
    return text


def find_place(file, text, replacement, sources):
    """The Place in `sources`, {file: its content}, or a sentence that says why there is none."""
    def places(files, may_rename, how):
        return [Place(name, first.begin, last.end, renamed(replacement, names), how)
                for name in files for first, last, names in matches(text, sources[name], may_rename)]

    in_file = [file] if file in sources else []
    exact = places(in_file, False, "")
    if len(exact) == 1:
        return exact[0]
    similar = places(in_file, True, "renamed")
    if len(similar) == 1:
        return similar[0]
    if exact or similar:
        return f"found {len(exact)} places in {file}, {len(similar)} up to names; expected one"
    moved = places(sources, False, "moved")
    return moved[0] if len(moved) == 1 else f"found none in {file} and {len(moved)} elsewhere in src/; expected one"


def with_fault(place, content):
    return content[:place.begin] + place.replacement + content[place.end:]
