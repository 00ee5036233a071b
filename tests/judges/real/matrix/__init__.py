"""The behaviour of real CLIs, as a table of behaviours and versions.

Each behaviour is a small async function in one of the modules by subject, which uses the public
API and is given a `Stage`. pytest runs some of the table (`tests/judges/real/test_matrix.py`), and
`scripts/matrix` all of it. Start with `behaviour`.
"""
