"""An ensemble: several models, of any methods, whose ranked lists are combined.

Each member ranks ``depth`` labels or more. With s_m(ℓ) the score of label ℓ by member m, 0 where its list
lacks ℓ, and weights w that sum to 1, the ensemble's score is Σ_m w_m s_m(ℓ). The rules:

- ``mean``: equal weights.
- ``weighted``: given weights.
- ``learned``: the weights with the best nDCG@5 on held-out examples.
- ``stacked``: not a sum of scores, but the log-odds that `Stack` learns from held-out examples.
- ``rank``, ``sigmoid``, ``softmax``: equal weights, and instead of the score a number from 0 to 1 that is
  comparable between members, see `list_rules`.

Labels are matched by name: members may have different labels, and the ensemble has the labels of all.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import _native, store
from ..arrays import under_prefix, with_prefix
from ..config import setting
from ..data import Dataset
from ..data.frames import labelled
from ..data.held_out import held_out_rows
from ..errors import ConfigError, DataError, ModelError
from ..explanation import Explanation, Part, listed_score, stacked, summed
from ..model_arrays import RETRAIN, Numbers, check_equal, checked
from ..predictions import Predictions
from ..progress import step
from ..ranked import Ranked
from ..strings import Strings
from . import make, method_class
from .base import Method, MethodConfig
from .list_rules import RESCALED, rescaled
from .stacking import Stack

if TYPE_CHECKING:
    from typing_extensions import Self

Weights = npt.NDArray[np.float64]
LEARNED = ("learned", "stacked")
"""Rules that are fitted on held-out examples."""
STEPS = 20
"""Weights to try for a member are multiples of 1/STEPS."""
SWEEPS = 10


@dataclass(frozen=True)
class EnsembleConfig(MethodConfig):
    """Settings of an ensemble."""

    methods: tuple[str, ...] = setting(
        ("xr-linear", "xr-linear", "xr-linear"), "methods of the members, each with its own seed"
    )
    rule: str = setting(
        "mean",
        "rule that combines the members' lists; learned and stacked are fitted on held-out examples",
        choices=("mean", *RESCALED, "weighted", *LEARNED),
    )
    member_settings: tuple[str, ...] = setting(
        (),
        "settings of the members, such as encoder=folder,epochs=5; each applies to every method that has it",
    )
    weights: tuple[float, ...] = setting((), "weights of the members, for rule=weighted", at_least=0)
    depth: int = setting(100, "minimum number of labels that each member ranks", at_least=1)
    validation_share: float = setting(
        0.1, "share of the examples held out to fit the rule on", above=0, at_most=0.5
    )

    def check(self) -> None:
        if not self.methods:
            raise ConfigError("an ensemble needs at least one member: name one in methods")
        if (self.rule == "weighted") != bool(self.weights):
            raise ConfigError("rule=weighted and weights must be used together: set both, or neither")
        if self.weights and len(self.weights) != len(self.methods):
            raise ConfigError(
                f"{len(self.weights)} weights for {len(self.methods)} members: give one weight each"
            )
        if self.weights and not sum(self.weights) > 0:
            raise ConfigError("at least one weight must be above 0")
        for item in self.member_settings:
            name, equals, _ = item.partition("=")
            if not equals:
                raise ConfigError(f"member_settings must have the form name=value, not {item!r}")
            if name in ("threads", "seed"):
                raise ConfigError(
                    f"member_settings: the {name} of the members follow from the ensemble's: set {name} there"
                )


class Ensemble(Method):
    """``Ensemble([model, other])`` of fitted models is ready for use; `fit` trains all members again.

    Without members, `fit` trains the methods that the setting ``methods`` names.
    """

    name = "ensemble"
    config_class = EnsembleConfig
    weighs_examples = True  # if its members do: each checks it
    uses_relevance = True
    config: EnsembleConfig

    def __init__(
        self, members: Sequence[Method] = (), config: MethodConfig | None = None, **settings: Any
    ) -> None:
        if isinstance(members, Method) or not all(isinstance(member, Method) for member in members):
            raise ConfigError("the members of an ensemble must be a list of models")
        if members:
            settings |= {"methods": tuple(member.name for member in members)}
        super().__init__(config, **settings)
        if members and (self.config.label_examples or self.config.member_settings):
            raise ConfigError(
                "label_examples and member_settings are for methods given by name: set them on the models"
            )
        # Copies share the arrays but not the settings: members use the ensemble's threads.
        self.members: list[Method] = [copy.copy(member) for member in members]
        self.weights: Weights = np.zeros(0)
        """Weights of the members; they sum to 1. In a stacked ensemble they only show their influence."""
        self.stack: Stack | None = None
        self._new_ids: list[npt.NDArray[np.int32] | None] = []
        """Per member: the ensemble's ids of its labels, or None where they are the same."""
        fitted = bool(members) and all(member.labels is not None for member in members)
        if fitted and self.config.rule not in LEARNED:
            self._merge_members()

    @classmethod
    def learn(cls, members: Sequence[Method], validation: Dataset | Any, **settings: Any) -> Self:
        """An ensemble of fitted models with the rule (learned or stacked) fitted on ``validation``."""
        ensemble = cls(members, **({"rule": "learned"} | settings))
        if ensemble.config.rule not in LEARNED:
            raise ConfigError(
                f"there is nothing to learn with rule={ensemble.config.rule}: use learned or stacked"
            )
        for member in ensemble.members:
            member.check_trained()
        validation = labelled(validation, "an ensemble learns its weights from fitted models and")
        if not ensemble.members:
            raise DataError("an ensemble learns its weights from fitted models and a labelled Dataset")
        ensemble._merge_members()
        ensemble._learn(validation)
        return ensemble

    @property
    def takes_texts(self) -> bool:
        return any(member.takes_texts for member in self.members)

    @property
    def needs_features(self) -> bool:
        return any(member.needs_features for member in self.members)

    @property
    def weighted_members(self) -> list[tuple[Method, float]]:
        self.check_trained()
        return list(zip(self.members, self.weights.tolist(), strict=True))

    def blank(self) -> Self:
        if not self.members:
            return type(self)(config=self.config)
        config = self.config.replace_settings({"label_examples": False, "member_settings": ()})
        return type(self)([member.blank() for member in self.members], config)

    # -- training --------------------------------------------------------------------------------------------

    def _fit(self, dataset: Dataset) -> None:
        templates = self.members or self._named_members()
        if self.config.rule in LEARNED:
            share, seed = self.config.validation_share, self.config.seed
            kept, held_out = held_out_rows(dataset, share, seed, "weights of the ensemble")
            self._fit_members(templates, dataset[kept])
            self.label_counts = dataset[kept].label_counts
            self._learn(dataset[held_out])
        self._fit_members(templates, dataset)

    def _fit_members(self, templates: Sequence[Method], dataset: Dataset) -> None:
        self.members = []
        for number, template in enumerate(templates, 1):
            with step(f"Member {number} of {len(templates)}, {template.name}"):
                member = template.blank()
                self._share_threads(member)
                self.members.append(member.fit(dataset))
        self._check_inputs()
        self.labels = dataset.labels
        self._new_ids = [None] * len(templates)
        if self.config.rule not in LEARNED:
            self.weights = self._given_weights()

    def _update(self, new: Dataset, old: Dataset | None) -> None:
        """Updates every member; their weights do not change."""
        updated = []
        for number, member in enumerate(self.members, 1):
            with step(f"Member {number} of {len(self.members)}, {member.name}"):
                copied = copy.copy(member)
                self._share_threads(copied)
                updated.append(copied.update(new, old))
        self.members = updated
        self._new_ids = [_positions(member.known_labels, new.labels) for member in updated]

    def _named_members(self) -> list[Method]:
        config = self.config
        if self.name in config.methods:
            raise ConfigError("an ensemble inside an ensemble must be given as a model, not by name")
        seeds = ((config.seed + number) % 2**63 for number in range(len(config.methods)))
        given = dict(item.split("=", 1) for item in config.member_settings)
        used: set[str] = set()
        made = []
        for name, seed in zip(config.methods, seeds, strict=True):
            own = {key: given[key] for key in given if method_class(name).config_class().has_setting(key)}
            used |= set(own)
            made.append(make(name, **({"seed": seed, "label_examples": config.label_examples} | own)))
        for key in given:
            if key not in used:
                raise ConfigError(
                    f"member_settings: none of {', '.join(config.methods)} has a setting {key!r}"
                )
        return made

    def _training_examples(self, dataset: Dataset, extra: Mapping[str, Any]) -> Dataset:
        """The members add the label texts themselves."""
        return dataset

    def _merge_members(self) -> None:
        """Sets labels, counts and statistics from the fitted members."""
        self._check_inputs()
        self.labels = _union([member.known_labels for member in self.members])
        self._new_ids = [_positions(member.known_labels, self.labels) for member in self.members]
        self.label_texts = self._common_label_texts()
        self.label_counts = np.zeros(len(self.labels), np.int64)
        for member, new_ids in zip(self.members, self._new_ids, strict=True):
            places = slice(None) if new_ids is None else new_ids
            self.label_counts[places] = np.maximum(self.label_counts[places], member.label_counts)
        largest = max((member.statistics for member in self.members), key=lambda data: data["examples"] or 0)
        self.statistics = {
            "examples": largest["examples"],
            "labels": len(self.labels),
            "labels_used": int((self.label_counts > 0).sum()),
            "labels_per_example": largest["labels_per_example"],
            "input": largest["input"],
            "source": ", ".join(dict.fromkeys(member.statistics["source"] for member in self.members)),
        }
        if self.config.rule not in LEARNED:
            self.weights = self._given_weights()

    def _check_inputs(self) -> None:
        kinds = {(m.takes_texts, m.needs_features): number for number, m in enumerate(self.members, 1)}
        texts, features = kinds.get((True, False)), kinds.get((False, True))
        if texts and features and len(kinds) == 2:
            raise DataError(
                f"the members of an ensemble must take the same input, but member {texts} takes texts"
                f" and member {features} features: train them on the same data"
            )

    def _common_label_texts(self) -> Strings | None:
        if all(member.label_texts is None for member in self.members):
            return None
        assert self.labels is not None
        texts: dict[str, str] = {}
        for member in reversed(self.members):  # texts of the first member win
            if member.label_texts is not None:
                texts |= zip(member.known_labels, member.label_texts, strict=True)
        return Strings.of(texts.get(name, name) for name in self.labels)

    def _given_weights(self) -> Weights:
        weights: Weights = np.array(self.config.weights or [1.0] * len(self.members))
        return np.asarray(weights / weights.sum())

    def _learn(self, validation: Dataset) -> None:
        """Fits the weights or curves on ``validation``."""
        from ..metrics.documents import ndcg
        from ..metrics.matching import MatchedPredictions

        truth = validation.aligned_to(self.known_labels)
        known = None if truth.Y is None else sparse.csr_matrix(truth.Y[:, : len(self.known_labels)])
        if known is None or known.nnz == 0:
            raise DataError(
                f"{validation.source}: no example has a label to learn the rule from: add labelled examples"
            )
        with step("Learning the rule"):
            lists = self._lists(validation, self.config.depth)
            if self.config.rule == "stacked":
                self.stack = Stack.fit(lists, known, self.label_counts)
                self.weights = self.stack.shares()
                return

            def quality(weights: Weights) -> float:
                best = _native.combine(lists, weights.tolist(), 5, self.threads)
                predictions = Predictions(*best, truth.labels)
                return ndcg(MatchedPredictions(predictions, truth.Y, 5, None, None), 5).value

            self.weights = best_weights(quality, len(self.members))

    # -- prediction ------------------------------------------------------------------------------------------

    def _rank(self, dataset: Dataset, k: int) -> Ranked:
        lists = self._lists(dataset, max(k, self.config.depth))
        if self.stack is not None:
            return self.stack.combine(lists, k, self.label_counts, self.config.depth)
        return Ranked(*_native.combine(lists, self.weights.tolist(), k, self.threads))

    def _explain(self, dataset: Dataset, label: int) -> Explanation:
        name = self.known_labels[label]
        parts = []
        lists = self._lists(dataset, self.config.depth)
        for number, (member, ranked) in enumerate(zip(self.members, lists, strict=True), 1):
            own = member.known_labels.position(name)
            explained = member.can_explain and own >= 0 and member.label_counts[own] > 0
            weight, value = float(self.weights[number - 1]), listed_score(ranked, label)
            if self.stack is not None:
                weight, value = 1.0, self.stack.of_member(number - 1, value if label in ranked[1] else None)
            why = member.explain(dataset, name) if explained else None
            parts.append(Part(f"member {number}, {member.name}", weight, value, why))
        if self.stack is not None:
            seen = float(self.stack.of_counts(self.label_counts[label : label + 1])[0])
            parts.append(Part("examples of the label", 1.0, seen, None))
            parts.append(Part("bias", 1.0, self.stack.bias, None))
            return stacked(name, parts, reached=any(label in ranked[1] for ranked in lists))
        what = RESCALED.get(self.config.rule, "score")
        return summed(
            name, parts, f"the sum over the members of weight · {what}; 0 if a list lacks the label"
        )

    def _lists(self, dataset: Dataset, depth: int) -> list[Ranked]:
        """The ranked list of every member, in the ensemble's label ids."""
        lists: list[Ranked] = []
        for member, new_ids in zip(self.members, self._new_ids, strict=True):
            self._share_threads(member)
            ranked = member.predict(dataset, min(depth, len(member.known_labels)))
            ids = ranked.indices if new_ids is None else new_ids[ranked.indices]
            lists.append(Ranked(ranked.indptr, ids, ranked.scores))
        return rescaled(lists, self.config.rule)

    def _share_threads(self, member: Method) -> None:
        if member.config.threads != self.config.threads:
            member.config = member.config.replace_settings({"threads": self.config.threads})

    def check_trained(self) -> None:
        if self.labels is None and self.config.rule in LEARNED and self.members:
            raise ModelError(
                "the rule of this ensemble has not been fitted yet: call fit, or Ensemble.learn(models, data)"
            )
        super().check_trained()

    # -- the model folder ------------------------------------------------------------------------------------

    def to_stored(self) -> store.Stored:
        stored = super().to_stored()
        members = [member.to_stored() for member in self.members]
        described = [{"method": m.method, "config": m.config, "data": m.data} for m in members]
        return dataclasses.replace(stored, data=stored.data | {"members": described})

    def _state(self) -> dict[str, npt.NDArray]:
        arrays: dict[str, npt.NDArray] = {"weights": self.weights}
        if self.stack is not None:
            arrays |= with_prefix("stack", self.stack.state())
        for number, (member, new_ids) in enumerate(zip(self.members, self._new_ids, strict=True)):
            arrays |= with_prefix(f"members.{number}", member.to_stored().arrays)
            if new_ids is not None:
                arrays[f"new_ids.{number}"] = new_ids
        return arrays

    def _restore(self, arrays: Mapping[str, npt.NDArray]) -> None:
        for number, entry in enumerate(self.statistics.pop("members")):
            own = under_prefix(f"members.{number}", arrays)
            stored = store.Stored(entry["method"], entry["config"], entry["data"], own)
            self.members.append(method_class(stored.method).from_stored(stored, f"member {number + 1}"))
            self._new_ids.append(self._stored_ids(number, arrays))
        if not self.members:
            raise ModelError(f"the ensemble has no members: {RETRAIN}")
        weights = Numbers(np.float64, len(self.members), "members", least=0, finite=True)
        self.weights = checked(arrays, {"weights": weights})["weights"]
        if self.config.rule == "stacked":
            curves = under_prefix("stack", arrays)
            self.stack = Stack.from_state(curves, len(self.members))
        self._check_inputs()

    def _stored_ids(self, number: int, arrays: Mapping[str, npt.NDArray]) -> npt.NDArray[np.int32] | None:
        assert self.labels is not None
        count, total = len(self.members[number].known_labels), len(self.labels)
        name = f"new_ids.{number}"
        if name not in arrays:
            check_equal(f"labels in member {number + 1}", count, "in all", total)
            return None
        ids = Numbers(np.int32, count, f"labels of member {number + 1}", least=0, most=total - 1)
        return checked(arrays, {name: ids})[name]


def best_weights(quality: Callable[[Weights], float], count: int) -> Weights:
    """Weights of high quality that sum to 1, by coordinate search from equal weights.

    Tries one member's weight after the other from 0 to 1, while the others keep their proportions. The search
    ends when a sweep over all members brings no improvement.
    """
    tried: dict[tuple[float, ...], float] = {}

    def known_quality(weights: Weights) -> float:
        key = tuple(weights.round(6).tolist())
        if key not in tried:
            tried[key] = quality(weights)
        return tried[key]

    best = np.full(count, 1 / count)
    for _ in range(SWEEPS):
        before = best
        for member in range(count):
            rest = np.delete(best, member)
            proportions = rest / rest.sum() if rest.any() else np.full(count - 1, 1 / max(count - 1, 1))
            for share in np.arange(STEPS + 1) / STEPS if count > 1 else ():
                weights = np.insert((1 - share) * proportions, member, share)
                if known_quality(weights) > known_quality(best) + 1e-9:
                    best = weights
        if best is before:
            break
    return best


def _union(vocabularies: Sequence[Strings]) -> Strings:
    """The labels of the first member, then new ones of the others."""
    union = vocabularies[0]
    for labels in vocabularies[1:]:
        if labels != union:
            new = [name for name in labels if name not in union.positions]
            union = Strings.of([*union, *new]) if new else union
    return union


def _positions(labels: Strings, union: Strings) -> npt.NDArray[np.int32] | None:
    if labels is union or labels == union:
        return None
    return np.array([union.position(name) for name in labels], np.int32)
