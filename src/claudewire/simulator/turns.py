"""A turn from its prompt to its result."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from .. import wire
from .chat import Chat, Scenario
from .checkpoints import begin_checkpoint
from .commands import Command, command_of
from .engine import Engine, Interrupted, Overtaken
from .introduction import COMMANDS, announce, named_prompts
from .model_output import EndTurn, api_error
from .session import new_uuid

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)
STOPPED = (
    f"{REJECTED} Correction to the text above: this call was stopped while running, not refused "
    "before it ran. It may have run in part or in full, and its changes may have been written. No "
    "permission prompt was involved. Work it started elsewhere (a remote command, a background "
    "process) may still be running, so check before starting the same work again. The instruction "
    "to stop and wait still stands."
)
ABORTED = ("aborted_streaming", "aborted_tools")


async def run_turn(engine: Engine, scenario: Scenario, prompt: wire.UserMessage | None) -> None:
    """Play the scenario for one prompt, or for none, and report the result."""
    started, session = engine.clock(), engine.session
    together = [prompt]
    if prompt is not None and prompt.priority is not None and session.persona.lifecycle:
        together += engine.take_queued(prompt.priority)
    chat = Chat(engine, *together)
    engine.overtake = chat.overtake
    engine.set_state("running")
    for each in together:
        engine.tell_progress(each, "started")
    end = await _play(chat, scenario)
    for message in chat.taken[len(together) :]:
        engine.tell_progress(message, "completed")
    _finish(chat, end, _result(chat, end, started))
    for each in together:
        engine.tell_progress(each, "cancelled" if end.terminal_reason in ABORTED else "completed")
    if not engine.prompts:
        engine.set_state("idle")


async def _play(chat: Chat, scenario: Scenario) -> EndTurn:
    engine, session = chat.engine, chat.session
    try:
        is_note = chat.prompt is not None and chat.prompt.should_query is False
        if is_note and session.persona.notes == "result":
            announce(engine)
            return EndTurn("success", "", "completed")
        if (called := command_of(chat)) is not None:
            return await _run_command(chat, *called)
        if (refusal := await _submit(chat)) is not None:
            return refusal
        await _work(chat, scenario)
    except Overtaken:
        return _overtaken(chat)
    except Interrupted:
        return _interrupted(chat)
    except EndTurn as end:
        chat.model.close("end_turn")
        return end
    except Exception as error:
        engine.note_failure(error)
        words = f"{type(error).__name__}: {error}"
        return EndTurn("error_during_execution", words, "model_error")
    session.remember("assistant", chat.last_text)
    return EndTurn("success", "", "completed")


async def _run_command(chat: Chat, name: str | None, command: Command, arguments: str) -> EndTurn:
    chat.session.prompt_id = new_uuid()
    chat.command, chat.rounds = name, 0
    await command(chat, arguments)
    return EndTurn("success", "", None)


async def _submit(chat: Chat) -> EndTurn | None:
    """Call the hooks for the prompt and begin the turn; return its end if they block it."""
    session, transcript = chat.session, chat.engine.transcript
    if chat.prompt is None:
        if session.notices:
            chat.notice = session.notices.pop(0)
            session.prompt_id = new_uuid()
            transcript.prompt(chat.notice)
        chat.announce()
        return None
    session.prompt_id = new_uuid()
    called = _expand(chat)
    hooks = await chat.hook("UserPromptSubmit", prompt=chat.text)
    uuid = chat.prompt.uuid or new_uuid()
    chat.announce(uuid)
    if hooks.blocked is not None:
        return _refuse(chat, hooks.blocked)
    session.remember("user", chat.text)
    transcript.prompt(chat.prompt, called=called, uuid=uuid)
    begin_checkpoint(chat.engine, uuid)
    if hooks.context:
        chat.text = f"{chat.text}\n\n{hooks.context}"
    return None


def _refuse(chat: Chat, reason: str) -> EndTurn:
    """End a turn whose prompt a hook blocks."""
    chat.rounds = 0
    chat.last_text = (
        f"UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {chat.text}"
    )
    uuid = new_uuid()
    chat.engine.tell(
        wire.InformationalMessage,
        content=chat.last_text,
        level="warning",
        prevent_continuation=True,
        prompt_submit_outcome={"kind": "blocked_by_hook", "prompt_kept": False, "reason": reason},
        uuid=uuid,
    )
    chat.engine.transcript.refuse(uuid, chat.last_text)
    return EndTurn("success", "", None)


def _expand(chat: Chat) -> tuple[str, str, str] | None:
    """Replace the call of a command or a skill by its text; return name, arguments and text."""
    word, _, arguments = chat.text.removeprefix("/").partition(" ")
    file = chat.session.configuration.slash_commands().get(word)
    if not chat.text.startswith("/"):
        return None
    if file is None:
        if word in COMMANDS or word.startswith("mcp__"):
            chat.engine.warn_once(f"/{word}")
        return None
    if re.search(r"!`|\$\d|\$ARGUMENTS\[", file.text):
        chat.engine.warn_once(f"a part of /{word}")
    chat.text = file.filled(arguments.strip())
    return word, arguments.strip(), chat.text


async def _work(chat: Chat, scenario: Scenario) -> None:
    """Play the scenario for the prompt, then for queued prompts and the feedback of hooks."""
    kept_going = False
    while True:
        await scenario(chat)
        while chat.absorbed:
            chat.text = chat.absorbed.pop(0).text
            await scenario(chat)
        await chat.hand_in()
        chat.model.close("end_turn")
        chat.model.check_budget()
        hooks = await chat.hook(
            "Stop",
            stop_hook_active=kept_going,
            last_assistant_message=chat.last_text or None,
            background_tasks=[],
            session_crons=[],
        )
        if not hooks.blocked or hooks.stopped:
            return
        kept_going = True
        chat.text = f"Stop hook feedback:\n{hooks.blocked}"
        chat.as_user(chat.text, kept={"isMeta": True}, is_synthetic=True)
        notice: dict[str, Any] = {"key": "stop-hook-error", "text": "Stop hook error occurred"}
        chat.engine.tell(wire.NotificationMessage, **notice, priority="immediate")


# --- the end of a turn ----------------------------------------------------------------------------


def _interrupted(chat: Chat) -> EndTurn:
    tool, behavior = chat.tool, chat.engine.behavior
    if tool is not None:
        if not chat.tool_runs:
            chat.deny(tool)
        told = STOPPED if chat.tool_runs else REJECTED
        chat.tool_result(tool.id, told, True, "User rejected tool use")
    chat.model.close("end_turn")
    words = f"[Request interrupted by user{' for tool use' if tool is not None else ''}]"
    if behavior.notes_interrupts:
        chat.as_user(words)
    elif not behavior.has_results:
        chat.model.text(words)  # the model has to stop, or the turn would not end
        chat.model.close("end_turn")
    return _aborted(chat, ABORTED[0] if tool is None else ABORTED[1])


def _overtaken(chat: Chat) -> EndTurn:
    """End a turn for a prompt with the priority `now`, when no tool runs."""
    if chat.tool is not None:
        chat.tool_result(chat.tool.id, "Tool permission request aborted", True)
        chat.last_text = ""
        return EndTurn("success", "", ABORTED[1])
    chat.model.close("end_turn")
    return _aborted(chat, ABORTED[0])


def _aborted(chat: Chat, reason: str) -> EndTurn:
    stop = chat.model.stop_reason or "null"
    error = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"
    return EndTurn("error_during_execution", error, reason)


def _finish(chat: Chat, end: EndTurn, result: wire.ResultMessage) -> None:
    """Report the end of the turn in the way of the dialect."""
    engine, text = chat.engine, end.error or chat.last_text
    if result.is_error and engine.behavior.errors == "system":
        data = {"type": "system", "subtype": "error", "error": text, **chat.session.stamp()}
        engine.send(wire.UnknownSystemMessage(data=data))
    if engine.behavior.has_results:
        engine.send(result)
    elif result.is_error and end.terminal_reason not in ABORTED:
        engine.send(
            wire.ErrorMessage(error=wire.ErrorInfo(result.api_error_type or result.subtype, text))
        )
    elif not engine.say_last("end_turn"):
        chat.model.end_silently()
        engine.say_last("end_turn")


def _result(chat: Chat, end: EndTurn, started: float) -> wire.ResultMessage:
    session, model, engine = chat.session, chat.model, chat.engine
    ok, status = end.subtype == "success", chat.api_error_status
    failed = not ok or status is not None
    session.exit_status = 1 if failed else 0
    session.results += 1
    elapsed = int((engine.clock() - started) * 1000)
    unreported, session.unreported = session.unreported, {}
    text = chat.last_text
    if chat.structured is not None:
        text = msgspec.json.encode(chat.structured).decode()
    given = chat.prompt or chat.notice
    named = chat.prompt is not None and session.persona.names != "none"
    return wire.ResultMessage(
        subtype=end.subtype,
        is_error=failed,
        duration_ms=elapsed,
        duration_api_ms=elapsed,
        num_turns=chat.rounds,
        result=text if ok else None,
        errors=None if ok else [end.error],
        stop_reason=model.stop_reason,
        total_cost_usd=session.cost,
        usage=model.usage,
        model_usage=dict(session.spent),
        model_usage_since_last_result=unreported,
        permission_denials=chat.denials,
        structured_output=chat.structured,
        terminal_reason=end.terminal_reason,
        api_error_status=status,
        api_error_type=None if status is None else api_error(status)[0],
        result_index=session.results - 1,
        origin=wire.TaskNotificationOrigin() if given is None else given.origin,
        local_command=chat.command,
        user_message_uuid=chat.prompt.uuid if chat.prompt is not None and named else None,
        user_message_uuids=named_prompts(session, chat.taken),
        queued_turn_count=len(engine.prompts),
        **session.stamp(),
    )
