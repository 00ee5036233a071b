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

SEVEN = lines("""
    Bash(rm:*) ‖ Bash(git push:*) ‖ Bash(sudo:*) ‖ Read(./.env) ‖ Read(./.env.*)
    Read(./secrets/**) ‖ Read(~/.ssh/**)
""")
"""The usual denies."""
BESIDE_DENIES = lines(r"""
    git status ‖ git diff ‖ git diff --cached --stat ‖ git log --oneline -n 20
    git log -5 --format='%h %s' ‖ git add -A && git commit -m "fix: login" ‖ git commit -am "wip"
    git checkout -b feature/login ‖ git switch main && git pull ‖ git pull --rebase origin main
    git fetch origin && git rebase origin/main ‖ git stash && git pull && git stash pop
    git show HEAD --stat ‖ git show HEAD~2:src/app.ts ‖ git branch -a ‖ git branch --show-current
    git remote -v ‖ git diff main...HEAD -- src/ ‖ git diff HEAD~3 --name-only
    git blame src/app.ts -L 1,40 ‖ git tag --list 'v*' ‖ git merge --no-ff feature/login
    git reset --hard HEAD ‖ git restore src/app.ts ‖ git log --all --grep='login'
    git worktree list ‖ git cherry-pick abc1234 ‖ git rev-parse --short HEAD
    git config user.name ‖ git clean -n
    git commit -m "$(cat <<'EOF'⏎feat: add (x)⏎⏎Co-Authored-By: C <c@x.org>⏎EOF⏎)"
    gh pr list --limit 5 ‖ gh pr view 12 --json title,body ‖ gh pr create --title "x" --body "y"
    gh run list --branch main ‖ gh issue view 4 ‖ gh pr checks 12 ‖ gh api repos/a/b/pulls
    npm test ‖ npm run build ‖ npm run lint -- --fix ‖ npm ci ‖ npm install ‖ npm i -D vitest
    npm run dev & ‖ npm ls react ‖ npx tsc --noEmit ‖ npx eslint src --ext .ts,.tsx
    npx prettier --check . ‖ npx vitest run src/app.test.ts ‖ npx jest --coverage
    npx playwright test --headed ‖ npx prisma generate ‖ npx prisma migrate dev --name init
    pnpm install ‖ pnpm test ‖ pnpm run build ‖ pnpm --filter web build ‖ yarn ‖ yarn test --watch
    yarn add lodash ‖ bun test ‖ bun run dev ‖ NODE_ENV=production npm run build
    PORT=3001 npm start ‖ node scripts/seed.js ‖ node -v && npm -v ‖ npm outdated ‖ pytest
    pytest -x -q tests/test_api.py::test_login ‖ pytest -k "login and not slow" --maxfail=1
    python -m pytest tests -v 2>&1 | tail -40 ‖ python manage.py migrate
    python manage.py runserver 8001 ‖ python scripts/export.py --out out.csv
    PYTHONPATH=src python -m pytest
    python -m venv .venv && source .venv/bin/activate && pip install -r requirements.txt
    pip install -e '.[dev]' ‖ pip freeze > requirements.lock ‖ ruff check src ‖ ruff format .
    mypy src ‖ black --check . ‖ uv sync ‖ uv run pytest ‖ uv pip install httpx ‖ poetry install
    poetry run pytest -q ‖ coverage run -m pytest && coverage report ‖ .venv/bin/python -m pytest
    python -c "print(1)" ‖ alembic upgrade head ‖ uvicorn app.main:app --reload
    cargo build --release ‖ cargo test --workspace -- --nocapture
    cargo clippy --all-targets -- -D warnings ‖ cargo fmt --check ‖ go test ./...
    go build -o bin/app ./cmd/app ‖ go mod tidy ‖ go vet ./... ‖ gofmt -l . ‖ make ‖ make test -j4
    make clean all ‖ make -j$(nproc) ‖ cmake -S . -B build && cmake --build build ‖ mvn -q test
    ./gradlew build ‖ ./gradlew test --tests 'com.x.*' ‖ bundle exec rspec ‖ composer install
    dotnet test ‖ terraform plan ‖ docker compose up -d ‖ docker compose logs -f --tail=100 web
    docker ps -a ‖ docker build -t app . ‖ docker logs app 2>&1 | tail -50
    docker exec -it app ls /srv ‖ kubectl get pods -n dev ‖ kubectl logs -f deploy/web ‖ ls -la
    ls src/**/*.ts ‖ tree -L 2 -I 'node_modules|.git' ‖ pwd && ls ‖ cat package.json
    cat src/app.ts | head -50 ‖ head -n 100 README.md ‖ tail -f logs/dev.log ‖ wc -l src/*.py
    find . -name '*.test.ts' -not -path './node_modules/*'
    find src -type f -name '*.py' | xargs wc -l | sort -n | tail
    find . -name __pycache__ -type d ‖ grep -rn "TODO" src
    grep -rn "def login" --include='*.py' . ‖ grep -n error logs/dev.log | tail
    rg "useEffect" src ‖ rg -l TODO ‖ rg -n "foo" -g '*.ts' ‖ cat package.json | jq '.scripts'
    jq -r '.version' package.json ‖ sed -n '10,40p' src/app.ts ‖ sed -i 's/foo/bar/g' src/app.ts
    sed -i '' 's/foo/bar/' src/app.ts ‖ awk '{print $1}' data.txt | sort | uniq -c
    awk -F, '$3 > 100 {s += $3} END {print s}' data.csv ‖ sort -u a.txt -o b.txt
    diff -u a.txt b.txt ‖ du -sh node_modules ‖ df -h ‖ which node ‖ echo "done"
    mkdir -p src/components ‖ touch src/new.ts ‖ cp config.example.json config.json
    mv old.ts new.ts ‖ cp -r templates dist/templates ‖ chmod +x scripts/deploy.sh
    ln -s ../shared src/shared ‖ tar czf dist.tgz dist ‖ tar xzf vendor.tgz ‖ unzip -l a.zip
    curl -s http://localhost:3000/health
    curl -X POST -H 'Content-Type: application/json' -d '{"a": 1}' localhost:3000/api
    curl -sSL https://example.com/x.json -o data/x.json ‖ curl -I https://example.com
    ps aux | grep node ‖ kill 12345 ‖ pkill -f "next dev" ‖ lsof -i :3000
    lsof -ti:3000 | xargs kill -9 ‖ sleep 5 && curl -s localhost:3000 ‖ date +%s ‖ env | grep NODE
    export NODE_ENV=test ‖ for f in src/*.ts; do echo "$f"; done
    for i in 1 2 3; do curl -s localhost:3000; done ‖ cd packages/web && npm test ‖ cd src && ls
    [ -f .nvmrc ] && cat .nvmrc ‖ if [ -d dist ]; then ls dist; fi
    test -d node_modules || npm install ‖ npm test 2>&1 | tee test.log ‖ timeout 60 npm test
    time npm run build ‖ npm run build && npm test
    VERSION=$(git describe --tags); echo "$VERSION" ‖ echo $((1+2))
    cat > src/x.ts <<'EOF'⏎export const x = 1⏎EOF ‖ psql -c 'select 1' ‖ sqlite3 app.db '.tables'
    open coverage/index.html ‖ ssh host uptime ‖ bash scripts/setup.sh ‖ ./scripts/test.sh --fast
    bash -c 'npm test' ‖ stat -f %z x ‖ ls | wc -l ‖ printf '%s\n' a b ‖ xargs -n1 echo < list.txt
    base64 -d x.b64 > x.bin ‖ openssl rand -hex 16 ‖ brew install jq
""")
"""Commands of other projects. Few of them may be asked about beside the usual denies."""
