"""How an exported conversation looks."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --page: #fdfcfa; --text: #1f1e1b; --soft: #6b6860; --line: #e4e1d9; --user: #f3f0e8;
  --code: #f5f3ee; --accent: #a8512b; --bad: #b3261e; --added: #e3f4e3; --removed: #fbe5e2;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #1c1b19; --text: #e9e6df; --soft: #a19d93; --line: #37352f; --user: #2a2824;
    --code: #262420; --accent: #e08a5f; --bad: #f2857c; --added: #1f3323; --removed: #42221f;
  }
}
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body {
  margin: 0 auto; max-width: 50rem; padding: 2.5rem 1.25rem 4rem; background: var(--page);
  color: var(--text); font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
  overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 1rem; }
header { border-bottom: 1px solid var(--line); margin-bottom: 2rem; padding-bottom: 1.25rem; }
dl { display: flex; flex-wrap: wrap; gap: .35rem 1.75rem; margin: 0; font-size: .85rem; }
dl div { display: flex; gap: .5rem; }
dt { color: var(--soft); white-space: nowrap; }
dd { margin: 0; }
section { margin: 0 0 2.5rem; scroll-margin-top: 1rem; }
article > :first-child, details > :first-child + * { margin-top: 0; }
article > :last-child { margin-bottom: 0; }
.user {
  background: var(--user); border-left: 3px solid var(--accent); border-radius: 0 .5rem .5rem 0;
  padding: .85rem 1.1rem 1rem; margin-bottom: 1.25rem;
}
.user h2 {
  color: var(--accent); font-size: .8rem; font-weight: 600; letter-spacing: .03em;
  margin: 0 0 .35rem;
}
.user time { color: var(--soft); font-weight: 400; margin-left: .4rem; }
.model { margin: 1.1rem 0; }
p, ul, ol, blockquote, table { margin: .7rem 0; }
h3, h4, h5, h6 { line-height: 1.3; margin: 1.4rem 0 .5rem; }
h3 { font-size: 1.15rem; } h4 { font-size: 1.05rem; } h5, h6 { font-size: 1rem; }
ul, ol { padding-left: 1.5rem; }
li { margin: .2rem 0; }
li > ul, li > ol { margin: .2rem 0; }
a { color: var(--accent); }
blockquote {
  border-left: 3px solid var(--line); color: var(--soft); margin-left: 0; padding-left: 1rem;
}
hr { border: 0; border-top: 1px solid var(--line); margin: 1.5rem 0; }
pre, code {
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: .86em;
}
code { background: var(--code); border-radius: .25rem; padding: .1em .35em; }
pre {
  background: var(--code); border: 1px solid var(--line); border-radius: .4rem; line-height: 1.45;
  margin: .7rem 0; max-height: 30rem; overflow: auto; padding: .7rem .9rem; white-space: pre-wrap;
}
pre code { background: none; font-size: 1em; padding: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .93em; }
th, td {
  border: 1px solid var(--line); padding: .3rem .6rem; text-align: left; vertical-align: top;
}
th { background: var(--code); }
img { border: 1px solid var(--line); border-radius: .4rem; height: auto; max-width: 100%; }
details { margin: .55rem 0; }
summary { cursor: pointer; }
.tool, .thought { border: 1px solid var(--line); border-radius: .5rem; font-size: .92rem; }
.tool > summary, .thought > summary { padding: .4rem .8rem; }
.tool > :not(summary), .thought > :not(summary) { margin: .5rem .8rem .8rem; }
.tool[open] > summary, .thought[open] > summary { border-bottom: 1px solid var(--line); }
.tool summary b { font-weight: 600; }
.tool summary span, .thought > summary { color: var(--soft); }
.tool.failed > summary :is(b, i) { color: var(--bad); }
.thought > :not(summary) { color: var(--soft); font-style: italic; }
.agent { border-left: 3px solid var(--line); padding-left: 1rem; }
.agent section { margin-bottom: 1rem; }
.diff { padding-left: 0; padding-right: 0; }
.diff > * { display: block; min-height: 1.45em; padding: 0 .9rem; text-decoration: none; }
.diff ins { background: var(--added); } .diff del { background: var(--removed); }
.note { color: var(--soft); font-size: .88rem; }
p.note { align-items: center; display: flex; gap: .8rem; margin: 1.2rem 0; }
p.note::before, p.note::after { border-top: 1px solid var(--line); content: ""; flex: 1; }
.tool p.note { margin: .5rem .8rem; }
nav { font-size: .85rem; border-top: 1px solid var(--line); padding-top: 1rem; }
nav h2 { color: var(--soft); font-size: .8rem; font-weight: 600; margin: 0 0 .5rem; }
nav ol { margin: 0; padding-left: 1.5rem; }
nav a { color: inherit; text-decoration: none; }
nav a:hover { text-decoration: underline; }
footer { color: var(--soft); font-size: .8rem; margin-top: 2rem; }
@media (min-width: 84rem) {
  nav {
    border: 0; left: max(1.5rem, calc(50vw - 25rem - 17.5rem)); max-height: calc(100vh - 5rem);
    overflow: auto; padding: 0; position: fixed; top: 2.75rem; width: 15rem;
  }
}
@media print {
  body { max-width: none; padding: 0; } nav { display: none; }
  pre { max-height: none; } details > summary { list-style: none; }
}
"""
