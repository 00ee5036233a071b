"""What is told without a question: it waits for a prompt, and is told again if it may be lost."""

from __future__ import annotations

import pytest

from claudewire.session.notes import Notes, is_command
from claudewire.wire import ImageBlock, TextBlock, URLSource, UserMessage

PICTURE = ImageBlock(URLSource("https://example.com/a.png"))


def told(notes: Notes) -> list[str]:
    """Return what is put before a prompt."""
    prompt = notes.put_before(UserMessage.of("So?"))
    assert prompt.message.role == "user"
    if prompt.content == "So?":
        return []
    *before, last = [block.text for block in prompt.content if isinstance(block, TextBlock)]
    assert last == "So?"
    return before


def test_what_waits_is_put_before_the_next_prompt_in_its_order_and_once() -> None:
    notes = Notes()
    notes.hold("one")
    notes.hold([TextBlock("two"), TextBlock("three")])
    assert len(notes) == 2
    assert notes.put_before(UserMessage.of("/compact")).content == "/compact"
    assert told(notes) == ["one", "two", "three"]
    assert len(notes) == 0
    prompt = UserMessage.of("So?")
    assert notes.put_before(prompt) is prompt


@pytest.mark.parametrize("confirmed", [False, True])
def test_another_cli_is_told_again_what_the_one_before_has_not_answered(confirmed: bool) -> None:
    notes = Notes()
    notes.hold("before the prompt")
    told(notes)
    notes.sent("by itself", "a")
    notes.sent("still queued", "b")
    if confirmed:
        notes.confirm({"b"})
    notes.hold("not told yet")
    notes.take_back()
    answered = [] if confirmed else ["before the prompt", "by itself"]
    assert told(notes) == [*answered, "still queued", "not told yet"]
    notes.confirm()
    notes.take_back()
    assert told(notes) == []


def test_what_is_taken_back_is_taken_back_once() -> None:
    notes = Notes()
    notes.sent("one", "a")
    notes.take_back()
    notes.take_back()
    assert told(notes) == ["one"]


def test_only_what_the_cli_has_dropped_is_told_again() -> None:
    notes = Notes()
    notes.hold("before the prompt")
    told(notes)
    notes.sent("one", "a")
    notes.sent("two", "b")
    notes.dropped(None)  # no message has no id
    notes.dropped("c")
    assert len(notes) == 0
    notes.dropped("a")
    notes.dropped("a")
    assert told(notes) == ["one"]
    notes.confirm({"b"})
    notes.take_back()
    assert told(notes) == ["two"]


@pytest.mark.parametrize(
    ("content", "is_one"),
    [
        ("/clear", True),
        ("  \n/tmp has it", True),
        ("See /tmp", False),
        ("", False),
        ([], False),
        ([PICTURE], False),
        ([PICTURE, TextBlock("See")], False),
        ([PICTURE, TextBlock("See"), TextBlock(" /clear")], True),
    ],
    ids=str,
)
def test_what_begins_with_a_slash_is_a_command(content: str | list[object], is_one: bool) -> None:
    assert is_command(content) is is_one
