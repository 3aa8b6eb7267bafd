"""Schemas of requests and responses, from which /openapi.json follows."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

LABEL = 1000
"""Maximum characters of a label in feedback."""
LABELS = 1000
"""Maximum labels per list of a feedback entry."""


def _whole(value: Any) -> Any:
    """JSON does not distinguish 5.0 from 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


NOT_BLANK = r"\S"
"""Pattern of a text that is more than white space."""
Label = Annotated[str, Field(min_length=1, max_length=LABEL, pattern=NOT_BLANK)]
Labels = Annotated[list[Label], Field(max_length=LABELS), FailFast()]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def absent(**field: Any) -> Any:
    """An optional field: None where it is left out, but never null in JSON."""
    return Field(default=None, **field)


class Body(BaseModel):
    """Base of request bodies: only the declared fields, with exactly these types.

    Extra fields are accepted here and rejected in `request_body`, because pydantic would build an error for
    each of them. For the same reason lists stop at their first error.
    """

    model_config = ConfigDict(extra="allow", strict=True)


class PredictBody(Body):
    """One text or several."""

    text: str = absent(description="The text. Give either this or texts.")
    texts: Annotated[list[str], FailFast()] = absent(
        min_length=1, description="Several texts. Give either this or text."
    )
    model: Name = absent(description="Name of the model; the first by default.")
    k: Count = Field(default=10, description="Maximum labels per text.")
    threshold: Threshold = absent(description="Return only labels with a score above this.")
    explain: bool = Field(
        default=False, description="Return the words and the tree path behind the top labels."
    )


class FeedbackBody(Body):
    """A person's decisions on the labels suggested for a text."""

    text: str = Field(min_length=1, pattern=NOT_BLANK)
    model: Name = absent(description="Name of the model; the first by default.")
    version: Name = absent(description="Model version that made the suggestions; the current one by default.")
    suggested: Labels = Field(default_factory=list, description="Labels that were shown.")
    accepted: Labels = Field(default_factory=list, description="Suggested labels that are correct.")
    rejected: Labels = Field(default_factory=list, description="Suggested labels that are wrong.")
    added: Labels = Field(default_factory=list, description="Correct labels that were not suggested.")
    client: Name = absent(description="Name of the client or person, as the client chooses.")


class Document(BaseModel):
    """One text of an Annif batch."""

    model_config = ConfigDict(strict=True)
    text: str
    document_id: str | None = None


class Documents(Body):
    """An Annif batch."""

    documents: Annotated[list[Document], FailFast()] = Field(min_length=1)


class Subject(BaseModel):
    """A correct subject in Annif's learn request; uri is the label's name."""

    model_config = ConfigDict(strict=True)
    uri: Label
    label: str | None = None


class LearnDocument(BaseModel):
    """A text and its correct subjects."""

    model_config = ConfigDict(strict=True)
    text: str = Field(min_length=1, pattern=NOT_BLANK)
    subjects: Annotated[list[Subject], FailFast()] = Field(min_length=1, max_length=LABELS)


class LearnBody(BaseModel):
    """Annif's learn request, whose body is the list itself."""

    documents: Annotated[list[LearnDocument], FailFast()] = Field(min_length=1)


# -- responses -----------------------------------------------------------------------------------------------


class Word(BaseModel):
    """A word or phrase of the text, and its contribution to the raw scores on the label's path."""

    word: str
    weight: float
    start: int
    end: int


class Part(BaseModel):
    """One of several scores that add up to the label's score."""

    name: str
    weight: float
    value: float


class ScoredLabel(BaseModel):
    label: str
    score: float
    text: str | None = absent(description="The label's readable name, where the model has one.")
    path: list[str] | None = absent(description="Nodes of the label tree from the root to the label.")
    parts: list[Part] | None = None
    words: list[Word] | None = None


class Result(BaseModel):
    labels: list[ScoredLabel]


class PredictAnswer(BaseModel):
    model: str
    version: str
    results: list[Result]


class FeedbackAnswer(BaseModel):
    id: int


class ModelAnswer(BaseModel):
    name: str
    method: str
    version: str
    labels: int
    examples: int | None = Field(description="Training examples; null where that is unknown.")
    loaded_at: str
    default: bool
    explains: bool
    calibrated: bool = Field(description="Whether scores are probabilities.")


class Limits(BaseModel):
    text_characters: int
    texts: int
    k: int
    explained_labels: int


class ModelsAnswer(BaseModel):
    models: list[ModelAnswer]
    limits: Limits
    feedback: bool = Field(description="Whether the server stores feedback.")


class LabelAnswer(BaseModel):
    label: str
    texts: int | None = Field(description="Training texts with this label; null where that is unknown.")
    text: str | None = None


class LongTail(BaseModel):
    points: list[tuple[int, int]] = Field(
        description="Rank of a label by frequency, and its number of training texts."
    )
    buckets: list[dict[str, Any]]


class Evaluation(BaseModel):
    source: str
    examples: int
    metrics: dict[str, float]
    by_frequency: list[dict[str, Any]]
    calibration: list[dict[str, float]] | None


class StoredEvaluation(Evaluation):
    """The file of an evaluation."""

    version: str


class CardAnswer(BaseModel):
    model: str
    version: str
    method: str
    description: str | None
    settings: dict[str, Any]
    data: dict[str, Any]
    long_tail: LongTail
    evaluation: Evaluation | None


class ErrorAnswer(BaseModel):
    error: str
    detail: str | None = None


class Suggestion(BaseModel):
    uri: str
    label: str
    notation: str | None
    score: float


class Suggestions(BaseModel):
    results: list[Suggestion]


class DocumentSuggestions(Suggestions):
    document_id: str | None


class Project(BaseModel):
    project_id: str
    name: str
    language: str
    backend: dict[str, str]
    is_trained: bool
    modification_time: str


class Projects(BaseModel):
    projects: list[Project]
