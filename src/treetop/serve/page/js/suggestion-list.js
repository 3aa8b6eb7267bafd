// The list of suggested labels: score bars, explanations, accept and reject.

import { icon, make } from "./dom.js";
import { scoreText } from "./numbers.js";
import { wordWeights } from "./word-weights.js";

const MAX_WORDS = 6;

export class SuggestionList {
  /** `handlers`: highlight(), after another row is active; decide(label, "accepted" | "rejected" | null). */
  constructor(list, handlers) {
    this.list = list;
    this.handlers = handlers;
    this.rows = new Map();
    list.addEventListener("keydown", (event) => this.onKey(event));
    for (const change of ["mouseover", "mouseleave", "focusin"])
      list.addEventListener(change, () => handlers.highlight());
    // After the focus has moved.
    list.addEventListener("focusout", () => requestAnimationFrame(() => handlers.highlight()));
  }

  get labels() {
    return [...this.list.children].map((row) => row.label);
  }

  /** Shows suggestions, reusing the rows of labels that remain, with their focus. */
  show(suggestions, { isProbability, explains, decisions }) {
    const focused = document.activeElement;
    const best = Math.max(1e-9, ...suggestions.map((suggestion) => suggestion.score));
    const full =
      isProbability || (best <= 1 && suggestions.every((suggestion) => suggestion.score >= 0)) ? 1 : best;
    const rows = suggestions.map((suggestion) => {
      const row = this.rows.get(suggestion.label) ?? this.makeRow(suggestion);
      row.score.textContent = scoreText(suggestion.score, isProbability);
      row.bar.style.setProperty("--share", Math.min(1, Math.max(0, suggestion.score / full)));
      if (suggestion.words)
        this.showExplanation(row, suggestion); // until then the row keeps the previous one
      else if (!explains)
        row.why.replaceChildren(make("p", {}, "This model cannot explain its suggestions."));
      this.showDecision(row, decisions.get(suggestion.label));
      return row;
    });
    const stay = new Set(rows);
    for (const row of [...this.list.children]) if (!stay.has(row)) row.remove();
    rows.forEach((row, at) => {
      if (this.list.children[at] !== row) this.list.insertBefore(row, this.list.children[at] ?? null);
    });
    this.rows = new Map(rows.map((row) => [row.label, row]));
    if (focused && focused !== document.activeElement && this.list.contains(focused)) focused.focus();
    this.setCurrent(rows.find((row) => row.contains(document.activeElement)) ?? rows[0]);
  }

  /** Redraws the decisions after one was made elsewhere. */
  showDecisions(decisions) {
    for (const row of this.rows.values()) this.showDecision(row, decisions.get(row.label));
  }

  makeRow({ label, text }) {
    const shown = text ?? label; // the readable name, where the label is a number or a code
    const id = `why-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    const name = make(
      "button",
      {
        type: "button",
        className: "name",
        "aria-expanded": "false",
        "aria-controls": id,
        onclick: () => this.toggle(label),
      },
      shown,
      text ? make("small", {}, ` ${label}`) : null,
    );
    const accept = decisionButton("check", `Accept ${shown}`, () => this.decide(label, "accepted"));
    const reject = decisionButton("cross", `Reject ${shown}`, () => this.decide(label, "rejected"));
    const bar = make("span", { className: "bar", "aria-hidden": "true" });
    const score = make("span", { className: "score" });
    const place = make("span", { className: "place", hidden: true });
    const why = make("div", { className: "why", id, hidden: true }, "Loading…");
    const row = make(
      "li",
      { className: "suggestion", onfocusin: () => this.setCurrent(row) },
      name,
      score,
      accept,
      reject,
      bar,
      place,
      why,
    );
    return Object.assign(row, { label, shown, name, score, bar, place, why, accept, reject });
  }

  showExplanation(row, { path, words }) {
    const isTree = path?.at(-1) === row.label;
    const above = isTree ? path.slice(0, -1) : (path ?? []);
    row.place.replaceChildren(...above.map((step) => make("span", {}, nodeOf(step).names)));
    row.place.hidden = !above.length;
    row.why.replaceChildren(wordList(words));
    if (above.length) row.why.append(placeInTree(above, row, isTree));
  }

  showNoExplanations() {
    for (const { why } of this.rows.values())
      why.replaceChildren(make("p", {}, "The explanation could not be loaded. Edit the text to try again."));
  }

  showDecision(row, decision) {
    row.dataset.decision = decision ?? "";
    row.accept.setAttribute("aria-pressed", decision === "accepted");
    row.reject.setAttribute("aria-pressed", decision === "rejected");
  }

  decide(label, decision) {
    const now = this.rows.get(label).dataset.decision;
    this.handlers.decide(label, now === decision ? null : decision);
  }

  toggle(label) {
    const { name, why } = this.rows.get(label);
    why.hidden = !why.hidden;
    name.setAttribute("aria-expanded", !why.hidden);
    if (!why.hidden) why.scrollIntoView({ block: "nearest" });
  }

  /** Only the current row is in the tab order: its name and its two buttons. */
  setCurrent(current) {
    for (const row of this.list.children)
      for (const button of [row.name, row.accept, row.reject]) button.tabIndex = row === current ? 0 : -1;
  }

  /** The label under the pointer, else the focused one, else null. */
  get activeLabel() {
    const row =
      this.list.querySelector(".suggestion:hover") ?? this.list.querySelector(".suggestion:focus-within");
    return row?.label ?? null;
  }

  onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...this.list.children];
    const row = event.target.closest(".suggestion");
    const at = rows.indexOf(row);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
    if (to !== undefined) rows[Math.max(0, Math.min(to, rows.length - 1))].name.focus();
    else if (event.key.toLowerCase() === "a") this.decide(row.label, "accepted");
    else if (event.key.toLowerCase() === "r") this.decide(row.label, "rejected");
    else return;
    event.preventDefault();
  }
}

function decisionButton(picture, name, onclick) {
  return make(
    "button",
    {
      type: "button",
      className: `decide ${picture}`,
      "aria-label": name,
      "aria-pressed": "false",
      title: name,
      onclick,
    },
    icon(picture),
  );
}

/** Each word once, with the sum over its occurrences; words against the label in a line below. */
function wordList(words) {
  const sorted = [...wordWeights(words)].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const inFavour = sorted.filter(([, weight]) => weight > 0).slice(0, MAX_WORDS);
  const against = sorted
    .filter(([, weight]) => weight < 0)
    .slice(0, MAX_WORDS / 2)
    .map(([word]) => word);
  if (!inFavour.length) return make("p", {}, "No single word stands out.");
  const items = inFavour.map(([word, weight]) => {
    const strength = make("span", { className: "strength", "aria-hidden": "true" });
    strength.style.setProperty("--share", weight / inFavour[0][1]);
    return make("li", {}, word, strength);
  });
  return make(
    "div",
    {},
    make("h3", {}, "Words behind it"),
    make("ul", { className: "words" }, items),
    against.length ? make("p", { className: "hint" }, `Words against it: ${against.join(", ")}`) : null,
  );
}

/** A tree node is named after its most frequent labels: "[94 labels] one, another, …". */
function nodeOf(name) {
  const [, labels, names] = /^\[([\d,]+) labels?\] (.*)$/s.exec(name) ?? [null, null, name];
  return { names, labels };
}

/** The tree nodes above a label; without a tree, the neighbours with this label. */
function placeInTree(above, { shown }, isTree) {
  const items = above
    .map(nodeOf)
    .map(({ names, labels }) => [names, labels ? make("small", {}, ` ${labels} labels`) : null]);
  if (isTree) items.push([shown]);
  const steps = items.map((parts, depth) => {
    const step = make("li", {}, parts);
    step.style.setProperty("--depth", depth);
    return step;
  });
  return make(
    "div",
    {},
    make("h3", {}, isTree ? "Path in the label tree" : "Nearest texts"),
    make("ol", { className: "branch" }, steps),
  );
}
