"""Check the documents, and build the generated pages.

Each relative link has to lead to a file, and to a heading if it names one; each Python snippet has
to be Python.
"""

from __future__ import annotations

import ast
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from conformance import check, fidelity

import claudewire

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "docs" / "build"

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def bad_snippets(text: str) -> Iterator[str]:
    for fence in FENCE.finditer(text):
        language, code = fence.groups()
        if language != "python":
            continue
        line = text.count("\n", 0, fence.start(2)) + 1
        try:
            compile(code, "snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT | ast.PyCF_ONLY_AST)
        except SyntaxError as error:
            yield f"{line + (error.lineno or 1) - 1}: {error.msg}"


def without_code(text: str) -> str:
    """Blank the fences of a page, so that the lines keep their numbers."""
    return FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)


def dead_links(text: str, path: Path) -> Iterator[str]:
    """Find links to files that do not exist, and to headings that their file does not have."""
    prose = without_code(text)
    for link in LINK.finditer(prose):
        target, anchor = link.groups()
        if "://" in target or target.startswith("mailto:"):
            continue
        file = path.parent / target if target else path
        line = prose.count("\n", 0, link.start()) + 1
        if not file.exists():
            yield f"{line}: nothing at {target}"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{line}: {target or 'this page'} has no heading #{anchor}"


def anchors(text: str) -> set[str]:
    """Return the anchors of a page, as GitHub makes them of its headings."""
    titles = HEADING.findall(without_code(text))
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def problems_of(path: Path) -> list[str]:
    """Return the problems of a page, each with its place."""
    text = path.read_text(encoding="utf-8")
    found = [*bad_snippets(text), *dead_links(text, path)]
    return [f"{path.relative_to(ROOT)}:{problem}" for problem in found]


def build() -> None:
    """Build the API reference and the tables of conformance and fidelity."""
    packages = [it.name for it in pkgutil.iter_modules(claudewire.__path__, "claudewire.")]
    api = ["pdoc", "--docformat", "google", "--output-directory", str(BUILD / "api")]
    public = [name for name in packages if not name.partition(".")[2].startswith("_")]
    subprocess.run([sys.executable, "-m", *api, "claudewire", *public], check=True)
    check.main(["--write", str(BUILD / "conformance.md")])
    page = fidelity.render(fidelity.read())
    (BUILD / "fidelity.md").write_text(page, encoding="utf-8")
    print(f"{BUILD.relative_to(ROOT)} has the API reference, conformance.md and fidelity.md")


def main() -> int:
    if "--build" in sys.argv[1:]:
        build()
        return 0
    problems = [it for path in documents() for it in problems_of(path)]
    print(*problems, f"{len(documents())} documents, {len(problems)} problems", sep="\n")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
