"""Check the documents: links, snippets, and that what is made from the source is up to date.

Every relative link has to lead to a file, and to a heading if it names one; every Python snippet
has to be Python. The API reference is made of docstrings, and a fence whose info is the path of a
file in this project shows that file. With `--write` both are written first.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from scripts.api_reference import reference

ROOT = Path(__file__).resolve().parent.parent

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
SHOWN_FILE = re.compile(
    r"^```python (?P<path>(?:examples|tests)/[\w/]+\.py)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def documents() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


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


def outdated_reference() -> Iterator[str]:
    page = ROOT / "docs" / "api.md"
    if not page.exists() or page.read_text(encoding="utf-8") != reference():
        yield "docs/api.md: not what the docstrings say; `scripts/docs --write` makes it anew"


def with_files(text: str) -> str:
    """Fill in the files that a page shows."""

    def shown(fence: re.Match[str]) -> str:
        code = (ROOT / fence["path"]).read_text(encoding="utf-8")
        return f"```python {fence['path']}\n{code}```"

    return SHOWN_FILE.sub(shown, text)


def outdated_files(text: str) -> Iterator[str]:
    if text != with_files(text):
        yield "1: a file that it shows has changed; `scripts/docs --write` copies it"


def write() -> None:
    (ROOT / "docs" / "api.md").write_text(reference(), encoding="utf-8")
    for path in documents():
        path.write_text(with_files(path.read_text(encoding="utf-8")), encoding="utf-8")


def problems_of(path: Path) -> list[str]:
    """Return what is wrong with a page, each with its place."""
    text = path.read_text(encoding="utf-8")
    found = [*bad_snippets(text), *outdated_files(text), *dead_links(text, path)]
    return [f"{path.relative_to(ROOT)}:{problem}" for problem in found]


def main() -> int:
    if "--write" in sys.argv[1:]:
        write()
    problems = [*outdated_reference(), *(it for path in documents() for it in problems_of(path))]
    print(*problems, f"{len(documents())} documents, {len(problems)} problems", sep="\n")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
