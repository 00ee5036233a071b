"""Shell commands: the programs that a command line runs, and the commands that a rule is about.

It uses the standard library only. Start with `parser`, which takes a command line apart; then
`programs`, about those that run others, `indirect_commands`, which finds the commands behind these,
and `patterns`, which compares commands with rules.
"""
