// The third tab: the model's training data and quality, in plain words.

import { card as fetchCard } from "./api.js";
import { longTail, reliability } from "./charts.js";
import { byId, make, table } from "./dom.js";
import { count, percent } from "./numbers.js";

export class Card {
  constructor(served) {
    this.served = served;
    this.place = byId("card");
    this.shown = null;
  }

  async show() {
    const { model } = this.served;
    const shown = model && `${model.name} ${model.version}`;
    if (!model || this.shown === shown) return;
    this.place.replaceChildren(make("p", { className: "empty" }, "Loading…"));
    try {
      const card = await fetchCard(model.name);
      if (this.served.model !== model) return;
      this.place.replaceChildren(...sections(card, model));
      this.shown = shown;
    } catch (error) {
      this.place.replaceChildren(
        make("p", { className: "empty" }, error.message),
        make("button", { type: "button", onclick: () => this.show() }, "Try again"),
      );
    }
  }
}

function sections(card, model) {
  return [
    make("h2", {}, model.name),
    make("p", { className: "lead" }, "How this model was trained, and how accurate it is."),
    trainingData(card.data),
    labelFrequencies(card.long_tail),
    ...quality(card.evaluation, model),
    settings(card),
  ].filter(Boolean);
}

function trainingData(data) {
  if (!data) return null;
  const facts = [
    [data.examples, "training texts", count],
    [data.labels_used ?? data.labels, "labels in use", count],
    [data.labels_per_example, "labels per text, on average", (number) => number.toFixed(1)],
  ].filter(([number]) => number !== undefined && number !== null);
  return block(
    "Training data",
    make(
      "dl",
      { className: "facts" },
      facts.map(([number, words, write]) =>
        make("div", {}, make("dt", {}, words), make("dd", {}, write(number))),
      ),
    ),
  );
}

function labelFrequencies(tail) {
  if (!tail?.points.length) return null;
  const rare = tail.buckets
    .filter((bucket) => RARE.includes(bucket.texts))
    .reduce((sum, bucket) => sum + bucket.labels, 0);
  return block(
    "Frequent and rare labels",
    make(
      "p",
      {},
      `Of ${count(tail.points.at(-1)[0])} labels, ${count(rare)} have at most five training texts.`,
    ),
    longTail(tail.points, "Training texts per label, from the most to the least frequent label"),
    details(
      "Show the numbers",
      table(
        ["Training texts", "Labels", "Share of all assignments"],
        tail.buckets
          .filter((bucket) => bucket.labels)
          .map((bucket) => [
            bucket.texts.replace("-", " to ").replace(">", "more than "),
            count(bucket.labels),
            percent(bucket.share_of_occurrences),
          ]),
      ),
    ),
  );
}

function quality(evaluation, model) {
  if (evaluation)
    return [
      accuracy(evaluation),
      recallByFrequency(evaluation.by_frequency),
      calibration(evaluation.calibration, model),
    ];
  return [
    block(
      "Accuracy",
      make(
        "p",
        {},
        "Not measured yet. Evaluate the model on texts with known labels that were not used for training:",
      ),
      make("p", {}, make("code", {}, "treetop evaluate MODEL TEXTS --card")),
    ),
  ];
}

function accuracy({ metrics, examples }) {
  const facts = [
    ["P@1", "of the top suggestions are correct"],
    ["P@3", "of the top three suggestions are correct"],
    ["R@5", "of the correct labels are among the top five"],
  ].filter(([name]) => metrics[name] !== undefined);
  return block(
    "Accuracy",
    make("p", {}, `Measured on ${count(examples)} test texts.`),
    make(
      "dl",
      { className: "facts" },
      facts.map(([name, words]) =>
        make("div", {}, make("dt", {}, words), make("dd", {}, percent(metrics[name] / 100))),
      ),
    ),
    details(
      "All metrics, in percent",
      table(
        ["Metric", "Value"],
        Object.entries(metrics).map(([name, value]) => [name, value.toFixed(2)]),
      ),
    ),
  );
}

const RARE = ["1", "2-5"]; // training texts of a label
const BUCKETS = { unseen: "Unseen", tail: "Rare", middle: "Medium", head: "Frequent" };

function recallByFrequency(buckets) {
  if (!buckets?.length) return null;
  const shown = buckets.filter((bucket) => bucket.occurrences);
  const k = Math.max(...Object.keys(shown[0]?.recall ?? { 0: 0 }).map(Number));
  const bars = shown.map((bucket) => {
    const share = bucket.recall[k] / 100;
    const bar = make("span", { className: "bar", "aria-hidden": "true" });
    bar.style.setProperty("--share", share);
    return make(
      "tr",
      {},
      make("th", { scope: "row" }, BUCKETS[bucket.name] ?? bucket.name, make("small", {}, range(bucket))),
      make("td", {}, count(bucket.labels)),
      make(
        "td",
        {},
        make("div", { className: "measure" }, bar, make("span", { className: "score" }, percent(share))),
      ),
    );
  });
  return block(
    "Recall of rare and frequent labels",
    make(
      "p",
      {},
      `The share of correct labels found in the top ${k} suggestions, by training texts per label.`,
    ),
    make(
      "table",
      { className: "bars" },
      make(
        "thead",
        {},
        make(
          "tr",
          {},
          ["Label frequency", "Labels", "Found"].map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make("tbody", {}, bars),
    ),
  );
}

function range({ low, high }) {
  if (high === 0) return "no training text";
  return high === null || high === undefined ? `${low} or more texts` : `${low} to ${high} texts`;
}

function calibration(bins, model) {
  if (!bins?.length) return null;
  const words = model.calibrated
    ? "Scores are probabilities that a label is correct. On the dashed line they match the accuracy."
    : "Scores rank the labels; they are not probabilities. On the dashed line they would match the accuracy.";
  return block(
    "Reliability of the scores",
    make("p", {}, words),
    reliability(bins, "Accuracy of suggestions by score"),
    details(
      "Show the numbers",
      table(
        ["Score", "Suggestions", "Correct"],
        bins.map((bin) => [percent(bin.score), count(bin.pairs), percent(bin.hits)]),
      ),
    ),
  );
}

function settings({ method, version, settings: config, data }) {
  const rows = [
    ["Method", method],
    ["Version", version],
    ["Training data", data?.source],
    ...Object.entries(config),
  ];
  return details(
    "Technical details",
    table(
      ["Setting", "Value"],
      rows.filter(([, value]) => value !== undefined && value !== null),
    ),
  );
}

const block = (title, ...children) =>
  make("section", { className: "block" }, make("h3", {}, title), ...children);
const details = (title, ...children) =>
  make(
    "details",
    {},
    make("summary", {}, title),
    make("div", { className: "scrolling", tabIndex: 0, role: "group", "aria-label": title }, ...children),
  );
