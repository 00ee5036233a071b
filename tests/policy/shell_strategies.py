"""Commands of the shell, made up: plain ones, hidden ones, and plain nonsense."""

from __future__ import annotations

from hypothesis import strategies as st

ALLOWED = "zork"
FORBIDDEN = "zap"

PLAIN = st.sampled_from(
    ["zork", "zork a", "zork 'a b'", 'zork "a $HOME"', "zork $HOME", "zork *.txt", "zork -x=1"]
)
SPELLED = st.sampled_from(
    [
        "zap",
        "'zap'",
        '"zap"',
        "z\\ap",
        'z"a"p',
        "$'zap'",
        "$'\\x7aap'",
        "$'\\172ap'",
        "${X:-zap}",
        "$(echo zap)",
        "`echo zap`",
        "za{p,q}",
        "z?p",
        "\"z\"a'p'",
        "$0",
        "zork;zap",
        "eval zap",
        "eval 'za''p'",
        "command zap",
        "builtin eval zap",
        "exec zap",
        "env zap",
        "env -i zap",
        "timeout 5 zap",
        "timeout -k 1 5 zap",
        "nice -n 1 zap",
        "nohup zap",
        "stdbuf -oL zap",
        "bash -c zap",
        "bash -c 'zork; zap'",
        "sh -c zap",
        "bash <<< zap",
        "echo zap | bash",
        "echo x | xargs zap",
        "X=zap; $X",
        "X=zap; eval $X",
        "PATH=.:$PATH zap",
        "trap zap EXIT",
        "trap 'zap' EXIT; zork",
        "alias zork=zap; zork",
        "zork() { zap; }; zork",
        "function zork { zap; }; zork",
        "f() { zap; }; f",
        "printf -v 'a[$(zap)]' x",
        "test -v 'a[$(zap)]'",
        "[ -v 'a[$(zap)]' ]",
        "[[ -v a[$(zap)] ]]",
        "read 'a[$(zap)]' <<< x",
        "unset 'a[$(zap)]'",
        "let 'a[$(zap)]=1'",
        "declare 'a[$(zap)]=1'",
        "export X=$(zap)",
        "(( a[$(zap)] ))",
        "mapfile -C zap -c 1 x <<< y",
        "compgen -C zap",
        "coproc zap",
        "hash -p zap zork; zork",
        ". <(echo zap)",
        "source <(echo zap)",
        "[[ $(zap) ]]",
        "select x in $(zap); do break; done",
        "zork=zap; ${zork}",
    ]
)
"""Ways to run another program; some of them only seem to."""

HIDDEN_IN_ARGUMENT = st.sampled_from(
    [
        "zork $(zap)",
        "zork `zap`",
        'zork "$(zap)"',
        'zork "`zap`"',
        "zork ${X:-$(zap)}",
        'zork "${X:-$(zap)}"',
        "zork ${X:-`zap`}",
        "zork $((a[$(zap)]))",
        "x='a[$(zap)]'; zork $((x))",
        "x='a[$(zap)]'; zork ${!x}",
        "x='$(zap)'; zork ${x@P}",
        "zork ${a[$(zap)]}",
        "zork ${x:$(zap)}",
        "zork <(zap)",
        "zork >(zap)",
        "zork < <(zap)",
        "zork > >(zap)",
        "zork <<< $(zap)",
        "zork <<EOF\n$(zap)\nEOF",
        "zork <<EOF\n`zap`\nEOF",
        "zork <<'EOF'\n$(zap)\nEOF",
        "zork <<-EOF\n\t$(zap)\n\tEOF",
        "zork <<EOF\nx\nEOF\nzap",
        "zork <<EOF; zap\nx\nEOF",
        "zork <<EOF $(zap)\nx\nEOF",
        "zork $\\\n(zap)",
        'zork "$\\\n(zap)"',
        "zork `echo \\`zap\\``",
        "zork a\\\n;zap",
        "zork # x\nzap",
        "zork # x; zap",
        "zork a#b; zap",
        "zork '#'; zap",
        "zork \\# ; zap",
        "zork \\; zap",
        "zork '; zap'",
        'zork "; zap"',
        "zork \"';zap;'\"",
        "zork '\"';zap;'\"'",
        "zork $'\\'';zap;''",
        "zork $'a';zap",
        'zork $"a";zap',
        "zork \\\\;zap",
        "zork\tzap",
        "zork\nzap",
        "zork\rzap",
        "zork\r\nzap",
        "zork\x0bzap",
        "zork\u00a0zap",
        "zork\u2028zap",
        "zork & zap",
        "zork &zap",
        "zork&&zap",
        "zork||zap",
        "zork|zap",
        "zork |& zap",
        "zork &>/dev/null zap",
        "zork 2>&1 zap",
        "zork > out",
        "zork >> out",
        "zork >| out",
        "zork &> out",
        "zork >& out",
        "zork <> out",
        "> out zork",
        "zork 2> out",
        "{ zork; } > out",
        "(zork) > out",
        "if zork; then zap; fi",
        "for i in a; do zap; done",
        "for zap in zork; do $zap; done",
        "while zap; do break; done",
        "until zork; do zap; done",
        "case x in x) zap;; esac",
        "case $(zap) in x) zork;; esac",
        "for i in $(zap); do zork; done",
        "! zap",
        "time zap",
        "time -p zap",
        "(zap)",
        "{ zap; }",
        "FOO=$(zap) zork",
        "LANG=$(zap) zork",
        "LANG=C zork",
        "LANG=C zap",
        "PATH=x zork",
        "IFS=z; zork",
        "BASH_ENV=x zork",
        "a=(zap); zork",
        "a[$(zap)]=1 zork",
        "zork=1 zap",
    ]
)
JOINS = st.sampled_from([";", " ; ", " && ", "&&", " || ", " | ", "|", " |& ", " & ", "&", "\n"])
WRAPS = st.sampled_from(
    [
        "({})",
        "{{ {}; }}",
        "zork $({})",
        'zork "$({})"',
        "zork `{}`",
        "zork <({})",
        "if {}; then zork; fi",
        "if zork; then {}; else zork; fi",
        "for i in a b; do {}; done",
        "case a in a) {};; esac",
        "! {}",
        "time {}",
        "{} # comment",
        "# comment\n{}",
        "{} 2>&1",
        "{} > /dev/null",
        "{} \\\n  x",
        "LANG=C {}",
        "FOO=1 {}",
        "timeout 5 {}",
        "nohup {}",
        "nice {}",
        "command {}",
        "env {}",
        "xargs {}",
        "exec {}",
        "eval '{}'",
        'eval "{}"',
        "bash -c '{}'",
        "zork <<EOF\n$({})\nEOF",
        "zork <<'EOF'\n{}\nEOF",
        "zork '{}'",
        'zork "{}"',
        "zork ${{X:-{}}}",
        "zork $'{}'",
        "zork \\{}",
        "zork #{}",
        "{}\n",
        " {}",
        "{};",
        "{} &",
    ]
)

LEAVES = st.one_of(PLAIN, PLAIN, SPELLED, HIDDEN_IN_ARGUMENT)


def _grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(inner, JOINS, inner).map("".join)
    wrapped = st.tuples(WRAPS, inner).map(lambda pair: pair[0].format(pair[1]))
    return st.one_of(joined, wrapped)


GROWN = st.recursive(LEAVES, _grow, max_leaves=5)

TOKENS = st.sampled_from(
    [
        *("zork", "zork", "zork ", "zap", "zap", "a", "i", "EOF", "LANG=C ", "x=", "1", "#"),
        *(" ", " ", " ", "\n", ";", "&", "|", "&&", "||", "|&", "!", "=", "-", "~", "*", "?", ","),
        *("(", ")", "{", "}", "[", "]", "$", "$(", "${", "$((", "))", "`", "'", '"', "\\", "\\\n"),
        *("<", ">", "<<", "<<<", "<(", ">(", ">&", "&>", "2>&1", " <<EOF\n", "\nEOF\n", ":-", "@"),
        *("if ", "; then ", "; fi", "for i in ", "; do ", "; done", "case a in ", " in ", ";;"),
        *("esac", "time ", "{ ", "; }", "/dev/null", "$'", '$"', "\t", "\r", "eval ", "$i", "%"),
    ]
)
SOUP = st.lists(TOKENS, max_size=14).map("".join)
PREFIXED_SOUP = SOUP.map(lambda text: f"zork {text}")


@st.composite
def _mutated(draw: st.DrawFn) -> str:
    text = draw(GROWN)
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(text)))
        cut = draw(st.sampled_from([0, 0, 1]))
        text = text[:place] + draw(TOKENS) + text[place + cut :]
    return text


COMMANDS = st.one_of(GROWN, _mutated(), PREFIXED_SOUP, SOUP)
