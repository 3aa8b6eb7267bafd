"""What requests and answers look like; the description at /openapi.json follows from these."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field

LABEL = 1000
"""Characters of a label that feedback may add."""
LABELS = 1000
"""Labels in each list of a feedback."""


def _whole(value: Any) -> Any:
    """JSON does not tell 5.0 from 5."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


SEEN = r"\S"
"""Of more than white space."""
Label = Annotated[str, Field(min_length=1, max_length=LABEL, pattern=SEEN)]
Labels = Annotated[list[Label], Field(max_length=LABELS), FailFast()]
Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1), BeforeValidator(_whole)]
Name = Annotated[str, Field(min_length=1, max_length=200)]


def absent(**about: Any) -> Any:
    """A field that may be left out, which then is None, but that is never null."""
    return Field(default=None, **about)


class Body(BaseModel):
    """Of a request: exactly the fields that are listed, of exactly these types.

    Others are taken in and then refused by `reading`: pydantic would make an error of each one. For the same
    reason lists stop at their first error.
    """

    model_config = ConfigDict(extra="allow", strict=True)


class PredictBody(Body):
    """One text or several."""

    text: str = absent(description="The text; or give texts.")
    texts: Annotated[list[str], FailFast()] = absent(min_length=1, description="Several texts; or give text.")
    model: Name = absent(description="Name of the model; without it the first that is served.")
    k: Count = Field(default=10, description="Labels for each text, at most.")
    threshold: Threshold = absent(description="Only labels with a score strictly above this.")
    explain: bool = Field(default=False, description="Also say which words and which path led to each label.")


class FeedbackBody(Body):
    """What a person made of the labels that were suggested for a text."""

    text: str = Field(min_length=1, pattern=SEEN)
    model: Name = absent(description="Name of the model; without it the first.")
    version: Name = absent(description="The version that suggested; without it the one that is served now.")
    suggested: Labels = Field(default_factory=list, description="What was shown.")
    accepted: Labels = Field(default_factory=list, description="Suggested labels that are right.")
    rejected: Labels = Field(default_factory=list, description="Suggested labels that are wrong.")
    added: Labels = Field(default_factory=list, description="Right labels that were not suggested.")
    client: Name = absent(description="Who says so, as the client likes to call them.")


class Document(BaseModel):
    """One text of an Annif batch."""

    model_config = ConfigDict(strict=True)
    text: str
    document_id: str | None = None


class Documents(Body):
    """An Annif batch."""

    documents: Annotated[list[Document], FailFast()] = Field(min_length=1)


class Subject(BaseModel):
    """One subject of a text that Annif's learn gives; uri is the label's name."""

    model_config = ConfigDict(strict=True)
    uri: Label
    label: str | None = None


class Lesson(BaseModel):
    """A text and its right subjects."""

    model_config = ConfigDict(strict=True)
    text: str = Field(min_length=1, pattern=SEEN)
    subjects: Annotated[list[Subject], FailFast()] = Field(min_length=1, max_length=LABELS)


class Lessons(BaseModel):
    """What Annif's learn takes: a list at the top."""

    lessons: Annotated[list[Lesson], FailFast()] = Field(min_length=1)


# -- answers -------------------------------------------------------------------------------------------------


class Word(BaseModel):
    """Where a word or phrase stands in the text, and what it adds to the raw scores of the label's path."""

    word: str
    weight: float
    start: int
    end: int


class Part(BaseModel):
    """One of several scores that are added up."""

    name: str
    weight: float
    value: float


class ScoredLabel(BaseModel):
    label: str
    score: float
    text: str | None = absent(description="The label's readable name, where the model has one.")
    path: list[str] | None = absent(description="Nodes of the label tree on the way to the label.")
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
    examples: int
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
    feedback: bool = Field(description="Whether feedback is kept.")


class LabelAnswer(BaseModel):
    label: str
    texts: int = Field(description="Training texts that have it.")
    text: str | None = None


class LongTail(BaseModel):
    points: list[tuple[int, int]] = Field(description="Rank of a label, and how many training texts it has.")
    buckets: list[dict[str, Any]]


class Evaluation(BaseModel):
    source: str
    examples: int
    metrics: dict[str, float]
    by_frequency: list[dict[str, Any]]
    calibration: list[dict[str, float]] | None


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
