"""The programs whose doing is known: tools that open what they name, and runners of project code.

A deny rule beside a bare `Bash` can hold only for these; a policy asks about every other program,
subcommand and option. Check each row against the manuals of GNU and BSD. A missing row is a
question, a careless one is a hole: leave out options that run a program, read names from a file, or
mean something else on another system, and share a row only if all its options are the same.

A row is (names, kind, options); `doing` has a function for each kind. In the options:

    -abc --all   flags                      -n# --lines#   a value that names no file
    -f<          a file that is read        -o>            a file that is written
    -d?          a text that may name one   -v&            a folder that is opened, with its content
    -C^          the working directory      -m:            a module or a script that is run
    -j=          a value that is attached, or none         --arg##   two values
    -r/          looks into folders         -#             a number
    *            any other option
    !            an option may run a program, so no unknown word may stand among the options
    --any        what stands behind `--` is for the project's own code
    1word        options of one dash are whole words
"""

from __future__ import annotations

from dataclasses import dataclass

Rows = tuple[tuple[str, str, str], ...]
Program = tuple[str, *Rows]
"""The options of all subcommands, then a row for each."""

_COMMON = (
    "--verbose --quiet --silent --force --dry-run --color= --no-color --debug --yes --all --list"
)
"""Flags that are harmless in every program of the table."""

_TOOLS: Rows = (
    # --- output and facts
    ("echo : true false type which whereis kill", "text", "*"),
    ("printf", "printf", ""),
    ("test [ [[", "test", ""),
    ("cd pushd popd", "text", "*"),
    ("export", "export", "-np"),
    ("wait pwd whoami groups tty nproc uptime clear", "none", "-LP"),
    ("id uname", "text", "-unGgramsopv"),
    ("date", "text", "-uRjn -d# -f< -v# -I= --utc --date# --iso-8601="),
    ("sleep seq expr cal printenv getconf", "text", "-w -s# -f# -0"),
    ("ps free", "text", "-aAefuxlhmgbw -o# -p# -C# --sort# --no-headers"),
    ("pkill killall pgrep", "text", "-flxanivc -u# -t# -P# -#"),
    ("ss netstat", "text", "-tulnpasen"),
    ("lsof", "text", "-tnP -i= -p# -u# -s#"),
    # --- names of files
    ("ls dir vdir stat readlink realpath basename dirname df", "text", "*"),
    ("tree", "text", "-adfhpsugDFCinNJ -L# -I# -P# -o> --dirsfirst --gitignore --du --prune"),
    ("du", "text", "-sahckmlxb -d# --max-depth# --exclude# --summarize --human-readable"),
    ("fd fdfind", "text", "-HIaLups0igF -e# -t# -d# -E# -c# --type# --extension# --hidden"),
    ("find", "find", ""),
    # --- the content of files
    ("cat", "read", "-AbeEnstTuv --number --show-all"),
    ("tac rev tsort", "read", ""),
    ("head", "read", "-qvz -n# -c# -# --lines# --bytes#"),
    ("tail", "read", "-fFqvrz -n# -c# -# --lines# --bytes# --follow= --retry"),
    ("wc", "read", "-cmlwL --lines --words --bytes --chars --max-line-length"),
    ("bat batcat", "read", "-pnA -l# -r# --style# --plain --number --language#"),
    ("cut", "read", "-nsz -b# -c# -d# -f# --complement --delimiter# --fields# --only-delimited"),
    ("paste", "read", "-sz -d# --delimiters# --serial"),
    ("column", "read", "-txnJ -s# -o# -c# -N# --table --separator#"),
    ("comm", "read", "-123i"),
    ("cmp", "read", "-slb -n# -i#"),
    ("md5sum sha1sum sha256sum sha512sum", "read", "-btz --tag"),
    ("shasum", "read", "-bt -a#"),
    ("od", "read", "-vcxbdo -A# -t# -N# -j# -w="),
    ("hexdump", "read", "-Cvcxbdo -n# -s#"),
    ("file", "read", "-bhLkIi --mime-type --mime --brief"),
    ("fold", "read", "-bs -w#"),
    ("base64", "read", "-dD -w# -b# --decode --wrap#"),
    ("zcat", "read", "-f"),
    ("tr", "text", "-cCdstu --delete --squeeze-repeats --complement"),
    ("sort", "read", "! -bdfgiMhnrRVcCsuzm -k# -t# -S# -o> --reverse --numeric-sort --unique --key#"
     " --human-numeric-sort --field-separator# --version-sort --stable --output>"),
    ("uniq", "inout", "-cdDuiz -f# -s# -w# --count --repeated --unique --ignore-case"),
    ("xxd", "inout", "-puib -c# -l# -g# -r"),
    ("diff", "look", "-uqrNwBbiyaEptc -U# -C# -W# -x# -I# --brief --unified= --recursive"
     " --ignore-all-space --side-by-side --exclude# --new-file --strip-trailing-cr"),
    ("grep egrep fgrep", "pattern", "-cEFGHihlLnoPqsvwxabUZz -r/ -R/ -A# -B# -C# -m# -e# -f< -#"
     " --include# --exclude# --exclude-dir# --colour= --recursive/ --ignore-case --line-number"
     " --invert-match --word-regexp --count --files-with-matches --only-matching --no-filename"
     " --line-buffered --text --max-count# --context# --extended-regexp --fixed-strings"),
    ("rg", "search", "! -iSswvcloFPUNHnuhaLxIpq0. -A# -B# -C# -m# -e# -f< -g# -t# -T# -r# -j# -d#"
     " -M# -E# --type# --glob# --iglob# --files --files-with-matches --hidden --no-ignore --json"
     " --line-number --no-heading --heading --stats --max-depth# --sort# --count --ignore-case"
     " --multiline --fixed-strings --only-matching --context#"),
    ("jq", "jq", "-rcnesajSCMR -f< --raw-output --compact-output --null-input --exit-status --slurp"
     " --tab --sort-keys --raw-input --arg## --argjson## --indent#"),
    ("sed gsed", "sed", ""),
    ("awk gawk mawk nawk", "awk", "-F# -v#"),
    # --- changes of files
    ("touch", "mark", "-acmh -r# -t# -d# --date#"),
    ("mkdir", "mark", "-pv -m# --parents --mode#"),
    ("rmdir", "mark", "-pv --parents"),
    ("rm unlink", "mark", "-fivdI -r/ -R/ --recursive/"),
    ("chmod", "mark", "-cfvhwx -R/ --recursive/"),
    ("chown chgrp", "mark", "-cfvh -R/ --recursive/"),
    ("truncate", "write", "-c -s# --size#"),
    ("tee", "write", "-ai --append"),
    ("gzip gunzip bzip2 bunzip2 xz unxz", "write", "-dkcfvtlq -# -r/ --keep --stdout"),
    ("cp", "copy", "-finpPLHdsuTvx -a/ -r/ -R/ -t> --recursive/ --archive/ --parents --no-clobber"),
    ("mv", "copy", "-finuvT -t> --no-clobber"),
    ("ln", "copy", "-sfnvrTih -t> --symbolic --no-dereference --relative"),
    ("tar bsdtar gtar", "tar", "! -cxtrzjJvpkOamhP -f# -C^ --exclude# --strip-components# --zstd"
     " --gzip --extract --create --file# --directory^ --xz --bzip2"),
    ("unzip", "unzip", "-lvtpcoqnjZ -d#  -x#"),
    # --- programs that run others
    ("timeout gtimeout", "then1", "-v -k# -s# --foreground --preserve-status --signal#"
     " --kill-after#"),
    ("nice", "then", "-n# -# --adjustment#"),
    ("nohup exec builtin noglob nocorrect", "then", ""),
    ("setsid", "then", "-wf --wait --fork"),
    ("stdbuf", "then", "-i# -o# -e# --output# --input# --error#"),
    ("time", "then", "-pv"),
    ("command", "then", "-p"),
    ("sudo doas", "then", "-nEHS -u# -g#"),
    ("npx bunx pnpx", "then", "-y --no-install --bun"),
    ("uvx", "then", "--from# --with#"),
    ("env", "env", "! -i -u#"),
    ("xargs", "xargs", ""),
    ("sh bash dash zsh", "shell", "-euxlc -o#"),
    ("source .", "source", ""),
    ("eval trap su", "code", ""),
    # --- the network
    ("curl", "url", "! -sSLfIkvigGN46 -o> -O -X# -H? -d? -w? -u# -A# -e# -m# -F? -T< -b? -c> -x#"
     " --output> --output-dir^ --remote-name --request# --header? --data? --data-raw# --json?"
     " --data-binary? --data-urlencode? --form? --write-out? --user# --user-agent# --max-time#"
     " --connect-timeout# --retry# --retry-delay# --show-error --location --fail --head --insecure"
     " --compressed --url? --cookie? --create-dirs --fail-with-body --include"),
    ("wget", "url", "! -qcSN -O> -P> -T# -t# --timeout# --tries# --header# --spider"
     " --output-document> --no-check-certificate --server-response"),
    # --- programs with subcommands
    ("git", "sub", "-Pp -C^ -c# --no-pager --no-optional-locks"),
    ("npm yarn", "sub", "-vs --prefix^ --cwd^"),
    ("pnpm", "sub", "-rwsvC --filter# -F# --dir^ --recursive --workspace-root"),
    ("cargo", "sub", "-qv --locked --offline"),
    ("docker-compose", "sub", "-f: -p# --env-file< --profile#"),
    ("go", "sub", "-C^ 1word"),
    ("docker gh bun uv pip poetry pipenv coverage bundle", "sub", "-qv"),
)  # fmt: skip

_JS_TOOLS = """
    astro babel biome esbuild jest knip mocha next nuxt oxlint parcel playwright postcss prisma sass
    storybook stylelint swc tailwindcss tsc turbo typedoc vite vitest vue-tsc webpack wrangler
    markdownlint depcheck svelte-check drizzle-kit tsd changeset commitlint
"""
_PYTHON_TOOLS = """
    pytest py.test mypy pyright basedpyright flake8 bandit vulture unittest uvicorn gunicorn flask
    hypercorn celery alembic sphinx-build mkdocs pre-commit twine build venv virtualenv pip-compile
    pip-audit ty deptry lint-imports interrogate yamllint streamlit
"""
_RUNNERS: Rows = (
    ("python python2 python3 pypy pypy3", "script", "! -uBOEsSqIVh -W# -X# -m:"),
    ("node nodejs", "script", "! -v -r: --require: --import: --test --watch --inspect --no-warnings"
     " --trace-warnings --enable-source-maps --max-old-space-size# --env-file< --check"),
    ("tsx ts-node", "script", "! -v --watch --esm --transpile-only --tsconfig< -P<"),
    ("ruby perl php lua luajit Rscript julia elixir", "script", "! -v"),
    ("make gmake", "targets", "! -kBsnqrRw -j= -l= -C^ -f: --no-print-directory --always-make"
     " --keep-going --jobs= --directory^ --file: --makefile:"),
    ("just", "targets", "! -ln --justfile: -f: --summary"),
    ("rake", "targets", "! -TPsqn -f: --tasks --trace"),
    ("gradle gradlew", "targets", "! -qim -x# -P# --info --no-daemon --stacktrace --tests#"
     " --parallel --build-cache --offline --continue --rerun-tasks --console#"),
    ("mvn mvnw", "targets", "! 1word -q -B -U -o -e -X -D# -pl# -am -P# -T# -f: -ntp"),
    ("cmake", "project", "! -S# -B# -G# -D# -j= --build# --target# --config# --preset# --parallel="
     " --install# --prefix# --fresh"),
    (_JS_TOOLS + _PYTHON_TOOLS, "project", "*"),
    ("rspec phpunit phpstan pest shellcheck hadolint golangci-lint staticcheck", "project", "*"),
    ("pylint", "project", "! -E -j# -d# -e# -f# --disable# --enable# --errors-only"),
    ("black isort prettier ruff rubocop pint eslint codespell pyupgrade", "format", "*"),
    ("gofmt goimports", "format", "-ldsew"),
    ("shfmt clang-format", "format", "-wi"),
    ("rustfmt", "format", "--edition# --check"),
    ("json.tool", "inout", "--sort-keys --indent# --compact --no-ensure-ascii --json-lines"),
)  # fmt: skip

_INSTALLING = "install i add remove uninstall update upgrade lock sync"
_COMPOSE: Program = (
    "--build --detach --remove-orphans --volumes --follow --tail= --no-deps --force-recreate --wait"
    " --services --since# --scale# --no-build --rm --no-cache --pull --env# --user# --workdir#",
    ("up down ps logs stop start restart pull images top ls version rm kill", "args",
     "-dfvqat -n#"),
    ("build", "args", "-q"),
    ("exec run", "then1", "-itdT -e# -u# -w# -v& -p#"),
)  # fmt: skip
_DOCKER_THINGS: Program = (
    "--format# --filter#", ("ls list prune inspect rm info df", "args", "-afqv")
)  # fmt: skip
_OF_PYTHON: Program = (
    "--upgrade --user --no-deps --editable# --requirement< --no-cache-dir --force-reinstall"
    " --pre --dev --no-dev --system --group# --extra# --all-extras --frozen --locked --python#"
    " --only# --index-url# --no-root --without# --no-interaction --outdated --tree"
    " --break-system-packages",
    (f"{_INSTALLING} list freeze show check search debug index compile tree version init build"
     " export graph venv fmt lint test", "project", "! -UqIDnovlf -e# -r< -c< -t& -P# -G#"),
    ("run", "then", ""),
)  # fmt: skip
_OF_JS: Program = (
    "--any --save-dev --save --dev --global --production --no-audit --no-fund"
    " --legacy-peer-deps --omit# --workspace# --workspaces --prefer-offline --ignore-scripts"
    " --json --no-save --prod --save-exact --frozen-lockfile --immutable --if-present --watch="
    " --coverage= --port# --fix --filter# --recursive --depth# --ci --host= --hot --bail"
    " --latest",
    ("test t start stop run run-script lint typecheck format check dev build preview", "task",
     "! -wsr -C^ -p#"),
    (f"{_INSTALLING} ci rm up dedupe prune rebuild link audit", "project", "! -DgSEPyrW -w#"),
    ("ls list outdated view info why root bin version versions licenses", "args", "-agl"),
    ("exec dlx x", "then", "-yr"),
    ("init", "none", "-y"),
)  # fmt: skip
_THINGS = ("container", "image", "volume", "network", "system")
_GH_THINGS = ("pr", "issue", "run", "workflow", "repo", "release", "auth", "search")
_OF_GH: Program = (
    "--json# --jq# --limit# --state# --author# --label# --search# --title# --body# --base#"
    " --head# --assignee# --reviewer# --repo# --branch# --workflow# --comments --draft --fill"
    " --squash --merge --rebase --delete-branch --auto --approve --comment --request-changes"
    " --web --log --body-file< --log-failed --exit-status --failed --name-only --patch --watch"
    " --language#",
    ("list status view diff checks create edit comment review merge close reopen ready checkout"
     " watch rerun cancel code prs issues repos commits", "paths",
     "-adfmrswc -R# -L# -t# -b# -B# -H# -l# -F? -q#"),
)  # fmt: skip

_SUBCOMMANDS: dict[str, Program] = {
    "git": (
        "--oneline --graph --decorate= --stat= --since# --until# --after# --before# --author#"
        " --grep# --format= --pretty= --name-only --name-status --abbrev-commit --follow --reverse"
        " --merges --no-merges --first-parent --max-count# --date# --patch --no-patch --shortstat"
        " --numstat --diff-filter# --cherry-pick --left-right --cached --staged --word-diff="
        " --check --exit-code --ignore-all-space --unified# --merge-base --abbrev-ref= --short="
        " --verify --show-toplevel --git-dir --porcelain= --untracked-files --ignored"
        " --show-current --merged= --no-merged= --contains= --sort# --delete --remotes --tags"
        " --others --modified --exclude-standard --message# --amend --no-edit --allow-empty"
        " --no-verify --signoff --fixup# --file< --soft --mixed --hard --keep --detach --track="
        " --orphan# --ours --theirs --worktree --abort --continue --skip --quit --no-ff --ff-only"
        " --ff --squash --no-commit --onto# --autostash --autosquash --root --prune --depth#"
        " --no-tags --rebase= --no-rebase --set-upstream --force-with-lease= --follow-tags"
        " --single-branch --include-untracked --update --get --get-all --global --local"
        " --show-origin --is-inside-work-tree --count --always --heads --index --stage --show-stash"
         " --files-with-matches --line-number",
        ("status", "text", "-sbuvz --branch"),
        ("log shortlog reflog", "revs", "! -pusnzgi -n# -U# -L? -S# -G# -#"),
        ("show", "revs", "! -pusqzm -n# -U#"),
        ("diff", "revs", "! -puwbzRWM -U# -S# -G#"),
        ("blame", "revs", "! -lstfewCMn -L#"),
        ("rev-parse", "text", "-q"),
        ("merge-base rev-list describe show-ref for-each-ref check-ignore", "text", "-nqv -#"),
        ("ls-files ls-tree", "text", "-comdsuzrtl"),
        ("branch", "text", "-avrdDmMf -u#"),
        ("tag", "text", "-alfdn -m#"),
        ("remote", "args", "-v"),
        ("config", "config", "-l"),
        ("stash", "changes", "-upqa -m#"),
        ("add stage", "paths", "-ANunpfv"),
        ("commit", "paths", "-aqvspnS -m# -F< -C# -c#"),
        ("reset", "paths", "-qNp"),
        ("checkout switch", "changes", "-bBcCfqtdlm"),
        ("restore", "changes", "-SWqp -s# --source#"),
        ("rm mv", "changes", "-rfnqk"),
        ("clean", "changes", "-fdxXnqi -e#"),
        ("apply am", "patch", "-3Rv -p#"),
        ("merge", "args", "-qnv -m# -X#"),
        ("rebase", "args", "! -qvf"),
        ("cherry-pick revert", "args", "-nex -m# -X#"),
        ("fetch", "args", "! -pqvtfa -j#"),
        ("pull", "args", "! -qvpr"),
        ("push", "args", "! -ufqvdn"),
        ("ls-remote", "args", "! -thqv"),
        ("clone", "clone", "! -qvn -b# --branch#"),
        ("init", "mark", "-q -b# --initial-branch#"),
        ("grep", "search", "! -niEFPwclLhHoIvWpq -A# -B# -C# -e# -m#"),
        ("cat-file", "revs", "-ptse"),
        ("hash-object", "paths", "-w -t#"),
        ("gc fsck version help", "text", "-q --auto"),
        ("worktree submodule bisect", "sub", ""),
    ),
    "git worktree": ("", ("list prune remove", "args", "-fv --porcelain")),
    "git bisect": ("", ("start good bad reset log skip", "args", "")),
    "git submodule": ("", ("update init status sync", "args", "-q --init --recursive --remote")),
    "gh": ("",
        ("pr issue run workflow repo release auth search", "sub", ""),
        ("api", "args", "-X# -H# -q# -f# -F? --method# --header# --jq# --field? --raw-field#"
         " --input< --paginate"),
    ),
    **{f"gh {it}": _OF_GH for it in _GH_THINGS},
    "docker": (
        "--format# --filter# --tail# --follow --no-trunc --since# --until# --no-stream --rm --name#"
        " --env# --env-file< --volume& --mount& --network# --user# --workdir# --publish# --detach"
        " --platform# --interactive --tty --tag# --file: --no-cache --build-arg# --target# --pull",
        ("ps images logs inspect info version stats top port diff history search pull push tag"
         " stop start restart rm rmi kill pause unpause wait", "args", "-afqtsv -n#"),
        ("container image volume network system", "sub", ""),
        ("compose", "sub", "-f: -p# --profile# --project-directory^"),
        ("exec", "then1", "-itd -e# -u# -w#"),
        ("run", "then1", "! -itdPq -e# -u# -w# -p# -v& -h# -m#"),
        ("build", "build", "-q -t# -f:"),
        ("cp", "copy", "-aqL"),
    ),
    **{f"docker {it}": _DOCKER_THINGS for it in _THINGS},
    "docker compose": _COMPOSE,
    "docker-compose": _COMPOSE,
    "coverage": ("",
        ("run", "script", "! -apm: --source# --branch --append --omit# --include#"),
        ("report html xml json combine erase", "args", "-m -i --show-missing --fail-under#"),
    ),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _OF_JS),
    "cargo": (
        "--any --release --workspace --all-features --no-default-features --features# --package#"
        " --lib --bins --bin# --test# --example# --tests --examples --all-targets --target#"
        " --target-dir# --locked --offline --frozen --no-run --no-fail-fast --message-format# --fix"
        " --allow-dirty --check --doc --no-deps --open --dev --profile# --jobs# --exclude#"
         " --depth#",
        (f"{_INSTALLING} build b test t run r check c clippy doc bench tree metadata fetch"
         " clean publish package search nextest outdated init new", "project", "! -vqr -p# -j#"
          " -F#"),
        ("fmt", "format", "-v -p#"),
    ),
    "go": ("1word",
        ("build test run vet mod get install list version env doc clean work", "project", "! -v -x"
         " -n -a -u -race -cover -short -json -run# -bench# -benchmem -count# -timeout# -o> -mod#"
         " -tags# -coverprofile> -trimpath -failfast -parallel# -p# -m"),
        ("fmt", "format", "-n -x"),
    ),
    "uv": (_OF_PYTHON[0],
        ("run", "then", "! -qp --with# --no-sync --active --env-file<"),
        ("pip tool", "sub", ""),
        *_OF_PYTHON[1:],
    ),
    **dict.fromkeys(("pip", "uv pip", "uv tool", "poetry", "pipenv"), _OF_PYTHON),
    "bundle": ("",
        (f"{_INSTALLING} check list show outdated", "project", "-j#"),
        ("exec", "then", ""),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A program, or a subcommand of one, such as `git log`.

    `kind` is how it uses its operands; each option has the sign of its value. `marks` are the words
    about all options: `!`, `*`, `--any`, `1word`.
    """

    name: str
    kind: str
    options: dict[str, str]
    marks: frozenset[str]


def _row(name: str, kind: str, text: str) -> Row:
    words = f"{_COMMON} {text}".split()
    marks = frozenset(words) & {"!", "*", "--any", "1word"}
    options: dict[str, str] = {}
    for word in words:
        plain = word.rstrip("#<>?&^:=/")
        sign = word[len(plain) :]
        if word in marks:
            continue
        if word == "-#" or plain.startswith("--") or "1word" in marks:
            options[word if word == "-#" else plain] = sign
        else:
            options |= {f"-{letter}": "" for letter in plain[1:-1]}
            options[f"-{plain[-1]}"] = sign
    return Row(name, kind, options, marks)


KNOWN: dict[str, Row] = {
    name: _row(name, kind, options)
    for names, kind, options in (*_TOOLS, *_RUNNERS)
    for name in names.split()
}
"""Rows by the name of their program, or by program and subcommand."""
for _program, (_shared, *_rows) in _SUBCOMMANDS.items():
    for _names, _kind, _options in _rows:
        for _name in _names.split():
            _key = f"{_program} {_name}"
            KNOWN.setdefault(_key, _row(_key, _kind, f"{_shared} {_options}"))
KNOWN["pip3"] = KNOWN["pip"]
