"""What the model asks the user, and answers that cannot get lost.

    async def on_question(request: QuestionRequest) -> PermissionResult:
        return request.answer({"Colour": "Green", "Sizes": ["S", "L"]})

The CLI puts a question as a request to use the tool AskUserQuestion, and takes the answers in the
input of an allow. It does not say so if it cannot read them: the model is told that there was no
answer. So everything is checked here, and what an older CLI would lose is said in another way.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from ..wire import (
    CanUseTool,
    PermissionResult,
    PermissionResultAllow,
    Question,
    QuestionOption,
    Request,
    questions_of,
)
from .pending import AnswerError, Clock, PendingKind, require_text
from .permissions import ToolPending

__all__ = [
    "ASK_TOOL",
    "AnswerForm",
    "Question",
    "QuestionHandler",
    "QuestionOption",
    "QuestionRequest",
    "Reply",
    "form_for",
]

ASK_TOOL = "AskUserQuestion"

TELLS_UNANSWERED = "ask_user_question_unanswered_v1"
"""The capability of a CLI that reads notes, free responses and why there is no answer."""

UNANSWERED = "The user did not answer the questions."

AnswerForm = Literal["joined", "lists", "bare"]
"""How the answers are written.

* `joined`: beside the questions, several labels in one text: what every real CLI understands;
* `lists`: the same with a list where several may be chosen, for a peer that wants one;
* `bare`: lists, and without the questions.
"""


def form_for(dialect: str) -> AnswerForm:
    """The form that goes with the dialect of the peer, by its name."""
    return "lists" if dialect == "envelope" else "joined"


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one question.

    Attributes:
        choose: what was chosen: labels, or indices of options.
        other: words of one's own, instead of an option or besides.
        notes: what there is to say about the choice.
    """

    choose: tuple[str | int, ...] = ()
    other: str | None = None
    notes: str | None = None


ReplyValue: TypeAlias = "str | int | Reply | Collection[str | int] | Mapping[str, Any] | None"
"""An answer to one question: a label, an index, several of them, a `Reply` (or a mapping with its
fields), or None to skip the question."""


class QuestionRequest(ToolPending):
    """The model asks the user one or more questions.

    Attributes:
        questions: the questions, each with `question`, `header`, `options` and `multi_select`.
        form: how the answers are written.
        tells_unanswered: whether the CLI reads notes, free responses and skipped questions.
    """

    kind: ClassVar[PendingKind] = "question"
    actions: ClassVar[tuple[str, ...]] = ("answer", "respond", "skip")

    def __init__(
        self,
        request: Request,
        *,
        session: str = "",
        cwd: str | None = None,
        clock: Clock | None = None,
        form: AnswerForm = "joined",
        capabilities: Collection[str] = (),
    ) -> None:
        body = request.body
        asked = questions_of(body.input) if isinstance(body, CanUseTool) else []
        title = " ".join(it.question for it in asked) or "A question that cannot be read"
        super().__init__(request, title=title, session=session, cwd=cwd, clock=clock)
        self.questions: tuple[Question, ...] = tuple(asked)
        self.form: AnswerForm = form
        self.tells_unanswered: bool = TELLS_UNANSWERED in capabilities and form != "bare"

    # --- answering -------------------------------------------------------------------------------

    def answer(
        self,
        answers: Mapping[Any, Any] | ReplyValue = None,
        *,
        other: str | None = None,
        notes: str | Mapping[Any, str] | None = None,
    ) -> PermissionResult:
        """Answer the questions.

        Args:
            answers: for each question an answer, by the question's header, index or exact text;
                for a single question the answer itself. An answer is the label or index of an
                option, a list of them where several may be chosen, a `Reply`, or None to skip.
            other: words of one's own, for a single question.
            notes: what there is to say about the choice; with several questions by question.

        Raises:
            AnswerError: that is no answer to these questions; nothing has been answered.
        """
        if answers is None and other is None and notes is None:
            raise AnswerError("There is no answer; to give none, call `skip()`")
        replies = self._replies(answers, other)
        for index, note in self._notes(notes):
            given = replies[index] or Reply()
            replies[index] = Reply(given.choose, given.other, require_text("A note", note))
        return self._give(self._result_of(replies))

    def respond(self, text: str) -> PermissionResult:
        """Say something instead of answering the questions."""
        text = require_text("The response", text)
        if not self.tells_unanswered:
            return self._give(self._deny(f"The user chose none of the options, and said: {text}"))
        why = {it.question: {"unanswered": "replied_in_chat"} for it in self.questions}
        said = {"answers": {}, "response": text, "annotations": why}
        return self._give(self._allow({**self.input, **said}))

    def skip(self) -> PermissionResult:
        """Leave all questions unanswered. The model is told so."""
        return self._give(self._result_of([None] * len(self.questions)))

    def fit(self, answer: object) -> PermissionResult:
        """Check that something is an answer; a mere yes is none."""
        fitting = super().fit(answer)
        if isinstance(fitting, PermissionResultAllow):
            given = fitting.updated_input or {}
            if not isinstance(given.get("answers"), dict):
                raise TypeError(f"An allow without `answers` answers no question; {self._advice()}")
        return fitting

    def describe(self) -> dict[str, Any]:
        """All that there is to show, as JSON has it."""
        return super().describe() | {"questions": self.input.get("questions", [])}

    # --- reading what is given -------------------------------------------------------------------

    def _replies(self, answers: object, other: str | None) -> list[Reply | None]:
        if not isinstance(answers, Mapping):
            if len(self.questions) != 1:
                raise AnswerError(
                    f"There are {len(self.questions)} questions; say which answer is for which: "
                    + ", ".join(f"{_name(it)!r}" for it in self.questions)
                )
            answers = {0: _with_other(answers, other)}
        elif other is not None:
            raise AnswerError("Give words of your own with a `Reply` for the question they are for")
        given = {self._index(key): value for key, value in answers.items()}
        if len(given) != len(answers):
            raise AnswerError("The same question is answered twice")
        missing = [it for index, it in enumerate(self.questions) if index not in given]
        if missing:
            names = ", ".join(f"{_name(it)!r}" for it in missing)
            raise AnswerError(f"There is no answer to {names}; give None to skip a question")
        return [_reply(it, given[index]) for index, it in enumerate(self.questions)]

    def _notes(self, notes: object) -> Iterator[tuple[int, object]]:
        if isinstance(notes, Mapping):
            for key, note in notes.items():
                yield self._index(key), note
        elif notes is not None:
            if len(self.questions) != 1:
                raise AnswerError("Say which question each note is for")
            yield 0, notes

    def _index(self, key: object) -> int:
        """Find the question that is meant: by its text, its header or its index."""
        if isinstance(key, str):
            for named in (
                [it.question for it in self.questions],
                [it.header for it in self.questions],
            ):
                found = [index for index, name in enumerate(named) if name == key]
                if len(found) > 1:
                    raise AnswerError(f"{key!r} can mean several questions; use the index")
                if found:
                    return found[0]
        # An object in JSON has no other keys than texts.
        number = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key
        if (index := _index(number, len(self.questions))) is not None:
            return index
        known = ", ".join(f"{_name(it)!r}" for it in self.questions)
        raise AnswerError(f"There is no question {key!r}; the questions are {known}")

    # --- writing ---------------------------------------------------------------------------------

    def _result_of(self, replies: list[Reply | None]) -> PermissionResult:
        answers: dict[str, str | list[str]] = {}
        annotations: dict[str, dict[str, str]] = {}
        for question, reply in zip(self.questions, replies, strict=True):
            value = self._value(question, reply)
            if value is not None and answers.setdefault(question.question, value) != value:
                raise AnswerError(
                    f"Two questions have the same text, {question.question!r}; the CLI cannot tell "
                    "their answers apart"
                )
            if self.tells_unanswered and (told := _annotation(question, reply)):
                annotations[question.question] = told
        if not answers and not self.tells_unanswered:
            return self._deny(UNANSWERED)  # an older CLI would say that they were answered
        more: dict[str, Any] = {"annotations": annotations} if annotations else {}
        asked = {} if self.form == "bare" else self.input
        return self._allow({**asked, "answers": answers, **more})

    def _value(self, question: Question, reply: Reply | None) -> str | list[str] | None:
        if reply is None:
            return None
        parts = [_label(question, it) for it in reply.choose]
        parts += [] if reply.other is None else [reply.other]
        if reply.notes is not None and not self.tells_unanswered:
            parts = [*parts[:-1], f"{parts[-1] if parts else '(no option)'} (note: {reply.notes})"]
        if not parts:
            return None
        if self.form == "joined" or not question.multi_select:
            return ", ".join(parts)
        return parts


def _name(question: Question) -> str:
    return question.header or question.question


def _index(value: object, count: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < count else None


def _with_other(value: object, other: str | None) -> object:
    """The answer to a single question, with words of one's own besides."""
    if other is None:
        return value
    if isinstance(value, Reply | Mapping):
        raise AnswerError("Put the words of your own into the `Reply`")
    chosen = () if value is None else (value,) if isinstance(value, str | int) else value
    return {"choose": chosen, "other": other}


def _reply(question: Question, value: object) -> Reply | None:
    if value is None:
        return None
    if isinstance(value, Reply):
        value = {"choose": value.choose, "other": value.other, "notes": value.notes}
    if isinstance(value, Mapping):
        return _reply_of(question, **value) if value.keys() <= _FIELDS else _refuse(question, value)
    return _reply_of(question, choose=value)


_FIELDS = {"choose", "other", "notes"}


def _refuse(question: Question, value: object) -> Reply:
    raise AnswerError(f"{value!r} is no answer to {_name(question)!r}")


def _reply_of(
    question: Question, choose: object = (), other: object = None, notes: object = None
) -> Reply:
    chosen = (choose,) if isinstance(choose, str | int) else choose
    if not isinstance(chosen, Collection):
        return _refuse(question, choose)
    labels = tuple(dict.fromkeys(_label(question, it) for it in chosen))
    words = None if other is None else require_text("The answer", other)
    many = len(labels) + (words is not None)
    if many > 1 and not question.multi_select:
        raise AnswerError(f"Only one answer can be given to {_name(question)!r}, not {many}")
    if not many and notes is None:
        raise AnswerError(f"Nothing is chosen for {_name(question)!r}; give None to skip it")
    return Reply(labels, words, None if notes is None else require_text("A note", notes))


def _label(question: Question, choice: object) -> str:
    labels = [option.label for option in question.options]
    if isinstance(choice, str) and choice in labels:
        return choice
    if (index := _index(choice, len(labels))) is not None:
        return labels[index]
    known = ", ".join(map(repr, labels)) or "none"
    raise AnswerError(
        f"{choice!r} is no option of {_name(question)!r}; the options are {known}. "
        "Words of your own go into `other`"
    )


def _annotation(question: Question, reply: Reply | None) -> dict[str, str]:
    if reply is None:
        return {"unanswered": "skipped"}
    told: dict[str, str | None] = {"notes": reply.notes}
    if not reply.choose and reply.other is None:
        told["unanswered"] = "skipped"
    if len(reply.choose) == 1 and not question.multi_select:
        options = {option.label: option for option in question.options}
        told["preview"] = options[str(reply.choose[0])].preview
    return {key: value for key, value in told.items() if value is not None}


QuestionHandler = Callable[
    [QuestionRequest], PermissionResult | Awaitable[PermissionResult | None] | None
]
"""Answers questions: a function or a coroutine function. A plain function runs in a thread."""
