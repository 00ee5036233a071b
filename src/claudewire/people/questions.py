"""Questions of the model to the user, and answers that cannot get lost.

    async def on_question(request: QuestionRequest) -> PermissionResult:
        return request.answer({"Colour": "Green", "Sizes": ["S", "L"]})

The CLI asks a question as a request to use the tool AskUserQuestion, and reads the answers from the
input of an allow. If it cannot read them, it reports nothing and tells the model that there was no
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
    Request,
    questions_of,
)
from .pending import AnswerError, Clock, PendingKind, require_text
from .permissions import ToolPending

__all__ = [
    "ASK_TOOL",
    "AnswerForm",
    "QuestionAnswer",
    "QuestionHandler",
    "QuestionRequest",
    "form_for",
]

ASK_TOOL = "AskUserQuestion"

TELLS_UNANSWERED = "ask_user_question_unanswered_v1"
"""The capability of a CLI that reads notes, free responses and why there is no answer."""

UNANSWERED = "The user did not answer the questions."

AnswerForm = Literal["joined", "lists", "bare"]
"""How the answers are written.

* `joined`: beside the questions, several labels in one string: what every real CLI understands;
* `lists`: the same with a list where several may be chosen, for a peer that wants one;
* `bare`: lists, and without the questions.
"""


def form_for(dialect: str) -> AnswerForm:
    """The form that goes with the dialect of the peer, by its name."""
    return "lists" if dialect == "envelope" else "joined"


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """The answer to one question.

    Attributes:
        choose: what was chosen: labels, or indices of options.
        other: free text, instead of an option or besides.
        notes: a remark about the choice.
    """

    choose: tuple[str | int, ...] = ()
    other: str | None = None
    notes: str | None = None


AnswerValue: TypeAlias = (
    "str | int | QuestionAnswer | Collection[str | int] | Mapping[str, Any] | None"
)
"""An answer to one question: a label, an index, several of them, a `QuestionAnswer` (or a mapping
with its fields), or None to skip the question."""


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
        answers: Mapping[Any, Any] | AnswerValue = None,
        *,
        other: str | None = None,
        notes: str | Mapping[Any, str] | None = None,
    ) -> PermissionResult:
        """Answer the questions.

        Args:
            answers: an answer for each question, by the question's header, index or exact text;
                for a single question the answer itself. An answer is the label or index of an
                option, a list of them where several may be chosen, a `QuestionAnswer`, or None to
                skip the question.
            other: free text, for a single question.
            notes: a remark about the choice; with several questions a mapping, by question.

        Raises:
            AnswerError: this does not answer the questions; the request still waits.
        """
        if answers is None and other is None and notes is None:
            raise AnswerError("No answer is given; to leave the questions open, call `skip()`")
        checked = self._checked(answers, other)
        for index, note in self._notes(notes):
            given = checked[index] or QuestionAnswer()
            checked[index] = QuestionAnswer(given.choose, given.other, require_text("A note", note))
        return self._give(self._result_of(checked))

    def respond(self, text: str) -> PermissionResult:
        """Say something instead of answering the questions."""
        text = require_text("The response", text)
        if not self.tells_unanswered:
            return self._give(self._denial(f"The user chose none of the options, and said: {text}"))
        why = {it.question: {"unanswered": "replied_in_chat"} for it in self.questions}
        said = {"answers": {}, "response": text, "annotations": why}
        return self._give(self._allow({**self.input, **said}))

    def skip(self) -> PermissionResult:
        """Leave all questions unanswered. The model is told so."""
        return self._give(self._result_of([None] * len(self.questions)))

    def _fitted(self, answer: object) -> PermissionResult:
        """Check that something is an answer; a mere allow is not."""
        fitting = super()._fitted(answer)
        if isinstance(fitting, PermissionResultAllow):
            given = fitting.updated_input or {}
            if not isinstance(given.get("answers"), dict):
                raise TypeError(f"An allow needs `answers` to answer a question; {self._advice()}")
        return fitting

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types."""
        return super().describe() | {"questions": self.input.get("questions", [])}

    # --- reading what is given -------------------------------------------------------------------

    def _checked(self, answers: object, other: str | None) -> list[QuestionAnswer | None]:
        if not isinstance(answers, Mapping):
            if len(self.questions) != 1:
                raise AnswerError(
                    f"There are {len(self.questions)} questions; say which answer is for which: "
                    + ", ".join(f"{_name(it)!r}" for it in self.questions)
                )
            answers = {0: _with_other(answers, other)}
        elif other is not None:
            raise AnswerError("Put `other` into the `QuestionAnswer` of the question")
        given = {self._index(key): value for key, value in answers.items()}
        if len(given) != len(answers):
            raise AnswerError("The same question is answered twice")
        missing = [it for index, it in enumerate(self.questions) if index not in given]
        if missing:
            names = ", ".join(f"{_name(it)!r}" for it in missing)
            raise AnswerError(f"There is no answer to {names}; give None to skip a question")
        return [_answer_of(it, given[index]) for index, it in enumerate(self.questions)]

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
        # The keys of a JSON object are always strings.
        number = int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key
        if (index := _index(number, len(self.questions))) is not None:
            return index
        known = ", ".join(f"{_name(it)!r}" for it in self.questions)
        raise AnswerError(f"There is no question {key!r}; the questions are {known}")

    # --- writing ---------------------------------------------------------------------------------

    def _result_of(self, checked: list[QuestionAnswer | None]) -> PermissionResult:
        answers: dict[str, str | list[str]] = {}
        annotations: dict[str, dict[str, str]] = {}
        for question, answer in zip(self.questions, checked, strict=True):
            value = self._value(question, answer)
            if value is not None and answers.setdefault(question.question, value) != value:
                raise AnswerError(
                    f"Two questions have the same text, {question.question!r}; the CLI cannot tell "
                    "their answers apart"
                )
            if self.tells_unanswered and (told := _annotation(question, answer)):
                annotations[question.question] = told
        if not answers and not self.tells_unanswered:
            return self._denial(UNANSWERED)  # an older CLI would say that they were answered
        more: dict[str, Any] = {"annotations": annotations} if annotations else {}
        asked = {} if self.form == "bare" else self.input
        return self._allow({**asked, "answers": answers, **more})

    def _value(self, question: Question, answer: QuestionAnswer | None) -> str | list[str] | None:
        if answer is None:
            return None
        parts = [_label(question, it) for it in answer.choose]
        parts += [] if answer.other is None else [answer.other]
        if answer.notes is not None and not self.tells_unanswered:
            parts = [*parts[:-1], f"{parts[-1] if parts else '(no option)'} (note: {answer.notes})"]
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
    """Add free text to the answer to a single question."""
    if other is None:
        return value
    if isinstance(value, QuestionAnswer | Mapping):
        raise AnswerError("Put `other` into the `QuestionAnswer`")
    chosen = () if value is None else (value,) if isinstance(value, str | int) else value
    return {"choose": chosen, "other": other}


def _answer_of(question: Question, value: object) -> QuestionAnswer | None:
    if value is None:
        return None
    if isinstance(value, QuestionAnswer):
        value = {"choose": value.choose, "other": value.other, "notes": value.notes}
    if isinstance(value, Mapping):
        if not value.keys() <= _FIELDS:
            raise _not_an_answer(question, value)
        return _new_answer(question, **value)
    return _new_answer(question, choose=value)


_FIELDS = {"choose", "other", "notes"}


def _not_an_answer(question: Question, value: object) -> AnswerError:
    return AnswerError(f"{value!r} is not an answer to {_name(question)!r}")


def _new_answer(
    question: Question, choose: object = (), other: object = None, notes: object = None
) -> QuestionAnswer:
    chosen = (choose,) if isinstance(choose, str | int) else choose
    if not isinstance(chosen, Collection):
        raise _not_an_answer(question, choose)
    labels = tuple(dict.fromkeys(_label(question, it) for it in chosen))
    words = None if other is None else require_text("The answer", other)
    many = len(labels) + (words is not None)
    if many > 1 and not question.multi_select:
        raise AnswerError(f"Only one answer can be given to {_name(question)!r}, not {many}")
    if not many and notes is None:
        raise AnswerError(f"Nothing is chosen for {_name(question)!r}; give None to skip it")
    return QuestionAnswer(labels, words, None if notes is None else require_text("A note", notes))


def _label(question: Question, choice: object) -> str:
    labels = [option.label for option in question.options]
    if isinstance(choice, str) and choice in labels:
        return choice
    if (index := _index(choice, len(labels))) is not None:
        return labels[index]
    known = ", ".join(map(repr, labels)) or "none"
    raise AnswerError(
        f"{choice!r} is not an option of {_name(question)!r}; the options are {known}. "
        "Free text goes into `other`"
    )


def _annotation(question: Question, answer: QuestionAnswer | None) -> dict[str, str]:
    if answer is None:
        return {"unanswered": "skipped"}
    told: dict[str, str | None] = {"notes": answer.notes}
    if not answer.choose and answer.other is None:
        told["unanswered"] = "skipped"
    if len(answer.choose) == 1 and not question.multi_select:
        options = {option.label: option for option in question.options}
        told["preview"] = options[str(answer.choose[0])].preview
    return {key: value for key, value in told.items() if value is not None}


QuestionHandler = Callable[
    [QuestionRequest], PermissionResult | Awaitable[PermissionResult | None] | None
]
"""Answers questions: a function or a coroutine function. A plain function runs in a thread."""
