// The text area, and behind it the same text with highlighted words. Both share one grid cell and grow
// together, so each highlight is exactly under its word.

import { byId, make } from "./dom.js";
import { same, wordWeights } from "./word-weights.js";

const LEVELS = 3;
const MIN_SHARE = 0.25; // of the largest weight: lighter words are not highlighted

export class MarkedText {
  constructor() {
    this.area = byId("text");
    this.behind = byId("behind");
    this.area.addEventListener("input", () => this.clear());
    this.clear();
  }

  /** The text without unpaired surrogates, which editing may leave and JSON cannot carry. */
  get value() {
    return this.area.value.toWellFormed();
  }

  set value(text) {
    this.area.value = text;
    this.clear();
  }

  clear() {
    this.behind.textContent = this.value + "\n";
  }

  /** Highlights the words in favour of a label, heavier ones more strongly, if the text is unchanged. */
  mark(words, text) {
    if (text !== this.value || !words?.length) return this.clear();
    const pieces = [];
    let done = 0;
    for (const { start, end, level } of spans(words, text)) {
      pieces.push(
        text.slice(done, start),
        make("mark", { className: `level-${level}` }, text.slice(start, end)),
      );
      done = end;
    }
    this.behind.replaceChildren(...pieces, text.slice(done) + "\n");
    this.show(this.behind.querySelector("mark.level-3"));
  }

  /** Scrolls the text to a highlight, but never the page, which would move the label under the pointer. */
  show(mark) {
    const paper = this.area.parentElement;
    if (!mark) return;
    const isAbove = mark.offsetTop < paper.scrollTop;
    const isBelow = mark.offsetTop + mark.offsetHeight > paper.scrollTop + paper.clientHeight;
    if (isAbove || isBelow) paper.scrollTop = mark.offsetTop - paper.clientHeight / 3;
  }
}

/** Spans of the text, in order and without overlaps (the heavier wins), with weights as levels 1 to 3. */
function spans(words, text) {
  const unit = units(text);
  const weights = wordWeights(words);
  const heaviest = Math.max(...weights.values());
  const placed = words
    .map(({ word, start, end }) => ({ start, end, weight: weights.get(same(word)) }))
    .filter(({ weight }) => weight > 0 && weight >= MIN_SHARE * heaviest)
    .sort((a, b) => b.weight - a.weight);
  const kept = [];
  for (const { start, end, weight } of placed) {
    const span = { start: unit(start), end: unit(end), level: Math.ceil(LEVELS * (weight / heaviest)) };
    if (kept.every((other) => span.end <= other.start || span.start >= other.end)) kept.push(span);
  }
  return kept.sort((a, b) => a.start - b.start);
}

/** Converts the server's character offsets to UTF-16 units: an emoji is one character but two units. */
function units(text) {
  if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return (position) => position;
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  starts.push(at);
  return (position) => starts[Math.min(position, starts.length - 1)];
}
