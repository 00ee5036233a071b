"""Command lines taken apart: what is found in them, and what counts as uncertain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.policy.shell.parser import parse
from claudewire.policy.shell.script import Script, Word, fragments

from .bash_cases import rows


def programs(script: Script) -> list[str]:
    return [command.words[0].text for command in script.commands if command.words]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a", "a"),
        ("a; b && c || d | e |& f & g\nh", "a b c d e f g h"),
        ("a $(b $(c)) `d`", "c b d a"),
        ("a \"$(b '$(x)')\"", "b a"),
        ("(a; b) | { c; }", "a b c"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("for i in $(a) b; do c; done", "a c"),
        ("for i\ndo c; done", "c"),
        ("for i; do c; done", "c"),
        ("case $(a) in (x|y) b ;; z) c\n;; *) d; esac", "a b c d"),
        ("case a in\nesac", ""),
        ("a <(b) >(c)", "b c a"),
        ("a <<EOF && b\n$(c) `d` \\$(x)\nEOF\ne", "a b c d e"),
        ("a <<X <<'Y'\n$(b)\nX\n$(x)\nY\nc", "a b c"),
        ("a <<-X\n\t$(b)\n\tX\nc", "a b c"),
        ("a ${x:-$(b)} ${y#$(c)} ${z/a/$(d)} ${#w} ${v[0]} ${u[@]} ${t:1:2}", "b c d a"),
        ("a $((1+(2*3)))", "a"),
        ("a $? $! $$ $# $@ $* $0 $- ${?} ${@}", "a"),
        ('a "b\\"c" "d\\$(x)" "e \\\nf" "\\n"', "a"),
        ("a $'x\\'y' $\"z\"", "a"),
        ("a {} [ ] a#b x=y", "a"),
        ("a 2>&1 >&2 <&- 3<&0 &>/dev/null &>>/dev/null", "a"),
        ("", ""),
    ],
)
def test_commands_are_found_with_certainty(text: str, found: str) -> None:
    script = parse(text)
    assert script.doubts == ()
    assert script.certain
    assert programs(script) == found.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('a "`\\"b c\\" d`"', ["b c", "d"]),  # inside of quotes a backslash hides a quote
        ('a `\\"b c\\" d`', ['"b', 'c"', "d"]),  # and elsewhere it does not
        ("a `b \\$c`", ["b", "$c"]),
        ("a `b \\`c\\``", ["b", "`c`"]),
    ],
)
def test_backslashes_inside_backticks_are_doubted(text: str, words: list[str]) -> None:
    script = parse(text)
    assert [word.text for word in script.commands[-2].words] == words
    assert any("inside backticks" in doubt for doubt in script.doubts)


DOUBTS = r"""
    quote that is not closed ⇒ a $'b
    expansion in braces ⇒ a ${b ‖ a ${b:-c ‖ a ${b:-<(c)} ‖ a "${b:-'c'}" ‖ a ${1x} ‖ a ${%}
    breaks a line ⇒ a ${b:-\ ‖ a "(\⏎"
    arithmetic ⇒ a $((1 ‖ a $((1+(2))
    a meaning of its own ⇒ for ((;;)); do a; done
    dollar sign ⇒ a $\⏎b
    inside a word ⇒ a b<(c) ‖ a <(b)c
    bracket inside ⇒ a (b)
    empty group ⇒ ()
    empty block ⇒ { } ‖ if a; then fi
    lacks a command ⇒ if ; then a; fi ‖ case a in b) c ;& d) e;; esac ‖ ; a
    lacks 'fi' ⇒ if a; then b
    'done' ⇒ while a; b; done
    loop without its beginning ⇒ for i in a b ‖ for i in a | b; do c; done
    lacks a word ⇒ for i in a # x⏎do b; done ‖ case ‖ a >
    lacks 'do' ⇒ for i in a; b; done
    lacks 'in' ⇒ case a b
    `case` without its pattern ⇒ case a in b c;; esac
    falls through ⇒ case a in b) c;;& esac
    `case` without its end ⇒ case a in b) c;;
    'then' where a command ⇒ then a
    ';' where a command ⇒ a ;;
    `time` with something else ⇒ time ‖ time -f a
    after a group ⇒ (a) b
    defines a function ⇒ function f() { a; }
    a test that is not plain ⇒ [[ a < b ]]
    redirects with '<&' ⇒ a <& $x
    does not begin ⇒ a <<EOF
    beginning is not clear ⇒ a <<EOF $(b⏎)⏎x⏎EOF ‖ a <<EOF "b⏎c"⏎x⏎EOF ‖ a <<EOF "b c \⏎"⏎x⏎EOF
    without its end ⇒ a $(b <<EOF)⏎EOF
    inside a command ⇒ a $(b <<'EOF'⏎)⏎EOF⏎)
    inside backticks ⇒ a "`b "c"`"
    breaks a line in a here-document ⇒ a <<EOF⏎EO\⏎F⏎b⏎EOF
"""


@pytest.mark.parametrize(
    ("doubt", "text"),
    [
        *(row[1:] for row in rows("ask", DOUBTS)),
        ("breaks a line in a here-document", "a <<EOF\n\\\nEOF\n"),
        ("too deep", "a ${b:-" * 40 + "}" * 40),
        ("too deep", "( " * 40 + "a" + " )" * 40),
        ("too deep", "if " * 40),
        ("U+007F", "a\x7f"),
    ],
)
def test_uncertain_script_is_doubted(doubt: str, text: str) -> None:
    assert any(doubt in found for found in parse(text).doubts)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[[ -v a ]] && b", "[[ b"),
        ("[[ a == b || -v c ]]; d", "[[ [[ d"),
        ("a+=b c; d", "c d"),
        ("a > $x; b", "a b"),
        ('a "`b "c"`"; d', "b a d"),
        ("a $(b # )\n); c", "b a c"),
    ],
)
def test_commands_around_a_doubt_are_found(text: str, found: str) -> None:
    script = parse(text)
    assert not script.certain
    assert programs(script) == found.split()


def test_commands_before_a_doubt_are_kept() -> None:
    assert programs(parse("a; b | c; 'd")) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("raw", "word"),
    [
        ("a", Word("a", "a")),
        ("'a b'", Word("'a b'", "a b")),
        ('"a\\"b"', Word('"a\\"b"', 'a"b')),
        ('"a\\b"', Word('"a\\b"', "a\\b")),
        ("a\\ b", Word("a\\ b", "a b")),
        ("~/a", Word("~/a", "~/a", tilde=True)),
        ("'~'/a", Word("'~'/a", "~/a")),
        ("~root", Word("~root", "~root", static=False, tilde=True)),
        ("a*", Word("a*", "a*", static=False, head="a")),
        ("a$b", Word("a$b", "a$b", static=False, head="a")),
        ("$", Word("$", "$", static=False)),
        ("=a", Word("=a", "=a", static=False)),
        ("{}", Word("{}", "{}")),
        ("{a,b}", Word("{a,b}", "{a,b}", static=False)),
        ("$'\\x41\\102\\u0043\\n\\q'", Word("$'\\x41\\102\\u0043\\n\\q'", "ABC\nq", static=False)),
        ("$'\\UFFFFFFFF'", Word("$'\\UFFFFFFFF'", "", static=False)),
    ],
)
def test_word_is_known_as_far_as_it_is_certain(raw: str, word: Word) -> None:
    (command,) = parse(f"x {raw}").commands
    assert command.words[1] == word


def test_words_compare_by_their_meaning() -> None:
    assert Word("'a'", "a").same_as(Word("a", "a"))
    assert not Word("~", "~", tilde=True).same_as(Word("'~'", "~"))
    assert not Word("$a", "$a", static=False).same_as(Word("$a", "$a", static=False))


def test_variables_and_redirections_are_parsed() -> None:
    (command,) = parse("A=1 B='c d' x > y < z 2>&1 <<< w").commands
    assert [(one.name, one.value.text) for one in command.assignments] == [("A", "1"), ("B", "c d")]
    assert [(one.kind, one.target.text) for one in command.redirects] == [
        ("out", "y"),
        ("in", "z"),
        ("dup", "1"),
        ("here", "w"),
    ]
    assert command.source == "A=1 B='c d' x > y < z 2>&1 <<< w"


def test_here_documents_are_kept() -> None:
    assert parse("a <<X; b <<'Y'\n1\nX\n2\n3\nY").heredocs == ("1", "2\n3")


def test_fragments_guess_every_command() -> None:
    text = "if a 'b'; then FOO=1 c \\d | (e `f $(g)`"
    assert fragments(text) == [("a", "b"), ("c", "d"), ("e",), ("f",), ("g",)]


@given(st.text(max_size=60))
def test_any_text_is_parsed(text: str) -> None:
    script = parse(text)
    assert isinstance(script, Script)
    assert fragments(text) is not None


def test_quotes_in_a_comment_are_followed_to_a_depth() -> None:
    for levels, certain in ((15, True), (16, False)):  # two are opened each time
        comment = '"$(' * levels + ')"' * levels
        assert parse(f"echo $(ls # {comment}\n)").certain is certain
        comment = comment[3:-2]  # and two by what surrounds it
        assert parse(f'echo $(pwd "$(ls # {comment}\n)")').certain is certain


def test_case_may_have_several_lines() -> None:
    script = parse("case a in\na) ls;;\n\n# another\n(b | c)\n pwd\n ;;\nesac")
    assert script.certain
    assert [[word.text for word in it.words] for it in script.commands] == [["ls"], ["pwd"]]
