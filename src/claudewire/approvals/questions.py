"""Questions of the model to the user.

    async def on_question(request: QuestionRequest) -> PermissionResult:
        return request.answer({"Colour": "Green", "Sizes": ["S", "L"]})

The CLI asks with a request to use the tool AskUserQuestion, and reads the answers from the input
of an allow. It silently drops answers that it cannot read, and tells the model that there were
none. So all answers are checked here, and notes for a CLI without notes become part of the answer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, TypeAlias

from ..wire import PermissionResult, PermissionResultAllow, Question, Request, questions_of
from .permissions import ToolRequest
from .request import AnswerError, ApprovalKind, HandlerOf, require_text

ASK_TOOL = "AskUserQuestion"

TELLS_UNANSWERED = "ask_user_question_unanswered_v1"
"""The capability of a CLI that reads notes, free responses and reasons for a missing answer."""

UNANSWERED = "The user did not answer the questions."

AnswerForm = Literal["joined", "lists", "bare"]
"""The form of the answers.

* `joined`: beside the questions, several labels in one string: the form that every CLI reads;
* `lists`: the same with a list where several may be chosen;
* `bare`: lists, without the questions.
"""


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """The answer to one question.

    Attributes:
        choose: the chosen options: labels or indices.
        other: free text, instead of an option or besides.
        notes: a remark about the choice.
    """

    choose: str | int | Collection[str | int] = ()
    other: str | None = None
    notes: str | None = None


AnswerValue: TypeAlias = (
    "str | int | QuestionAnswer | Collection[str | int] | Mapping[str, Any] | None"
)
"""An answer to one question: a label, an index, several of them, a `QuestionAnswer` (or a mapping
with its fields), or None to skip the question."""


class QuestionRequest(ToolRequest):
    """One or more questions to the user.

    Attributes:
        questions: the questions, each with `question`, `header`, `options` and `multi_select`.
        form: the form of the answers.
        tells_unanswered: whether the CLI reads notes, free responses and skipped questions.
    """

    kind: ClassVar[ApprovalKind] = "question"
    actions: ClassVar[tuple[str, ...]] = ("answer", "respond", "skip")
    _shown = ()
    _refused = "they were not answered"

    def __init__(
        self,
        request: Request,
        *,
        session: str = "",
        cwd: str | None = None,
        form: AnswerForm = "joined",
        capabilities: Collection[str] = (),
    ) -> None:
        super().__init__(request, session=session, cwd=cwd)
        self.questions: tuple[Question, ...] = tuple(questions_of(self.input))
        self.form: AnswerForm = form
        self.tells_unanswered: bool = TELLS_UNANSWERED in capabilities and form != "bare"

    _heading = "Question"

    @property
    def _subject(self) -> str:
        return " ".join(it.question for it in self.questions) or "(it cannot be read)"

    # --- answering -------------------------------------------------------------------------------

    def answer(
        self,
        answers: Mapping[Any, Any] | AnswerValue = None,
        *,
        other: str | None = None,
        notes: str | None = None,
    ) -> PermissionResult:
        """Answer the questions.

        Args:
            answers: an answer for each question, by its header, index or exact text; for a single
                question the answer itself. An answer is the label or index of an option, a list of
                them where several may be chosen, a `QuestionAnswer`, or None to skip the question.
            other: free text, for a single question.
            notes: a remark about the choice, for a single question.

        Raises:
            AnswerError: the questions are not answered; the request stays pending.
        """
        extras = {k: v for k, v in (("other", other), ("notes", notes)) if v is not None}
        if answers is None and not extras:
            raise AnswerError("No answer is given; to leave the questions open, call `skip()`")
        if extras and len(self.questions) != 1:
            raise AnswerError("Put `other` and `notes` into the `QuestionAnswer` of a question")
        given = {index: _read(value) for index, value in self._by_index(answers).items()}
        if extras:
            given[0] = replace(given[0] or QuestionAnswer(), **extras)
        missing = [_name(it) for index, it in enumerate(self.questions) if index not in given]
        if missing:
            names = ", ".join(map(repr, missing))
            raise AnswerError(f"There is no answer to {names}; pass None to skip a question")
        return self._result_of([given[index] for index in range(len(self.questions))])

    def respond(self, text: str) -> PermissionResult:
        """Say something instead of answering the questions."""
        text = require_text("The response", text)
        if not self.tells_unanswered:
            return self._deny(f"The user chose none of the options, and said: {text}")
        why = {it.question: {"unanswered": "replied_in_chat"} for it in self.questions}
        answered = {"answers": {}, "response": text, "annotations": why}
        return PermissionResultAllow({**self.input, **answered})

    def skip(self) -> PermissionResult:
        """Leave all questions unanswered; the model learns that."""
        return self._result_of([None] * len(self.questions))

    def check(self, answer: object) -> PermissionResult:
        """Check an answer: an allow must have `answers`.

        Raises:
            TypeError: it does not answer questions.
        """
        checked = super().check(answer)
        given = checked.updated_input or {} if isinstance(checked, PermissionResultAllow) else None
        if given is not None and not isinstance(given.get("answers"), dict):
            raise TypeError("An allow needs `answers`: return `request.answer(…)`")
        return checked

    def describe(self) -> dict[str, Any]:
        """Return all facts that a user interface shows, as JSON types."""
        return super().describe() | {"questions": self.input.get("questions", [])}

    # --- reading the answers ---------------------------------------------------------------------

    def _by_index(self, answers: object) -> dict[int, object]:
        if not isinstance(answers, Mapping):
            if len(self.questions) != 1:
                names = ", ".join(repr(_name(it)) for it in self.questions)
                raise AnswerError(f"There are {len(self.questions)} questions; answer by {names}")
            return {0: answers}
        given = {self._index(key): value for key, value in answers.items()}
        if len(given) != len(answers):
            raise AnswerError("The same question is answered twice")
        return given

    def _index(self, key: object) -> int:
        """Find a question by its text, its header or its index."""
        found = [i for i, it in enumerate(self.questions) if key in (it.question, it.header)]
        if len(found) > 1:
            raise AnswerError(f"{key!r} can mean several questions; use the index")
        # The keys of a JSON object are always strings.
        number = int(key) if isinstance(key, str) and key.isdecimal() else key
        index = found[0] if found else _in_range(number, len(self.questions))
        if index is not None:
            return index
        known = ", ".join(repr(_name(it)) for it in self.questions)
        raise AnswerError(f"There is no question {key!r}; the questions are {known}")

    # --- writing the answers ---------------------------------------------------------------------

    def _result_of(self, given: list[QuestionAnswer | None]) -> PermissionResult:
        answers: dict[str, str | list[str]] = {}
        annotations: dict[str, dict[str, str]] = {}
        for question, answer in zip(self.questions, given, strict=True):
            value, told = self._reply(question, answer)
            if value is not None and answers.setdefault(question.question, value) != value:
                raise AnswerError(
                    f"Two questions have the same text, {question.question!r}; the CLI cannot tell "
                    "their answers apart"
                )
            if self.tells_unanswered and told:
                annotations[question.question] = told
        if not answers and not self.tells_unanswered:
            return self._deny(UNANSWERED)  # an older CLI would say that they were answered
        more: dict[str, Any] = {"annotations": annotations} if annotations else {}
        asked = {} if self.form == "bare" else self.input
        return PermissionResultAllow({**asked, "answers": answers, **more})

    def _reply(
        self, question: Question, answer: QuestionAnswer | None
    ) -> tuple[str | list[str] | None, dict[str, str]]:
        """Return the answer and the annotation to it for the CLI."""
        if answer is None:
            return None, {"unanswered": "skipped"}
        labels, notes = _labels(question, answer), answer.notes
        parts = labels if answer.other is None else [*labels, answer.other]
        if len(parts) > 1 and not question.multi_select:
            raise AnswerError(
                f"Only one answer can be given to {_name(question)!r}, not {len(parts)}"
            )
        if not parts and notes is None:
            raise AnswerError(f"Nothing is chosen for {_name(question)!r}; pass None to skip it")
        told = {} if notes is None else {"notes": notes}
        if not parts:
            told["unanswered"] = "skipped"
        for option in question.options:
            if labels == [option.label] and option.preview and not question.multi_select:
                told["preview"] = option.preview
        if notes is not None and not self.tells_unanswered:
            parts = [*parts[:-1], f"{parts[-1] if parts else '(no option)'} (note: {notes})"]
        joins = self.form == "joined" or not question.multi_select
        return (", ".join(parts) if joins else parts) if parts else None, told


def _name(question: Question) -> str:
    return question.header or question.question


def _in_range(value: object, count: int) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < count else None


def _read(value: object) -> QuestionAnswer | None:
    if value is None or isinstance(value, QuestionAnswer):
        return value
    try:
        if isinstance(value, Mapping):
            return QuestionAnswer(**value)
    except TypeError:
        raise AnswerError(f"{value!r} has other fields than choose, other and notes") from None
    choose: Any = value
    return QuestionAnswer(choose)


def _labels(question: Question, answer: QuestionAnswer) -> list[str]:
    """Return the labels of the chosen options, after a check of the texts."""
    for name, text in (("`other`", answer.other), ("`notes`", answer.notes)):
        if text is not None:
            require_text(name, text)
    several = isinstance(answer.choose, Collection) and not isinstance(answer.choose, str)
    chosen: Any = answer.choose if several else [answer.choose]
    return list(dict.fromkeys(_label(question, it) for it in chosen))


def _label(question: Question, choice: object) -> str:
    labels = [option.label for option in question.options]
    if isinstance(choice, str) and choice in labels:
        return choice
    if (index := _in_range(choice, len(labels))) is not None:
        return labels[index]
    known = ", ".join(map(repr, labels)) or "none"
    raise AnswerError(
        f"{choice!r} is not an option of {_name(question)!r}; the options are {known}. "
        "Free text goes into `other`"
    )


QuestionHandler = HandlerOf[QuestionRequest, PermissionResult]
"""Answers questions."""
