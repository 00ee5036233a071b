"""The JSON objects that the documents show, by id."""

from __future__ import annotations

from conformance import examples

EXAMPLES = {example.id: example.object for example in examples()}
