"""Markdown that comes in pieces, as lines for a terminal."""

from __future__ import annotations

import pytest

from claudewire.cli.markdown import MarkdownStream, render_markdown
from claudewire.cli.styles import Paint

PLAIN = Paint(attributes=False, unicode=False)
COLOURED = Paint()


def plain(text: str, width: int = 40) -> list[str]:
    stream = MarkdownStream(width, PLAIN)
    return [*stream.feed(text), *stream.end()]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\n\n---\nb", ["a", "", "-" * 40, "b"]),
        ("`code` and [label](url) and [url](url)", ["code and label (url) and url"]),
        (r"\*no\* emphasis", ["*no* emphasis"]),
        ("__strong__ _em_ ~~gone~~", ["strong em gone"]),
    ],
)
def test_what_each_form_becomes(text: str, lines: list[str]) -> None:
    assert plain(text) == lines


def test_a_task_that_is_done_has_another_mark_than_an_open_one() -> None:
    opened, done = plain("- [ ] one\n- [x] two")
    assert opened == f"{PLAIN.mark('open')} one"
    assert done == f"{PLAIN.mark('checked')} two"
    assert opened.split()[0] != done.split()[0]


def test_a_quote_has_a_bar_on_each_of_its_lines() -> None:
    lines = plain("> " + "word " * 20, 20)
    assert len(lines) > 2
    assert all(line.startswith(f"{PLAIN.mark('bar')} word") for line in lines)


def test_a_word_that_is_longer_than_the_line_is_folded_and_nothing_is_lost() -> None:
    lines = plain("x" * 50 + "**" + "y" * 50 + "**", 20)
    assert "".join(lines).count("x") == 50
    assert "".join(lines).count("y") == 50
    assert all(len(line) <= 20 for line in lines)


@pytest.mark.parametrize("size", [12, 13, 20, 21, 40, 41])
def test_a_word_that_is_folded_gets_no_blank(size: int) -> None:
    word = "".join(chr(ord("a") + number % 26) for number in range(size))
    assert "".join(plain(word, 20)) == word
    assert "".join(plain(f"**{word}**", 20)) == word
    assert plain(f"| {word} | b |", 50) == [f"{word}  b"]


def test_code_in_a_language_that_nobody_knows_stays_as_it_is() -> None:
    assert plain("```nosuchlanguage\nif x:\n```\n") == [f"{PLAIN.mark('bar')} if x:"]


@pytest.mark.unmeasured
def test_code_is_highlighted_unless_it_is_too_wide_or_too_long() -> None:
    bar = COLOURED("dim", COLOURED.mark("bar")) + " "
    known = COLOURED("keyword", "return")
    lines = render_markdown("```python\nreturn 1\n" + "return 2" * 20 + "\n```", 40, COLOURED)
    assert lines[0].startswith(bar + known)
    assert not any(known in line for line in lines[1:])
    many = render_markdown("```python\n" + "return 1\n" * 320 + "```", 40, COLOURED)
    assert known in many[0]
    assert many[-1] == bar + "return 1"


def test_every_kind_of_code_that_stands_out_has_its_style() -> None:
    python = "```python\nclass A: # why\n  def f(): return '' + 1\n```\n"
    diff = "```diff\n@@ -1 +1 @@\n-old\n+new\n```"
    bar = "\x1b[2m│\x1b[0m "
    assert render_markdown(python + diff, 40, COLOURED) == [
        f"{bar}\x1b[35mclass\x1b[0m \x1b[1mA\x1b[0m: \x1b[2m# why\x1b[0m",
        f"{bar}  \x1b[35mdef\x1b[0m \x1b[1mf\x1b[0m(): \x1b[35mreturn\x1b[0m "
        "\x1b[32m'\x1b[0m\x1b[32m'\x1b[0m + \x1b[36m1\x1b[0m",
        f"{bar}\x1b[36m@@ -1 +1 @@\x1b[0m",
        f"{bar}\x1b[31m-old\x1b[0m",
        f"{bar}\x1b[32m+new\x1b[0m",
    ]


def test_every_form_that_stands_out_has_its_style() -> None:
    text = "# Title\n\n**strong** _em_ ~~gone~~ `code` [label](url)"
    assert render_markdown(text, 60, COLOURED) == [
        "\x1b[1;36mTitle\x1b[0m",
        "",
        "\x1b[1mstrong\x1b[0m \x1b[3mem\x1b[0m \x1b[9mgone\x1b[0m \x1b[36mcode\x1b[0m "
        "\x1b[4mlabel\x1b[0m \x1b[2m(url)\x1b[0m",
    ]


@pytest.mark.parametrize(("end", "after"), [("", []), ("\n", []), ("\n\nb", ["", "b"])])
def test_a_table_is_shown_also_at_the_end(end: str, after: list[str]) -> None:
    lines = plain("a\n\n| x | y |\n| - | - |\n| 1 | 2 |" + end)
    assert lines == ["a", "", "x  y", "-  -", "1  2", *after]


def test_what_is_still_growing_is_shown_as_it_looks_now() -> None:
    stream = MarkdownStream(40, PLAIN)
    assert stream.feed("| a | b |\n| - | - |\n") == []
    assert stream.growing == ["| a | b |", "| - | - |"]
    assert stream.feed("| 1") == []
    assert stream.growing == ["| a | b |", "| - | - |", "| 1"]
    assert stream.feed(" | 2 |\nafter it") == []
    assert stream.growing == ["| a | b |", "| - | - |", "| 1 | 2 |", "after it"]
    assert stream.end() == ["a  b", "-  -", "1  2", "after it"]
    assert stream.growing == []


def test_lines_are_given_out_before_the_paragraph_has_ended() -> None:
    stream = MarkdownStream(20, PLAIN)
    given = stream.feed("one two three four five six seven")
    assert given
    given += stream.feed(" eight\nnext")
    assert " ".join(given) == "one two three four five six seven eight"
    assert stream.end() == ["next"]


EVERYTHING = """\
# A title that is a bit longer

One **strong** `word`, then [a link](http://example.com/long) and _more_ of it.

- an item that is longer than a line
- [x] done
1. first **of all** and beyond the line
> quoted words that go on and on and on

```python
def answer(question): return "forty two" if question else None
```
~~~
plain code that is wider than the terminal is
~~~

| name | what |
| - | - |
| a | the first |

---
The end."""


@pytest.mark.parametrize("size", [1, 2, 3, 7, 25])
def test_in_whatever_pieces_it_comes_the_lines_are_the_same(size: int) -> None:
    stream = MarkdownStream(24, COLOURED)
    lines: list[str] = []
    for start in range(0, len(EVERYTHING), size):
        lines += stream.feed(EVERYTHING[start : start + size])
    assert [*lines, *stream.end()] == render_markdown(EVERYTHING, 24, COLOURED)


def test_a_line_of_code_is_shown_raw_until_it_is_complete() -> None:
    stream = MarkdownStream(24, PLAIN)
    assert stream.feed("```py") == []
    assert stream.growing == ["```py"]
    assert stream.feed("thon\n* one, two, three, four, five, six") == []
    assert stream.growing == ["* one, two, three, four, five, six"]
    bar = PLAIN.mark("bar")
    assert stream.feed("\n") == [f"{bar} * one, two, three, fou", f"{bar} r, five, six"]
    assert stream.growing == []
