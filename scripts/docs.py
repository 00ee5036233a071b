"""Check the documents: links, snippets, and that the API reference is what the docstrings say.

Every relative link has to lead somewhere, every Python snippet to be Python. With `--write` the
reference is written anew first.
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
LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")


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


def dead_links(text: str, folder: Path) -> Iterator[str]:
    prose = FENCE.sub(lambda fence: "\n" * fence[0].count("\n"), text)
    for link in LINK.finditer(prose):
        target = link[1]
        if "://" in target or target.startswith("mailto:"):
            continue
        if not (folder / target).exists():
            yield f"{prose.count(chr(10), 0, link.start()) + 1}: nothing at {target}"


def outdated_reference() -> Iterator[str]:
    page = ROOT / "docs" / "api.md"
    if not page.exists() or page.read_text(encoding="utf-8") != reference():
        yield "docs/api.md: not what the docstrings say; `scripts/docs --write` makes it anew"


def main() -> int:
    if "--write" in sys.argv[1:]:
        (ROOT / "docs" / "api.md").write_text(reference(), encoding="utf-8")
    problems = 0
    for problem in outdated_reference():
        print(problem)
        problems += 1
    for path in documents():
        text = path.read_text(encoding="utf-8")
        for problem in [*bad_snippets(text), *dead_links(text, path.parent)]:
            print(f"{path.relative_to(ROOT)}:{problem}")
            problems += 1
    print(f"{len(documents())} documents, {problems} problems")
    return min(problems, 1)


if __name__ == "__main__":
    sys.exit(main())
