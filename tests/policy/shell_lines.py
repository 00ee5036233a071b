"""Command lines that show every step of the analysis: a form of the shell's language in each.

`⏎` stands for the end of a line inside a command, and `‖` is between two of them.
"""

from __future__ import annotations

from .evasions import lines


def commands(table: str) -> list[str]:
    """Take a table apart that has several commands in a line."""
    return [command.strip(" ") for line in lines(table) for command in line.split("‖")]


WORDS = lines(r"""
    a 'b c' "d e" f\ g h''i "" ''
    a ~ ~/x ~root '~'/x "~" ~/'x y' x~
    a $x "$x" pre$x "pre$x"post ${x} "${x}" $1 $? $# $@ "$@" $* "$*" $$ $! $- $0 $
    a ${x:-b} ${x-b} ${x:+b} ${x:?b} ${x#b} ${x##b} ${x%b} ${x%%b} ${x/b/c} ${x//b/c} ${x^} ${x^^}
    a ${x,} ${x,,} ${x:1} ${x:1:2} ${#x} ${#x[@]} ${x[0]} ${x[@]} "${x[@]}" "${x[*]}" "${@}" "${#}"
    a ${x:-$(b)} ${x:-"$y"} ${x:-'c d'} ${x:-\}} "${x:-b c}"
    a "${x:-\"}" ; b
    a ${x:-b⏎c}
    a ${x:-b\⏎c}
    a ${!x}
    a ${x@Q}
    a ${1} ${10} ${x:-}
    a $'\a\b\e\f\n\r\t\\\'\x41\x4\101\7\u0041\U00000041\q\400'
    a $'\U00110000b' $'\U0010ffff'
    a $'b'c "$'b'" $"b $x" "a$"
    a $"b" c ; d
    a $"b $(c)"; d
    a * ? [ab] a* "a*" 'a?' a\* {a,b} {a} a{b,c}d {1..3} !x a!b
    a \⏎ b
    a b\⏎c
    a "b\⏎c" "b \⏎c" "b.\⏎c" "b(\⏎c"
    a "\$x \` \" \\ \a \⏎"
    a $x[1] ; b
    a "$x[1]" ; b
    a ${x}[1] ; b
    a $(b)[1] ; b
    a `b` "`c`" `d \`e\`` "`f "g"`"
    a `b 'c'` "`b 'c'`"
    a $(b) "$(c "$(d)")" x$(e)y
    a $((1 + 2)) $((x)) ; b
    a $((1 + (2 * 3))) ; b
    a $((1 + (2)) ; b
    a $ (b)
    a x=y =x == = -x --x=y
    a <(b) >(c) ; d
    a x<(b) ; d
    a <(b)x ; d
    a } b
    a {} [ ] [[ ]]
    a #b
    a b#c # d
    a;#b
    a $\⏎b
    X 'X' "X" \X $'X' ${X} ${X:-X} $X "$X" "$X X" a"X"b {X} *X X* ~X ~/X =X X= "\X" `X`
    'a' "b"; \c; ./d; /e/f; $g; "$h"; ~/i; =j
    """)

STRUCTURE = lines(r"""
    a; b && c || d | e |& f & g⏎h
    a;
    a &
    a ;; b
    a && ⏎ b
    a | # x⏎ b
    a && && b
    a | ; b
    ; a
    & a
    a & & b
    a|b|&c&&d||e;f&g
    X X; X && X || X | X & X⏎X
    time X; time -p X; ! X; ( X ); { X; }; X $(X) "$(X)" `X` <(X); (X)|X
    if X; then X; elif X; then X; else X; fi; while X; do X; done; until X; do X; done
    for x in X X; do X; done; case X in X) X;; X|X) X;; esac
    [[ X ]] && [[ X == X ]]; [ X ]; test X
    a&#b
    a|#b⏎c
    a⏎#b⏎c
    #a⏎b
    (#b⏎a)
    (a)#b
    a	#b
    ! a | b
    ! ! a
    { }; a
    { ; }; a
    { # a⏎}; b
    if ; then a; fi
    if then a; fi
    if a; then fi; b
    if a; then b; else fi; c
    if a; then b; elif then c; fi
    while do a; done
    for x in a; do done; b
    a() { }; b
    time a; time -p b; time; c
    time -p
    time -f x a
    time | a
    (a; b) > x | { c; d; } 2> y
    ( a ) b
    { a; } b
    { a; }⏎b
    { a }
    ()
    ( )
    {a; }
    ((a)) ; b
    ( (a) ; b )
    if a; then b; fi
    if a; then b; elif c; then d; elif e; then f; else g; fi > x
    if a; then b; else c
    if a; then b; fi c
    if a; b; fi
    if ; then b; fi
    while a; do b; done < x
    until a; do b; done
    while a; b; done
    for i in 1 2 $x "b c"; do a $i "$i" ${i}; done
    for i in a; do x $i; done; for i in b; do y $i; done
    for i; do a $i; done
    for i⏎do a; done
    for i in⏎do a; done
    for i in a;⏎do b; done
    for i in a⏎do b; done > x
    for i in a | b; do c; done
    for i in a;; do c; done
    for PATH in a; do b; done
    for path in a; do b; done
    for X in a; do b $X; done
    for i in $(a); do for j in $i; do b $j; done; done
    case $x in a) b ;; (c|d) e;; *) f;; esac
    case $x in a) b;; esac > y
    case x in a) b ;& c) d;; esac
    case x in a) b ;;& c) d;; esac
    case x in a b) c;; esac
    case x in a) b
    case x in⏎a)⏎b⏎;;⏎esac
    case x in a) ;; esac
    case x⏎in a) b;; esac
    case x y in a) b;; esac
    a $(case x in x) b;; esac)
    a (b)
    f() { a; }; f
    f () (a)
    f()⏎{ a; } > x; b
    function f { a; }
    function f() { a; }
    > x f() { a; }
    a b() { c; }
    coproc a | b
    select x in a; do b; done; c
    foreach x (a) b; end
    { a; } always { b; }
    always a
    then; a
    do a
    done
    esac; a
    }
    fi
    else a
    elif a
    a )
    ) a
    [[ -f a ]] && b
    [[ ! -f $x && a == b || -z "$y" ]] > z; c
    [[ a -eq 1 ]]; [[ 1 -eq 2 ]]; [[ $? -eq 0 ]]
    [[ a =~ b ]]; c
    [[ a < b ]]; c
    [[ ( a ) ]]; c
    [[ a ; b ]]
    [[ a⏎]]
    [[ ]]
    [[ -v x ]] || a
    [[ a ]] b
    """)

REDIRECTIONS = lines(r"""
    a > b >> c 2> d 2>> e &> f &>> g < h <> i >| j 3< k
    a >& b; a >&2; a 2>&1; a <&-; a <&0; a >&-; a >& $x; a >& 'x y'; a <& b; a 1>&2-
    a > $x < "$y" >> z$w
    X > X 2>&1 < X >& X; X <<< X; { X; } > X; (X) > X; X=X Y=X X
    X <<E⏎X $X \X⏎E⏎X
    X <<-E⏎	X⏎	E⏎X
    a >! b
    a > !b
    a > 'b c' > ~/d > /e
    a > "b"⏎c
    a >
    a > ; b
    a < (b)
    a > >(b)
    > a
    > a b
    2> a b > c
    X=1 > a
    {fd}> a
    {fd}<a b
    a {x} > b
    a 2 > b
    a2> b
    a <<< b; a <<< "$x"; a <<<$x; a <<<'b c'
    a <<X⏎b $c $(d) `e` \$f \$(g)⏎X⏎h
    a <<'X'⏎b $(c)⏎X⏎d
    a <<"X" | b⏎c⏎X
    a <<\X⏎$(b)⏎X
    a <<-X⏎	b⏎	X⏎c
    a <<X⏎	X⏎X
    a <<X <<Y⏎1⏎X⏎2⏎Y⏎b
    a <<X; b <<'Y'⏎$(c)⏎X⏎$(d)⏎Y
    a <<X
    a <<X⏎b
    a <<X⏎b\⏎X⏎c⏎X
    a <<'X'⏎b\⏎X
    a <<X y⏎b⏎X
    a <<X $(b)⏎c⏎X
    a <<X $(b⏎)⏎c⏎X
    a <<X 'b⏎c'⏎X
    a <<X "b⏎c"⏎X
    a <<X $'b⏎c'⏎X
    a <<X `b⏎c`⏎X
    a <<X ${b:-⏎}⏎X
    a <<$X⏎b⏎$X
    a <<'X Y'⏎b⏎X Y
    a <<''⏎b
    a <<X.y-z_1⏎b⏎X.y-z_1
    (a <<X)⏎b⏎X
    (a <<X⏎b⏎X⏎)
    { a; } <<X⏎b⏎X⏎c
    a $(b <<X⏎c⏎X⏎)
    a $(b <<X⏎c)d⏎X⏎)
    a $(b <<X⏎it's⏎X⏎) "c"
    a $(b # it's⏎)
    a $(b # c⏎)
    a $(b # (c)⏎)
    a "$(b # "c"⏎)"
    a "$(b # c)⏎)"
    a `b # c)`
    (a # it's⏎)
    { a; # it's⏎}
    a <(b # it's)⏎)
    a $(b <<'X'⏎$(c) "$(d)" `e`⏎X⏎)
    a $(b <<'X'⏎" # ` \) '⏎X⏎) c
    a $(b; (c) # (d⏎)
    """)

PROGRAMS = commands(r"""
    cat ‖ cat a ‖ cat <<X⏎a⏎X⏎
    cat <<X > y⏎a⏎X
    cat <<< a < b
    true ‖ true 1 ‖ true x ‖ false ‖ : ‖ : 5 ‖ exit ‖ exit 1 ‖ exit $? ‖ exit x ‖ break 2 ‖ continue
    set -e ‖ set -eu ‖ set -euo pipefail ‖ set -o errexit ‖ set +u ‖ set x ‖ set ‖ set -x
    set -o nounset
    read x ‖ read -r x y ‖ read ‖ read -p x ‖ read PATH ‖ read path ‖ read $x
    command -v a ‖ command -V a ‖ command -v ‖ command -v $a ‖ command a b ‖ command -p a
    test ‖ test a ‖ test -f a ‖ test ! -f a ‖ test -f a b ‖ test a = b ‖ test a == b ‖ test a -nt b
    test 1 -eq 2 ‖ test $? -ne 0 ‖ test a -eq b ‖ test -5 -lt 1.5 ‖ test $x = y ‖ test "$x" = y
    test -v x ‖ test x -a y ‖ test $x ‖ test "$x" ‖ test -n "$x" ‖ test -n $x ‖ test -q x ‖ test -f
    [ a ] ‖ [ -f a ] ‖ [ -f a ‖ [ a = b ] ‖ [ ! a ] ‖ [ ! ! a ] ‖ [ ] ‖ [ a b c d ] ‖ [ $# -gt 0 ]
    [[ $x ]] ‖ [[ $x == y ]] ‖ [[ -n $x ]]
    timeout 5 a ‖ timeout 5s a b ‖ timeout 1.5h a ‖ timeout -k 5 10 a ‖ timeout -s KILL 5 a
    timeout a
    timeout --signal=KILL 5 a ‖ timeout --foreground 5 a ‖ timeout $x a ‖ timeout 5 ‖ timeout 5 -a
    timeout -v 5 a ‖ timeout --preserve-status 5 a ‖ timeout --kill-after=5 5 a ‖ timeout 5 $x
    nice a ‖ nice -n 5 a ‖ nice -5 a ‖ nice -n5 a ‖ nice --adjustment=5 a ‖ nice -n $x a ‖ nice
    nohup a ‖ nohup -- a ‖ nohup ‖ stdbuf -oL a ‖ stdbuf -o L a ‖ stdbuf --output=L a ‖ command -- a
    nohup nice timeout 5 a b ‖ time nohup a ‖ 'nohup' a ‖ "nohup" a ‖ /bin/nohup a ‖ $nohup a
    xargs a ‖ xargs ‖ xargs -0 a ‖ xargs -n 1 a ‖ xargs -P 4 -L 2 a ‖ xargs -I {} a {}
    xargs -I{} a {}b
    xargs -I x a x ‖ xargs -r a ‖ xargs -n x a ‖ xargs -0r a b ‖ xargs -t a ‖ xargs -d x a
    xargs $x a
    xargs --null a ‖ xargs --max-args=5 a ‖ xargs --no-run-if-empty a ‖ xargs -n ‖ xargs -I
    ls | xargs rm -f ‖ nohup xargs a
    find ‖ find . -name x ‖ find . -exec a {} \; ‖ find . -exec a {} +
    find . -ok a {} \; -exec b \;
    find . -exec \;  ‖ find . -exec a ‖ find . -execdir a {} \; ‖ find . -delete ‖ find . -fprint x
    find $x -name y ‖ find "$x" -name y ‖ find . -exec sh -c 'a' \; ‖ find . -exec {} \;
    find . -exec a {}/b c{} \; ‖ nohup find . -exec a \; ‖ find . -okdir a +
    find . -fls x -exec a +
    A=1 b ‖ A=1 ‖ A=$(c) b ‖ A= b ‖ A=1 B=2 c ‖ PATH=x ‖ PATH=x a ‖ path=x a ‖ x=1 a ‖ X=1
    IFS= read x
    IFS=, read -r x y ‖ IFS=, a ‖ IFS=, ‖ LANG=C a ‖ LC_ALL=C.UTF-8 a ‖ LC_ALL=x a ‖ LANG=$x a
    LANG= a
    NODE_ENV=test a ‖ CI=1 a ‖ A+=1 b ‖ A[0]=1 ‖ A=(1 2) ‖ a A=1 ‖ http_proxy=x ‖ npm_x=1
    export A=1
    env a ‖ env ‖ env A=1 b ‖ env -i a ‖ env -u A b ‖ env -S 'a b' ‖ env - a ‖ env -iS'a b'
    env $x a
    sudo a ‖ sudo -u x a ‖ sudo -s ‖ sudo -i ‖ sudo -i a ‖ sudo ‖ doas a ‖ su ‖ su x ‖ su x -c a
    su - -c 'a'
    ssh x ‖ ssh x a ‖ ssh x 'a; b' ‖ ssh -p 5 x a ‖ parallel a ‖ parallel a ::: b ‖ watch a
    watch 'a | b'
    bash ‖ bash -c a ‖ bash -c 'a; b' ‖ bash -c ‖ bash -c "$x" ‖ bash x.sh ‖ bash x.sh -c y
    bash -s ‖ bash -
    bash -ec a ‖ bash --version ‖ bash -V ‖ bash --rcfile x -c a ‖ bash -o pipefail -c a
    bash -O x y.sh
    bash -- -c a ‖ bash -- -s ‖ bash -x -- -x.sh ‖ bash +o x y.sh ‖ bash --foo y.sh ‖ bash -o
    bash --init-file x y.sh ‖ find "$x" "$y" -exec a \; ‖ deno bench a.ts ‖ bun exec a
    bash +x a.sh ‖ bash -- a.sh ‖ bash --norc a.sh ‖ bash -s a ‖ bash -xs < a ‖ bash < a
    bash <<< a
    bash <<< "$x" ‖ bash <<X⏎a⏎X
    bash <<X < y⏎a⏎X
    echo a | bash ‖ printf 'a\nb' | sh ‖ print a | zsh ‖ echo 'a\tb' | sh - ‖ cat x | bash
    bash /dev/stdin
    bash /proc/self/fd/0 ‖ bash $x ‖ bash "$x" a ‖ bash $'\x61' ‖ pwsh -c a ‖ powershell a
    fish -c a
    eval a ‖ eval 'a; b' ‖ eval "$x" ‖ eval a b ‖ source a ‖ . a ‖ . $x ‖ source ‖ source /dev/stdin
    .
    alias a=b ‖ alias ‖ alias a ‖ trap 'a' EXIT ‖ trap ‖ exec a ‖ exec ‖ exec > a ‖ builtin a
    declare x=1
    let x=1 ‖ export A ‖ unset x ‖ hash -p a b ‖ enable -f a b ‖ mapfile x ‖ typeset x ‖ fc
    history ‖ jobs ‖ wait
    python a.py ‖ python -c a ‖ python ‖ python -m a ‖ python -m timeit a ‖ python -m ‖ python -V
    python - a
    python3 -c a ‖ python3.11 -Ic a ‖ python -x a.py ‖ python $x ‖ python /dev/stdin
    python -u -m pdb a
    node a.js ‖ node -e a ‖ node -p a ‖ node --eval=a ‖ node --print a ‖ node -r x a
    node --version ‖ node
    deno run a.ts ‖ deno test ‖ deno eval a ‖ deno run -A a.ts ‖ deno repl ‖ deno run https://x/a
    bun run a ‖ bun a
    perl -e a ‖ perl -ne a ‖ perl a ‖ perl -w a ‖ ruby -e a ‖ php -r a ‖ php a ‖ php -B a ‖ R -e a
    R -f a ‖ m4 a
    deno run npm:a ‖ deno run jsr:a ‖ deno run data:a ‖ node --import=https://x a ‖ Rscript -e a
    ghc a ‖ dc a
    vim a ‖ vim -c a b ‖ vim +a b ‖ vim +5 b ‖ vim -es a ‖ vim --cmd a ‖ vim --cmd=a ‖ ex a
    vi -u a b ‖ view a
    emacs a ‖ emacs --eval a ‖ emacs -f a ‖ emacs --batch a ‖ emacsclient -eval a
    emacs --funcall=a
    make ‖ make a ‖ make -f a ‖ make -fa ‖ make --file=a ‖ make --file a ‖ make -kf a ‖ make -f -
    make -f $x
    at now ‖ at -l ‖ at -f a now ‖ batch ‖ at -f - now ‖ at -r 5 ‖ crontab a ‖ crontab ‖ crontab -l
    crontab - ‖ crontab $x
    go run a.go ‖ go build a.go ‖ go ‖ java a.java ‖ java A ‖ dotnet script a.csx ‖ dotnet run a
    dotnet build
    mix run a ‖ mix run -e a ‖ mix eval a ‖ rails c ‖ rails s ‖ rails runner a
    rebar3 shell --eval a ‖ artisan tinker
    awk '{print $1}' a ‖ awk 'BEGIN{system("a")}' ‖ awk '{print | "a"}' ‖ awk 'a || b' ‖ awk -f x
    awk -f - ‖ awk $x ‖ awk @x
    awk 'a|b' ‖ gawk '/a/' ‖ mawk 1 ‖ awk 1 /dev/stdin ‖ awk 1 -
    sed s/a/b/ c ‖ sed -n 5p c ‖ sed -e a c ‖ sed -e s/a/b/ -e d c ‖ sed -i s/a/b/ c
    sed 's/a/b/e' c ‖ sed w c ‖ sed -f a c
    sed '1,5d;/a/p' c ‖ sed '1,+5d' c ‖ sed '$!N' c ‖ sed 's|a|b|g' c ‖ sed 's/a\/b/c/' d
    sed 's/a/b/;e' c ‖ sed 's/a/b/w x' c
    sed -E -i.bak 's/a/b/' c ‖ sed -ne p c ‖ sed -ni p c ‖ sed --in-place s/a/b/ c ‖ sed --x p c
    sed ‖ sed -e ‖ sed $x a ‖ sed 'p⏎d' a
    sed 'pd' a ‖ sed p -s b ‖ gsed -n p a ‖ sed 's/a/b' c ‖ sed 's/a/b/I0' c
    git a ‖ git push ‖ git-push a ‖ git -c alias.x=y x ‖ git -calias.x=!y x ‖ git -c $x y
    git -c a=$x y ‖ git --config-env $x y ‖ git config alias.x y
    git -c "user.name=$x" y ‖ git --config-env=alias.x=Y x ‖ GIT_CONFIG_COUNT=1 git a
    GIT_CONFIG_KEY_0=x git ‖ git -c 'x=alias.y' z ‖ git
    git status a ‖ git -C x status ‖ git $x ‖ git bisect run a ‖ git commit -m 'a b'
    git submodule foreach a ‖ /usr/bin/git push
    a b c ‖ a sh ‖ a bash -c b ‖ a -c 'b' ‖ x bash y.sh ‖ y sh -c "$z" ‖ a "$(b)" ‖ a --exec 'b c'
    unknown "$x" sh
    printf -v 'a[b]' c ‖ printf 'x[1]' y ‖ test 'a[b]' ‖ nice printf 'a[b]' ‖ printf %s a
    printf %d a ‖ printf $x
    mysql -e a ‖ mysql < a ‖ echo a | psql ‖ psql <<X⏎a⏎X
    vim <(a) ‖ diff <(a) <(b) ‖ bc <<< a ‖ ed a <<X⏎!b⏎X
    ld.so a ‖ /lib/ld-linux-x86-64.so.2 a ‖ busybox sh -c a ‖ busybox a b ‖ fd -x a ‖ fd a
    fdfind -X a ‖ fd --exec a
    chroot x a ‖ flock x a ‖ flock x -c 'a b' ‖ script -c a ‖ entr a ‖ repeat 5 a ‖ nocorrect a
    noglob a * ‖ - a ‖ coproc a
    strace -f a b ‖ gdb --args a ‖ valgrind a ‖ unshare -r a ‖ setsid a ‖ start-stop-daemon -x a
    systemd-run a ‖ sshpass -p x ssh y z
    """)

FILES = commands(r"""
    echo a > x.sh; bash x.sh
    echo a > x.sh && chmod +x x.sh && ./x.sh
    cp a x.sh; sh x.sh
    mv a x.sh; sh x.sh
    cp a b; ./b
    tee x.sh; . x.sh
    ln -s a x.py; python x.py
    sed -i s/a/b/ x.sh; sh x.sh
    sed s/a/b/ x.sh; sh x.sh
    sed --in-place s/a/b/ Makefile; make
    sed -ni p Makefile; make
    cat x.sh; sh x.sh
    unknown x.sh; sh x.sh
    unknown -o=x.sh; sh x.sh
    curl -o x.sh https://a; bash x.sh
    curl -o dir/x.sh https://a; bash other/x.sh
    echo a > Makefile; make
    echo a > package.json; npm test
    echo a > build.rs; cargo build
    echo a > .git/hooks/pre-commit; git commit
    cp a .git/config; git log
    echo a > hooks/x; git status
    git clone a; make
    cp a Makefile; make; cp b other
    touch Makefile; make
    python x.py > y.py; python y.py
    python gen.py out.sh; sh out.sh
    make -f x.mk; echo > x.mk
    cat secret.txt ‖ cat < in > out ‖ cat in >> out ‖ cat -n in
    head -n 5 in ‖ tail -f /var/log/x ‖ less ~/x ‖ wc -l in ‖ wc --files0-from=x
    cd sub && cat in; cd /abs; cat in; cd ..; cat in; cd; cat in; cd -; cat in
    cd sub; cd deep; cat in
    cd $x; cat in
    cd ~/x; cat in
    cd /work; cat in
    cd .; make
    cd sub; make; ./tool; git status; python x.py
    cd /work/sub && npm test
    cd /other && npm test
    cd /more/x && npm test
    pushd sub; cat in; popd; chdir x
    CDPATH=x cd y; HOME=/x; cat ~/y
    HOME=/x cat ~/y; env HOME=/x cat y; export PWD=/x; cat a
    cd a; cd b; cd c; cd d
    cd a; cd b; cd c; cd d; cd e
    cd /1; cd /2; cd /3; cd /4; cd /5; cd /6; cd /7; cd /8; cat x
    cd a b; cat x
    cd ''; cat x
    cd '~x'; cat x
    cd ../x; cat y
    cd a/../b; cat y
    grep a in ‖ grep -r a ‖ grep -r a dir ‖ grep -rn a . ‖ grep -l a in ‖ egrep -R a ‖ rg a
    rg a dir ‖ rg --files ‖ rg -l a ‖ ag a ‖ ack a x
    rgrep a ‖ grep --recursive a ‖ grep --dereference-recursive a b ‖ fgrep a b c
    find . -name x ‖ find dir -delete ‖ find dir -fprint out ‖ find ‖ ls ‖ ls dir ‖ ls -la ‖ fd x
    tree dir ‖ tree --fromfile x ‖ du -a ‖ du --files0-from=x
    find dir -name x | xargs cat ‖ find dir | xargs -0 rm ‖ ls dir | head -5 | xargs cat
    xargs cat < list ‖ cat list | xargs rm
    find dir -exec cat {} \; ‖ find dir -exec cat {} + -o -print ‖ git ls-files | xargs cat
    git grep -l a | xargs cat ‖ grep -l a b | xargs cat
    git diff --name-only | xargs cat ‖ rg -l a | sort -u | xargs cat ‖ ls | sort x | xargs cat
    ls | xargs -x cat ‖ find . | tar -T - -cf x ‖ ls | cpio -o
    find . | xargs cat <<< x ‖ echo a | xargs cat ‖ printf '%s\n' a b | xargs cat
    ls | zip -@ x.zip
    tar -cf a.tar dir ‖ tar -xf a.tar ‖ tar xf a.tar -C dir ‖ tar -T list -cf x
    tar --files-from=list -cf x ‖ bsdtar -xf a ‖ tar --extract -f a ‖ tar tf a ‖ unzip a
    unzip -l a
    zip a.zip dir ‖ 7z a x @list ‖ rar a x @list ‖ rsync -a a b ‖ rsync --files-from=l a b
    wget -i list ‖ wget --input-file=l ‖ curl -K conf ‖ curl --config x ‖ curl -d @file x
    file -f list ‖ file -b x
    cp a b ‖ mv a b ‖ rm a ‖ rm -rf dir ‖ rmdir dir ‖ mkdir -p dir ‖ touch a ‖ chmod 644 a
    chown me a ‖ ln a b ‖ tee a ‖ dd if=a of=b ‖ install a b ‖ truncate -s 0 a ‖ shred a ‖ unlink a
    sed -i s/a/b/ c
    sort a ‖ sort --files0-from=x ‖ uniq a ‖ xxd a ‖ source a ‖ . a ‖ jq . a ‖ diff a b ‖ cmp a b
    strings a ‖ hexdump a ‖ comm a b ‖ paste a b ‖ zcat a ‖ bat a
    git diff a ‖ git show x:a ‖ git add a ‖ git log -- a ‖ git archive HEAD ‖ git apply a
    git apply --check a ‖ git am a ‖ patch -p1 ‖ patch --check ‖ git worktree add x
    git checkout-index -a
    git commit -m 'read a.txt' ‖ git commit -am b ‖ git commit --message c
    gh pr create --title a --body b ‖ gh api -t x ‖ gh x y
    git add ':(top)x' ':!y' ':/z' ':(glob)**/a' ':(attr:x)b' ':^c**' 'a*'
    git add ':(glob)a' ':(top)b' ‖ npx --yes prettier --write a ‖ ls '' ‖ printf a.txt | unknown
    ls dir | xargs cat $x ‖ ls dir | xargs cat "$x" {} ‖ find dir -exec cat {} $x \;
    ls $x | xargs cat
    xargs -n5 cat ‖ xargs --max-procs=2 cat ‖ xargs --max-lines=2 cat ‖ ls | xargs -P2 cat
    git diff '*.txt' ‖ git add '*.txt' ‖ git checkout a ‖ git stash -- a ‖ git cat-file --batch
    git hash-object --stdin <<< a ‖ git update-index --stdin <<< a
    git checkout --pathspec-from-file=x
    black . ‖ black --check . ‖ ruff check . ‖ ruff check --fix . ‖ ruff format ‖ ruff format --diff
    eslint x ‖ eslint --fix x ‖ prettier x ‖ prettier --write x ‖ prettier -w x ‖ isort a
    isort -c a ‖ isort --check-only a ‖ ruff --fix-only
    npm test ‖ npm run x a.txt ‖ npm run $x ‖ cargo test a ‖ make $x ‖ yarn x ‖ pnpm a ‖ make a.txt
    pytest tests ‖ tsc -p x ‖ go test ./... ‖ pip install x ‖ mypy src ‖ unknown dir
    python -m http.server ‖ python3 -m pytest x ‖ python -m ‖ npx serve ‖ npx -y prettier --write a
    bunx eslint x ‖ uv run ruff format ‖ uv run ‖ poetry run black a ‖ pipenv run isort a ‖ pnpx x
    npx ‖ uv pip x ‖ http-server dir ‖ serve ‖ live-server
    env cat a ‖ env -C dir cat a ‖ sudo -u a cat b ‖ chroot dir cat a ‖ nice -n 5 cat a
    timeout 5 cat a ‖ xargs -a list cat ‖ parallel cat ::: a ‖ flock lock cat a
    strace -o out cat a
    cat $x ‖ cat "$x" ‖ cat *.txt ‖ cat a?[bc] ‖ cat 'a*' ‖ cat {a,b} ‖ cat $x/a ‖ cat ~/$x
    cat "a b" ‖ cat a=b ‖ cat a,b ‖ cat x@y ‖ cat a:b ‖ cat file:///a%20b ‖ cat 'a;b<c' ‖ cat -abc
    cat -ofile ‖ cat -o=file ‖ cat --opt=file
    cat --opt="a b" ‖ cat 'read a.txt and "b.txt"' ‖ unknown 'open(x.txt)' ‖ cat -Ifoo,bar
    cat -abcdefghij ‖ cat %41 ‖ cat "'x'=y"
    for f in a b; do cat $f; done ‖ for f in a b; do cat "$f" ${f}; done
    for f in "a b"; do cat $f; done ‖ for f in "a b" c; do cat "$f"; done
    for f in $x; do cat $f; done ‖ for f in *; do cat $f; done
    A=/x/y cat ‖ A=secret.txt ‖ A=a:b c ‖ A=$x b ‖ ./tool a ‖ /usr/bin/tool a ‖ tool/x
    python - <<X⏎open("a.txt")⏎X
    cat <<X⏎a.txt⏎X
    psql <<< a.txt ‖ echo a.txt | unknown ‖ echo a.txt | cat ‖ echo a.txt ‖ print a.txt | unknown
    git x <<< a ‖ gh x <<< a
    rm -rf / ‖ rm -rf /* ‖ rm -rf ~ ‖ rm -rf ~/* ‖ rm -rf . ‖ rm -rf * ‖ rm -rf ./* ‖ rm -rf ..
    rm -rf /work ‖ rm -rf /work/sub ‖ rm -rf /home ‖ rm -rf /more
    rm -rf /more/x ‖ rm -rf /etc ‖ rm -rf /etc/x ‖ rm -rf $x ‖ rm -rf $x/a ‖ rm -rf a/$x
    rm -rf `x` ‖ rm -rf "$x"/* ‖ rm -rf dir/* ‖ rm -rf .* ‖ rm -rf .[!.]* ‖ rm -rf ?* ‖ rm -rf {a,b}
    rm -rf dir/{a,b} ‖ rmdir / ‖ rm -rf a* ‖ rm -r ''
    rm ‖ rm -rf ‖ nohup rm -rf / ‖ find . -exec rm -rf / \; ‖ rm -rf -- / ‖ rm -rf /x/.. ‖ rm '*'
    rm -rf /{a,b} ‖ rm -rf ~me ‖ rm -rf "~"
    cat /proc/self/cwd/x ‖ cat /proc/self/environ ‖ cat /proc/1/root/etc/x ‖ cat 'a. ' ‖ cat 'a\b'
    cat //a//b ‖ cat a/../b ‖ cat ./a ‖ cat / ‖ cat /dev/stdin
    a > /dev/null ‖ a 2> /dev/stderr ‖ a > x/../y ‖ a < $x ‖ a > .git/config ‖ a > ~/.bashrc
    """)

# Programs, and the files that they run without being told so.
_UNTOLD = """
    gmake gnumake make: Makefile makefile GNUmakefile
    npm npx pnpm yarn bun: package.json .npmrc .yarnrc.yml
    cargo: build.rs Cargo.toml config.toml
    composer: composer.json
    bundle: Gemfile
    cmake: CMakeLists.txt CMakePresets.json
    docker: Dockerfile compose.yaml compose.yml docker-compose.yml
    docker-compose: docker-compose.yml compose.yaml compose.yml
    git: .gitconfig
    gradle: build.gradle build.gradle.kts settings.gradle
    just: justfile Justfile
    mvn: pom.xml
    ninja: build.ninja
    nox: noxfile.py
    pip: setup.py pyproject.toml
    pre-commit: .pre-commit-config.yaml
    pytest: conftest.py pytest.ini
    rake: Rakefile
    task: Taskfile.yml
    tox: tox.ini
    """
UNTOLD = [
    f"echo a > {file}; {program} b"
    for row in lines(_UNTOLD)
    for program in row.partition(":")[0].split()
    for file in row.partition(":")[2].split()
]
_CODE = """
    python pypy ipython bpython ptpython sage php node tsx ts-node m4 R perl ruby deno mix rails
    rebar3 artisan emacs vim make at crontab bash awk sed
    """
OPTIONS = [
    f"{program} {option} a"
    for program in _CODE.split()
    for option in [
        "-c",
        "-e",
        "-p",
        "-r",
        "-B",
        "-R",
        "-E",
        "-f",
        "-m",
        "--eval",
        "eval",
        "console",
        "runner",
        "c",
        "r",
        "tinker",
    ]
]
_LISTS = """
    tar bsdtar gtar cpio pax 7z 7za 7zr 7zz rar du sort wc curl file rsync tree wget zip
    """
LISTS = [
    f"{program} {option}"
    for program in _LISTS.split()
    for option in [
        "-T",
        "-cT",
        "--files-from=x",
        "@x",
        "--files0-from=x",
        "-K",
        "--config=x",
        "-f",
        "--from",
        "-i",
        "-@",
        "-r@",
    ]
]

LINES = {
    "words": WORDS,
    "structure": STRUCTURE,
    "redirections": REDIRECTIONS,
    "programs": PROGRAMS,
    "files": FILES,
    "untold": UNTOLD,
}
