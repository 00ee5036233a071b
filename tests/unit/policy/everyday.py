"""Commands as the CLI writes them every day, and a policy that was meant to allow them.

In the table `‖` separates commands, and `⏎` stands for the end of a line inside a command.
"""

from __future__ import annotations

from .evasions import lines, make

PROGRAMS = """
    awk cargo cat cd cp curl cut date diff docker du echo env find gh git go grep head jq ls make
    mkdir mv node npm npx pip printf pwd pytest python python3 rg ruff sed sleep sort tail tee touch
    tr tree tsc uname uniq wc which xargs yarn
"""
DENIED = """
    Bash(git push --force:*) ‖ Bash(rm:*) ‖ Bash(sudo:*) ‖ Read(~/.ssh/**) ‖ Read(~/.aws/**)
    Edit(.git/**) ‖ WebFetch(domain:evil.org)
"""
POLICY = make(
    *(f"Bash({program}:*)" for program in PROGRAMS.split()),
    *("Read(**)", "Edit(**)"),
    deny=lines(DENIED),
)

COMMANDS = lines(r"""
    git status ‖ git status --short ‖ git diff ‖ git diff --stat HEAD~1
    git diff main...HEAD -- src/ ‖ git log --oneline -10 ‖ git log --oneline | head -5
    git log --since="2 weeks ago" --author="$(git config user.name)"
    git log --pretty=format:"%h %s (%an)" -n 20 ‖ git show HEAD^ --stat
    git show HEAD:src/app.py | head -50 ‖ git stash list ‖ git stash show -p stash@{0}
    git branch -a | grep feature ‖ git branch --merged | grep -v main | xargs git branch -d
    git blame -L 10,20 src/app.py ‖ git add -A ‖ git add src/app.py tests/test_app.py
    git add . && git status --short ‖ git commit -m "fix: handle empty input"
    git commit -m "feat(api): add users (closes #12)" ‖ git commit -am 'wip'
    git commit -m "line one⏎⏎line two"
    git commit -m "$(cat <<'EOF'⏎fix: it's (x) that matters⏎⏎By: C <c@x.org>⏎EOF⏎)"
    git commit -m "$(cat <<'EOF'⏎Add `foo` and "bar"; don't rm anything⏎EOF⏎)"
    git commit -m "$(cat <<'EOF'⏎:tada: 👩‍💻 a picture⏎EOF⏎)" && git status
    git commit -m 'uses $HOME and `ticks`' ‖ git commit -m "drop rm from the docs" ‖ git push
    git push -u origin feature/x ‖ git push origin HEAD ‖ git pull --rebase
    git fetch --all --prune ‖ git checkout -b feature/x ‖ git switch main ‖ git restore --staged .
    git reset HEAD~1 ‖ git merge --no-ff feature/x ‖ git rebase main ‖ git cherry-pick abc123
    git rev-parse --show-toplevel ‖ git config user.email ‖ git diff --name-only | xargs ruff check
    git ls-files '*.py' | xargs wc -l ‖ git ls-files | head -20 ‖ git -C sub log -1
    if ! git diff --quiet; then git status; fi ‖ git diff --quiet || echo dirty
    git status --porcelain 2>/dev/null || echo "not a repository" ‖ cd /project && git status
    cd /project && npm test ‖ cd /project; git diff | head ‖ cd . && git status ‖ cd src && ls
    cd src && npm test ‖ cd src && pytest -x ‖ (cd src && ls -la) ‖ cd src && ls && cd .. ‖ ls
    ls -la ‖ ls -la src/ tests/ ‖ ls *.md 2>/dev/null | head ‖ ls -1 | wc -l ‖ ls ~/.ssh ‖ pwd
    tree -L 2 -I node_modules ‖ du -sh * | sort -h | tail -5 ‖ find . -name "*.py"
    find . -type f -name '*.ts' -not -path '*/node_modules/*'
    find . \( -name a -o -name b \) -print ‖ find src -name "*.py" | head
    find src -name '*.py' | xargs grep -n TODO
    find src -name '*.py' -print0 | xargs -0 grep -l import
    find src -name '*.py' | xargs -n1 -P4 ruff check ‖ find . -name '*.py' | xargs -I{} cp {} out/
    find . -name '*.py' -exec grep -l foo {} \; ‖ find . -name '*.py' -exec grep -n foo {} +
    find src -name '*.py' | xargs -n 1 -P 4 ruff check
    find src -name '*.py' | xargs -I {} cp {} out/ ‖ find src -name '*.py' | xargs
    find . -type f | wc -l ‖ find . -newer package.json -mtime -1 ‖ grep -rn "TODO" src
    grep -rn 'def foo(' --include='*.py' src ‖ grep -E "a|b" src/app.py ‖ grep -c . README.md
    grep -q foo README.md && echo yes || echo no ‖ ! grep -q foo README.md ‖ rg foo src
    rg -n 'a\|b' -g '*.py' src ‖ cat package.json | jq '.scripts' ‖ cat src/app.py | head -100
    cat src/*.py | wc -l ‖ cat <<EOF⏎hello⏎EOF ‖ cat > out/x.txt <<'EOF'⏎it's (some) text⏎EOF
    head -50 src/app.py ‖ tail -n 20 out/log.txt ‖ tail -f out/log.txt | grep --line-buffered error
    sed -n '1,20p' src/app.py ‖ sed 's/a/b/g' src/app.py ‖ sed -e 's/a/b/' -e '/^$/d' src/app.py
    sed -i 's|http:|https:|g' src/app.py ‖ awk '{print $1}' out/x.txt
    awk -F: '{print $1, $3}' out/x.txt ‖ awk 'NR==1 || /foo/ {n++} END {print n}' out/x.txt
    sort out/x.txt | uniq -c | sort -rn | head ‖ cut -d, -f1 out/x.csv ‖ wc -l src/*.py
    diff <(sort a.txt) <(sort b.txt) ‖ diff -u a.txt b.txt ‖ tr a-z A-Z < a.txt ‖ echo "Done!"
    echo $PATH ‖ echo "exit: $?" ‖ echo "${PIPESTATUS[0]}"
    echo "${x:-default}" "${x%.py}" "${x##*/}" ‖ echo $((1 + 2)) ‖ echo {1..5} ‖ echo "it's"
    echo 'a' "b" $'c\n' ‖ echo -e "a\tb" ‖ echo "a" | tee out/x.txt ‖ echo hello > out/x.txt 2>&1
    printf '%s\n' a b c ‖ printf '%d\n' 5 ‖ printf '%5.2f\n' 3.14 ‖ printf "%s: %s\n" "$x" "$y"
    date +%Y-%m-%d ‖ X=$(date +%s); echo $X ‖ name=test; echo "$name"
    out=$(git status --short); echo "$out" ‖ env ‖ env | sort ‖ env | grep NODE ‖ which python node
    command -v git && git status ‖ sleep 1 ‖ mkdir -p out/a/b && touch out/a/b/c
    cp src/app.py out/ ‖ mv a.txt b.txt ‖ npm test ‖ npm run build && npm test
    npm run test -- --watch=false 2>&1 | tail -50 ‖ npm run test -- -t "a (b)"
    npm install --save-dev typescript ‖ npm ls --depth=0 ‖ NODE_ENV=test npm test ‖ CI=1 npm test
    npm start > /dev/null 2>&1 & ‖ nohup npm start & ‖ npx tsc --noEmit ‖ npx eslint src --ext .ts
    npx --yes eslint . --ext .ts ‖ npx -y prettier --check . ‖ npx --yes tsc -p . ‖ python -m mypy .
    yarn build ‖ node script.js ‖ node --version ‖ python script.py --name "a b"
    python -m pytest -k "a and not b" ‖ python3 -m http.server 8000 ‖ python --version
    pytest tests/test_app.py::test_x -x -q ‖ pytest tests/test_app.py::test_x[1-2]
    PYTHONDONTWRITEBYTECODE=1 pytest -x 2>&1 | tail -30 ‖ timeout 60 pytest -x ‖ timeout 5m npm test
    time npm test ‖ nice -n 10 make ‖ ruff check . && ruff format --check .
    pip install -e '.[dev]' ‖ pip list | grep -i requests ‖ cargo test -- --nocapture
    cargo build --release 2>&1 | grep -E "^(warning|error)" ‖ RUST_BACKTRACE=1 cargo test
    go test ./... ‖ go build -o out/app ./cmd/app ‖ make -j4 test
    make check 2>&1 | tee out/log.txt ‖ tsc --noEmit -p tsconfig.json
    docker ps --format '{{.Names}}' ‖ docker run --rm -it image ls ‖ docker compose up -d
    curl -s http://localhost:8000/health | jq . ‖ curl -sSL -o out/x.json https://example.com/x.json
    gh pr list --state open
    gh pr create --title "fix" --body "$(cat <<'EOF'⏎## Summary⏎- it's done (mostly)⏎EOF⏎)"
    [ -f package.json ] && echo yes ‖ [ -d node_modules ] || npm install ‖ [ "$A" = b ] && echo same
    [ "$(uname)" = Darwin ] || pwd; which uname ‖ [ -z "$(git status --porcelain)" ] && echo clean
    [ $? -eq 0 ] && echo fine ‖ [ $# -gt 0 ] || echo none ‖ test -f x.txt && cat x.txt
    [ ! -f x.txt ] && echo none ‖ git commit -m "$(cat <<'EOF'⏎match \d+ (or "x")⏎EOF⏎)"
    git status $(for f in a b; do echo "$f"; done) ‖ test -n "$CI" && echo ci
    [[ -f package.json ]] && echo yes ‖ [[ -f a.txt && -d src ]] && echo both
    [[ "$x" == *.py ]] && echo python ‖ [[ $x != y ]] || echo y
    if [[ -f a.txt ]]; then cat a.txt; else echo none; fi ‖ set -e; npm run build; npm test
    set -euo pipefail⏎npm run build⏎npm test ‖ npm test || true ‖ npm test || exit 1
    npm test && echo ok || { echo failed; exit 1; } ‖ for f in *.md; do echo $f; done
    for f in src/*.py; do wc -l "$f"; done ‖ for F in a b; do echo "$F"; done
    for file_name in a.txt b.txt; do cat "$file_name"; done
    for i in 1 2 3; do echo $i; sleep 1; done ‖ for i in $(ls src); do echo $i; done
    while true; do git status; sleep 5; break; done
    while read -r line; do echo "$line"; done < a.txt
    while IFS= read -r line; do echo "$line"; done < a.txt
    until curl -s localhost:8000; do sleep 1; done
    case "$x" in *.py) echo python;; *) echo other;; esac ‖ # look around⏎ls⏎# and then⏎git status
    ls && \⏎  git status ‖ git log \⏎  --oneline \⏎  -5 ‖ (echo a; echo b) | sort
    { echo a; echo b; } > out/x.txt ‖ echo "a 👩‍👩‍👧 family 🎉" ‖ echo "naïve café 中文"
    LC_ALL=C sort a.txt ‖ LANG=en_US.UTF-8 ls ‖ TZ=UTC date
    cat a.txt | while read -r a b; do echo "$a"; done ‖ make -f build.mk test ‖ make -C src test
    node fetch.js https://example.org/data:x ‖ python3 fetch.py https://example.org
    python -m pytest -c pytest.ini ‖ git -c user.name=me commit -m x
    git -c color.ui=false log --oneline ‖ git config --get user.name ‖ curl -k https://example.org
    curl -sSfL https://example.org -o out/x.html ‖ grep -c x Makefile && make test
    sed -n 1,20p package.json && npm test ‖ jq .scripts package.json && npm test
    echo done > out/log.txt && git status ‖ find src -name '*.py' | xargs grep -a x
    go run ./cmd/app ‖ echo "50% of src" ‖ git add '*.py' ‖ git diff -- '*.py'
    git log --oneline -- ':!docs' ‖ echo "see src/app.py" | tee out/x.txt ‖ echo '{"a": 1}' | jq .a
    printf 'a\nb\n' | sort | uniq ‖ echo "print(1)" > out/x.txt && git status
""")
