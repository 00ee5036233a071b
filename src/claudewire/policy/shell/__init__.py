"""Shell commands: the programs that a command line runs, and the commands that a rule is about.

It uses the standard library only. Start with `parser`, which takes a command line apart. `programs`
is about those that run others, and `patterns` compares commands with rules. For rules that deny,
`known` is the table of known programs, and `doing` says what a command does by its row.
"""
