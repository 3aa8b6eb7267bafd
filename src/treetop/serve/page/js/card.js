// The third page: what the model learned from and how good it is, in plain words.

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
    this.place.replaceChildren(make("p", { className: "empty" }, "One moment…"));
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
    make("p", { className: "lead" }, "What this model learned from, and how far it can be trusted."),
    learnedFrom(card.data),
    tail(card.long_tail),
    ...quality(card.evaluation, model),
    settings(card),
  ].filter(Boolean);
}

function learnedFrom(data) {
  if (!data) return null;
  const facts = [
    [data.examples, "texts to learn from", count],
    [data.labels_used ?? data.labels, "labels in use", count],
    [data.labels_per_example, "labels on a text, on average", (number) => number.toFixed(1)],
  ].filter(([number]) => number !== undefined && number !== null);
  return block(
    "What it learned from",
    make(
      "dl",
      { className: "facts" },
      facts.map(([number, words, write]) =>
        make("div", {}, make("dt", {}, words), make("dd", {}, write(number))),
      ),
    ),
  );
}

function tail(long) {
  if (!long?.points.length) return null;
  const rare = long.buckets
    .filter((bucket) => RARE.includes(bucket.texts))
    .reduce((sum, bucket) => sum + bucket.labels, 0);
  return block(
    "Common and rare labels",
    make(
      "p",
      {},
      `Of ${count(long.points.at(-1)[0])} labels, ${count(rare)} have at most five texts to learn from.`,
    ),
    longTail(long.points, "How many texts each label has, from the most used label to the least"),
    details(
      "The figures",
      table(
        ["Texts that have it", "Labels", "Share of all uses"],
        long.buckets
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
      overall(evaluation),
      byFrequency(evaluation.by_frequency),
      honesty(evaluation.calibration, model),
    ];
  return [
    block(
      "How good it is",
      make(
        "p",
        {},
        "This has not been measured yet. It takes some texts with known labels that the model did not learn from:",
      ),
      make("p", {}, make("code", {}, "treetop evaluate MODEL TEXTS --card")),
    ),
  ];
}

function overall({ metrics, examples }) {
  const say = [
    ["P@1", "of the first suggestions are right"],
    ["P@3", "of the first three suggestions are right"],
    ["R@5", "of the right labels are among the first five"],
  ].filter(([name]) => metrics[name] !== undefined);
  return block(
    "How good it is",
    make("p", {}, `Measured on ${count(examples)} texts that it had not seen.`),
    make(
      "dl",
      { className: "facts" },
      say.map(([name, words]) =>
        make("div", {}, make("dt", {}, words), make("dd", {}, percent(metrics[name] / 100))),
      ),
    ),
    details(
      "All measures, in percent",
      table(
        ["Measure", "Value"],
        Object.entries(metrics).map(([name, value]) => [name, value.toFixed(2)]),
      ),
    ),
  );
}

const RARE = ["1", "2-5"]; // texts of a label
const BUCKETS = { unseen: "Never seen", tail: "Rare", middle: "Now and then", head: "Often" };

function byFrequency(buckets) {
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
    "How well rare labels are found",
    make(
      "p",
      {},
      `How many of the right labels are among the first ${k} suggestions, by how often a label was there to learn from.`,
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
          ["Label was seen", "Labels", "Found"].map((name) => make("th", { scope: "col" }, name)),
        ),
      ),
      make("tbody", {}, bars),
    ),
  );
}

function range({ low, high }) {
  if (high === 0) return "in no text";
  return high === null || high === undefined ? `in ${low} texts or more` : `in ${low} to ${high} texts`;
}

function honesty(bins, model) {
  if (!bins?.length) return null;
  const words = model.calibrated
    ? "A score is the chance that the label is right. On the dashed line scores keep their word."
    : "Scores of this model order the labels, and are not chances: the further from the dashed line, the less they say by themselves.";
  return block(
    "Can the scores be trusted?",
    make("p", {}, words),
    reliability(bins, "How often suggestions were right, by their score"),
    details(
      "The figures",
      table(
        ["Score", "Suggestions", "Were right"],
        bins.map((bin) => [percent(bin.score), count(bin.pairs), percent(bin.hits)]),
      ),
    ),
  );
}

function settings({ method, version, settings: chosen, data }) {
  const rows = [
    ["Method", method],
    ["Version", version],
    ["Learned from", data?.source],
    ...Object.entries(chosen),
  ];
  return details(
    "For the technically minded",
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
