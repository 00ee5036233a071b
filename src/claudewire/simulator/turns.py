"""A turn from its prompt to its result."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec.structs import replace

from ..wire import (
    SESSION,
    ErrorInfo,
    ErrorMessage,
    InformationalMessage,
    InitMcpServer,
    InitMessage,
    InitPlugin,
    NotificationMessage,
    ResultMessage,
    SessionCreatedMessage,
    TaskNotificationOrigin,
    TextBlock,
    UnknownSystemMessage,
    UserMessage,
    nullable,
)
from .chat import Chat, Scenario
from .checkpoints import begin_checkpoint
from .commands import Command, command_of
from .engine import Engine, Interrupted, Overtaken
from .hooks import HookCalls
from .model_output import API_ERRORS, PROMPT, EndTurn
from .opening import AGENTS, COMMANDS
from .session import SimulatedSession, new_uuid

__all__ = ["announce", "init_message", "run_turn"]

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was "
    "a file edit, the new_string was NOT written to the file). STOP what you are doing and wait "
    "for the user to tell you how to proceed."
)
ABORTED = ("aborted_streaming", "aborted_tools")
STOPPED = (
    f"{REJECTED} Correction to the text above: this call was stopped while running, not refused "
    "before it ran. It may have run in part or in full, and its changes may have been written. No "
    "permission prompt was involved. Work it started elsewhere (a remote command, a background "
    "process) may still be running, so check before starting the same work again. The instruction "
    "to stop and wait still stands."
)


class _SuccessfulResult(ResultMessage, tag="result", kw_only=True):
    """The result of a turn that was completed."""

    api_error_status: int | None = nullable()


async def run_turn(engine: Engine, scenario: Scenario, prompt: UserMessage | None) -> None:
    """Play the scenario for one prompt, or for none, and report the result."""
    started = engine.clock()
    together = (prompt, *engine.take_alike(prompt))
    chat = Chat(engine, *together)
    engine.overtake = chat.overtake
    if prompt is not None:
        engine.session.subagents.clear()
        engine.session.in_background = 0
    engine.set_state("running")
    for each in together:
        engine.tell_progress(each, "started")
    end = await _play(engine, chat, scenario)
    for message in chat.taken[len(together) :]:
        engine.tell_progress(message, "completed")
    _finish(engine, chat, end, _finished(engine, chat, end, started))
    for each in together:
        engine.tell_progress(each, "cancelled" if end.terminal_reason in ABORTED else "completed")
    if not engine.prompts:
        engine.set_state("idle")


async def _play(engine: Engine, chat: Chat, scenario: Scenario) -> EndTurn:
    try:
        if chat.prompt is not None and chat.prompt.should_query is False and _notes_end(engine):
            announce(engine)
            return EndTurn("success", "", "completed")
        if (called := command_of(chat)) is not None:
            return await _command(engine, chat, *called)
        refusal = await _submit(engine, chat)
        if refusal is not None:
            return refusal
        await _work(engine, chat, scenario)
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
    engine.session.remember("assistant", chat.last_text)
    return EndTurn("success", "", "completed")


async def _command(
    engine: Engine, chat: Chat, name: str | None, command: Command, arguments: str
) -> EndTurn:
    """Carry out a command of the CLI itself."""
    engine.session.prompt_id = new_uuid()
    engine.transcript.queue("dequeue")
    chat.command, chat.rounds = name, 0
    await command(engine, chat, arguments, partial(_announce, engine, chat))
    return EndTurn("success", "", None)


def _notes_end(engine: Engine) -> bool:
    """Whether a message that asks for no answer gets an empty result."""
    return engine.session.persona.notes == "result"


async def _submit(engine: Engine, chat: Chat) -> EndTurn | None:
    """Call the hooks for the prompt, and begin the turn; its end if they block the prompt."""
    session = engine.session
    if chat.prompt is None:
        _take_notice(engine, chat)
        _announce(engine, chat)
        return None
    session.prompt_id = new_uuid()
    for _ in chat.taken:
        engine.transcript.queue("dequeue")
    called = _expand(session, chat)
    hooks = await chat.hook("UserPromptSubmit", prompt=chat.text)
    uuid = chat.prompt.uuid or new_uuid()
    _announce(engine, chat, uuid)
    if hooks.blocked is None:
        session.remember("user", chat.text)
        engine.transcript.prompt(chat.prompt, called=called, text=chat.text, uuid=uuid)
        begin_checkpoint(engine, uuid)
        if hooks.context:
            chat.text = f"{chat.text}\n\n{hooks.context}"
        return None
    chat.rounds = 0
    chat.last_text = (
        f"UserPromptSubmit operation blocked by hook:\n{hooks.blocked}\n\n"
        f"Original prompt: {chat.text}"
    )
    stamp = session.stamp()
    outcome = {"kind": "blocked_by_hook", "prompt_kept": False, "reason": hooks.blocked}
    chat.emit(
        InformationalMessage(
            content=chat.last_text,
            level="warning",
            prevent_continuation=True,
            prompt_submit_outcome=outcome,
            **stamp,
        )
    )
    engine.transcript.refuse(stamp["uuid"], chat.last_text, hooks.blocked)
    return EndTurn("success", "", None)


def _take_notice(engine: Engine, chat: Chat) -> None:
    """Keep what the model is told of the work that has ended, if a subagent did it."""
    session = engine.session
    if session.notices:
        chat.notice = session.notices.pop(0)
        session.prompt_id = new_uuid()
        engine.transcript.queue("dequeue")
        engine.transcript.prompt(chat.notice)


def _expand(session: SimulatedSession, chat: Chat) -> tuple[str, str] | None:
    """Replace the call of a command or a skill by its text; return its name and arguments."""
    word, _, arguments = chat.text.removeprefix("/").partition(" ")
    file = session.configuration.slash_commands().get(word)
    if file is None or not chat.text.startswith("/"):
        return None
    chat.text = file.filled(arguments.strip())
    return word, arguments.strip()


async def _work(engine: Engine, chat: Chat, scenario: Scenario) -> None:
    """Play the scenario for the prompt, and for queued prompts and hook feedback after it."""
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
        if hooks.blocked and not hooks.stopped:
            kept_going = True
            _keep_going(engine, chat, hooks)
        if chat.structured is None:
            _keep_stop_hooks(engine, hooks)
        if not hooks.blocked or hooks.stopped:
            return


def _keep_going(engine: Engine, chat: Chat, hooks: HookCalls) -> None:
    """Tell the model, and the SDK, why a hook does not let the agent stop."""
    chat.text = f"Stop hook feedback:\n{hooks.blocked}"
    chat.as_user(TextBlock(chat.text), {"isMeta": True}, is_synthetic=True)
    _notify(engine)
    engine.transcript.attach(
        "hook_blocking_error",
        told=f'Stop:Callback hook blocking error from command: "callback": {hooks.blocked}',
        hookName="Stop:Callback",
        toolUseID=hooks.id,
        hookEvent="Stop",
        blockingError={"blockingError": hooks.blocked, "command": "callback"},
    )


def _keep_stop_hooks(engine: Engine, hooks: HookCalls) -> None:
    if hooks.called:
        engine.transcript.system(
            "stop_hook_summary",
            hookCount=len(hooks.called),
            hookInfos=hooks.called,
            hookErrors=[hooks.blocked] if hooks.blocked else [],
            hookAdditionalContext=[],
            preventedContinuation=hooks.stopped,
            stopReason="",
            hasOutput=hooks.has_output or hooks.blocked is not None,
            level="suggestion",
            toolUseID=hooks.id,
        )


def _notify(engine: Engine) -> None:
    """Send the notification of the real CLI for a hook that does not let the agent stop."""
    engine.send(
        NotificationMessage(
            key="stop-hook-error",
            text="Stop hook error occurred",
            priority="immediate",
            **engine.session.stamp(),
        )
    )


def _announce(engine: Engine, chat: Chat, uuid: str | None = None) -> None:
    """Send what a turn begins with; `uuid` is that of the prompt."""
    session, prompt = engine.session, chat.prompt
    if prompt is not None and prompt.raw.get("type") == "session.create":
        engine.send(SessionCreatedMessage(session_id=session.id))
    if engine.manner.init == "turn" or not session.announced:
        announce(engine, chat.taken)
    session.turns += 1
    if prompt is not None:
        engine.echo(prompt, uuid)


def announce(engine: Engine, prompts: Sequence[UserMessage] = ()) -> None:
    """Describe the session, when it begins or a turn for these prompts does."""
    init, session = init_message(engine.session, prompts), engine.session
    if engine.speaks == SESSION.name:
        init = replace(
            init, tool_descriptions={name: f"Simulates {name}" for name in init.tools or ()}
        )
    session.announced = True
    engine.send(init)


def _finish(engine: Engine, chat: Chat, end: EndTurn, result: ResultMessage) -> None:
    """Tell that the turn is over, and how, in the way of the dialect."""
    how, text = engine.manner.errors, end.error or chat.last_text
    if result.is_error and how == "system":
        data = {"type": "system", "subtype": "error", "error": text, **engine.session.stamp()}
        engine.send(UnknownSystemMessage(subtype="error", data=data))
    elif result.is_error and how == "failed":
        subtype = "error_during_execution" if result.subtype == "success" else result.subtype
        result = replace(result, subtype=subtype, errors=[text], result=None)
    if engine.manner.stops:
        _stop(engine, chat, end, result)
    engine.send(result)


def _stop(engine: Engine, chat: Chat, end: EndTurn, result: ResultMessage) -> None:
    """End a turn by a message that says that the model has stopped, or by an error."""
    if result.is_error and end.terminal_reason not in ABORTED:
        text = end.error or chat.last_text
        engine.send(ErrorMessage(error=ErrorInfo(result.api_error_type or result.subtype, text)))
    elif not engine.say_last("end_turn"):
        chat.model.end_silently()
        engine.say_last("end_turn")


def init_message(session: SimulatedSession, prompts: Sequence[UserMessage] = ()) -> InitMessage:
    """The description of the session with which each turn begins."""
    servers = [
        InitMcpServer(name=name, status=it.status, source=it.source)
        for name, it in session.servers.items()
    ]
    configured = session.configuration
    plugins = [
        InitPlugin(it.name, it.path, source=f"{it.name}@inline", version=it.version)
        for it in configured.plugins
    ]
    return InitMessage(
        cwd=session.cwd,
        original_cwd=session.cwd,
        additional_directories=configured.folders,
        memory_paths={"auto": f"{session.transcript.rpartition('/')[0]}/memory/"},
        tools=session.tools(),
        mcp_servers=servers,
        model=session.model,
        permission_mode=session.mode,
        slash_commands=[*configured.slash_commands(), *COMMANDS],
        terminal_slash_commands=[],
        api_key_source="none",
        claude_code_version=session.persona.version if session.persona.tells_version else None,
        output_style=configured.style,
        agents=[*AGENTS, *session.agents, *configured.agents],
        skills=list(configured.skills),
        plugins=[*plugins, InitPlugin("simulation", "builtin", source="simulation@builtin")],
        fast_mode_state="off",
        fast_mode_disabled_reason="sdk_opt_in_required",
        view_mode="default",
        capabilities=list(session.persona.capabilities),
        user_message_uuids=_named(session, prompts),
        **_newer_fields(session),
        **session.stamp(),
    )


def _newer_fields(session: SimulatedSession) -> dict[str, Any]:
    """What the description has since versions of which each says more than the one before."""
    fields: dict[str, Any] = {"analytics_disabled": True, "product_feedback_disabled": True}
    if session.persona.describes == "nothing":
        return {}
    if session.persona.describes != "privacy":
        fields["messaging_socket_path"] = f"/tmp/claudewire-sim/{session.id}.sock"
    if session.persona.describes == "all":
        fields["per_turn_effort_active"] = True
        fields |= {"ultrathink_available": False, "ultrathink_typed_raises": False}
    return fields


def _named(session: SimulatedSession, prompts: Sequence[UserMessage]) -> list[str] | None:
    uuids = [it.uuid for it in prompts if it.uuid is not None]
    return uuids if uuids and session.persona.names == "all" else None


def _origin(chat: Chat) -> Any:
    """What the turn comes from, if not from an ordinary prompt."""
    given = chat.prompt or chat.notice
    return TaskNotificationOrigin() if given is None else given.origin


def _interrupted(chat: Chat) -> EndTurn:
    tool = chat.tool
    if tool is not None:
        if not chat.tool_runs:
            chat.deny(tool)
        told = STOPPED if chat.tool_runs else REJECTED
        meta = {"non_execution_kind": "user-rejected"}
        kept = {"toolDenialKind": "user-rejected"}
        chat.tool_result(tool.id, told, True, "User rejected tool use", meta, kept)
    chat.model.close("end_turn")
    what = " for tool use" if tool is not None else ""
    words = f"[Request interrupted by user{what}]"
    if chat.engine.manner.notes_interrupts:
        chat.as_user(TextBlock(words))
    elif chat.engine.manner.stops:
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
    stop = chat.model.stop_reason
    error = f"[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop}"
    return EndTurn("error_during_execution", error, reason)


def _finished(engine: Engine, chat: Chat, end: EndTurn, started: float) -> ResultMessage:
    session = engine.session
    failed = end.subtype != "success" or chat.api_error_status is not None
    session.exit_status = 1 if failed else 0
    session.results += 1
    elapsed = int((engine.clock() - started) * 1000)
    ok = end.subtype == "success"
    kind = _SuccessfulResult if ok and end.terminal_reason is not None else ResultMessage
    unreported, session.unreported = session.unreported, {}
    return kind(
        subtype=end.subtype,
        is_error=failed,
        duration_ms=elapsed,
        duration_api_ms=elapsed,
        num_turns=chat.rounds,
        result=_told(chat) if ok else None,
        errors=None if ok else [end.error],
        stop_reason=chat.model.stop_reason,
        total_cost_usd=session.cost,
        usage=chat.model.usage,
        model_usage=dict(session.spent),
        model_usage_since_last_result=unreported,
        subagent_stats=_subagents(session),
        safety_stops=0,
        permission_denials=chat.denials,
        structured_output=chat.structured,
        terminal_reason=end.terminal_reason,
        api_error_status=chat.api_error_status,
        api_error_type=API_ERRORS.get(chat.api_error_status) if chat.api_error_status else None,
        result_index=session.results - 1,
        origin=_origin(chat),
        local_command=chat.command,
        **_names(chat),
        queued_turn_count=len(engine.prompts),
        fast_mode_state="off",
        fast_mode_disabled_reason="sdk_opt_in_required",
        **session.stamp(),
        **(_timing(chat) if ok and chat.model.calls else {}),
    )


def _names(chat: Chat) -> dict[str, Any]:
    """Name the prompts that were answered, as far as the version does."""
    which = chat.session.persona.names
    first = chat.prompt.uuid if chat.prompt is not None else None
    return {
        "user_message_uuid": None if which == "none" else first,
        "user_message_uuids": _named(chat.session, chat.taken),
    }


def _told(chat: Chat) -> str:
    """The result of a turn as a string."""
    if chat.structured is None:
        return chat.last_text
    return msgspec.json.encode(chat.structured).decode()


def _timing(chat: Chat) -> dict[str, Any]:
    """The timing of the model's answer, which comes at once."""
    names = ("ttft_ms", "ttft_stream_ms", "time_to_request_ms", "first_content_frame_ms")
    timing: dict[str, Any] = dict.fromkeys(names, 0)
    if chat.prompt is not None and chat.prompt.uuid is not None:
        timing["request_sent_wall_ms"] = int(time.time() * 1000)
        timing["first_request_input_tokens"] = PROMPT
        timing["first_request_cache_read_input_tokens"] = 0
    return timing


def _subagents(session: SimulatedSession) -> dict[str, Any]:
    """What a result reports about subagents."""
    count, apart = sum(session.subagents.values()), session.in_background
    return {
        "spawned": count,
        "requested": {"background": apart, "foreground": count - apart, "unset": 0},
        "started_in_background": apart,
        "max_depth": 1 if count else 0,
        "spawned_by_subagents": 0,
        "completed": count,
        "failed": 0,
        "killed": {"parent": 0, "user": 0, "system": 0},
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
        "by_type": dict(session.subagents),
    }
