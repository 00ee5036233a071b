"""A chat over HTTP: replies are streamed, and people approve what the agent does.

    pip install fastapi uvicorn
    uvicorn web_chat:app --timeout-graceful-shutdown 5

    POST /chats/NAME      {"prompt": "…"}        the reply, as server-sent events
    GET  /approvals                              what waits for a person, as server-sent events
    POST /approvals/ID    {"action": "allow"}    answer it

Each chat has a session, which stays open between requests. When a client disconnects in the middle
of a reply, the turn is interrupted. When the server stops, all sessions are closed.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import anyio
from fastapi import FastAPI, HTTPException
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

import claudewire

OPTIONS = claudewire.Options(
    allow=["Read", "Glob", "Grep"],  # everything else needs an approval
    approver="inbox",
    decide_within=600,
    include_partial_messages=True,
)


class Chat:
    """One conversation. Its CLI is started by the first prompt, and again after a failure."""

    def __init__(self, name: str, inbox: claudewire.Inbox) -> None:
        self.session = claudewire.open(OPTIONS, name=name, inbox=inbox)
        self._starting = anyio.Lock()

    async def ready(self) -> claudewire.Session[Any]:
        async with self._starting:
            if self.session.failure is not None:
                await self.session.restart()  # resumes the conversation
            elif self.session.state == claudewire.SessionState.NEW:
                await self.session.start()
        return self.session


class Chats:
    """All conversations, and one inbox for what waits in any of them."""

    def __init__(self) -> None:
        self.inbox = claudewire.Inbox()
        self._chats: dict[str, Chat] = {}

    async def session(self, name: str) -> claudewire.Session[Any]:
        if name not in self._chats:
            self._chats[name] = Chat(name, self.inbox)
        return await self._chats[name].ready()

    async def close(self) -> None:
        async with anyio.create_task_group() as tasks:
            for chat in self._chats.values():
                tasks.start_soon(chat.session.close)
        self._chats.clear()


class Prompt(BaseModel):
    prompt: Annotated[str, Field(min_length=1)]


class Answer(BaseModel):
    """The name of an action, such as `allow` or `deny`, and its arguments."""

    action: str
    arguments: dict[str, Any] = {}
    by: str = ""  # in a real application: the user who is logged in


chats = Chats()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await chats.close()


app = FastAPI(lifespan=lifespan)


@app.post("/chats/{name}")
async def post_prompt(name: str, body: Prompt) -> StreamingResponse:
    return event_stream(reply_to(name, body.prompt))


async def reply_to(name: str, prompt: str) -> AsyncIterator[str]:
    try:
        claude = await chats.session(name)
        async with claude.turn(prompt) as turn:  # interrupts the turn if this is cancelled
            async for block in turn.iter_blocks():
                if block.kind == "text" and block.added:  # a new block is a new paragraph
                    yield event("text", {"block": block.id, "text": block.added})
                elif block.kind == "tool_use" and block.change == "completed":
                    yield event("tool", {"block": block.id, "name": block.name})
            reply = await turn
            yield event("done", {"ok": reply.ok, "cost_usd": reply.cost_usd})
    except claudewire.Error as error:
        yield event("error", {"message": error.message, "advice": error.advice})


@app.get("/approvals")
async def get_approvals() -> StreamingResponse:
    return event_stream(approvals())


async def approvals() -> AsyncIterator[str]:
    """Everything that waits now, and every change from now on."""
    with chats.inbox.changes() as changes:
        async for change in changes:
            yield event(change.what, change.request.describe())


@app.post("/approvals/{id}", status_code=204)
async def post_answer(id: str, body: Answer) -> None:
    try:
        counts = chats.inbox.act(id, body.action, body.arguments, by=body.by)
    except claudewire.AnswerError as error:
        raise HTTPException(422, error.message) from None
    if not counts:
        raise HTTPException(409, "This was decided already, or is no longer asked.")


def event(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


def event_stream(events: AsyncIterator[str]) -> StreamingResponse:
    # The second header keeps nginx from holding events back.
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)
