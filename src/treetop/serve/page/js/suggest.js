// The first page: a text, its suggested labels, and what the reader decides about them.

import { feedback, predict } from "./api.js";
import { byId, icon, make } from "./dom.js";
import { LabelSearch } from "./label-search.js";
import { MarkedText } from "./marked-text.js";
import { announce, clearNotice, notice, say } from "./notices.js";
import { counted, scoreText } from "./numbers.js";
import { SuggestionList } from "./suggestion-list.js";

const PAUSE = 120; // milliseconds without a key before the server is asked, and again before it is asked why
const ANNOUNCE_AFTER = 1200; // and before suggestions are read out
const STEP = 10; // suggestions at first, and more of them at a time

export class Suggest {
  /** `served` is what the server has: {model, limits, feedback}; `changed()` is told of a new version of the model. */
  constructor(served, changed) {
    this.served = served;
    this.changed = changed;
    this.text = new MarkedText();
    this.decisions = new Map(); // label → "accepted" | "rejected" | "added"
    this.names = new Map(); // label → how it is shown
    this.answer = { text: "", suggestions: [] };
    this.wanted = STEP;
    this.asking = null;
    this.waiting = null;
    this.list = new SuggestionList(byId("suggestions"), {
      attend: (label) => this.attend(label),
      decide: (label, decision) => this.decide(label, decision),
    });
    this.search = new LabelSearch({
      model: () => this.served.model?.name,
      add: (label, name) => this.add(label, name),
      failed: (error) => notice(error.message),
    });
    byId("text").addEventListener("input", () => this.onText());
    byId("more").addEventListener("click", () => this.showMore());
    byId("clear").addEventListener("click", () => this.begin(""));
    byId("save").addEventListener("click", () => this.save());
    byId("copy").addEventListener("click", () => this.copy());
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || byId("suggest").hidden) return;
      event.preventDefault();
      if (!byId("save").disabled) this.save();
    });
    this.showDecisions();
  }

  /** A new text: what was decided belonged to the old one. */
  begin(text) {
    this.decisions.clear();
    this.wanted = STEP;
    this.text.value = text;
    this.text.area.focus();
    this.showDecisions();
    this.onText(0);
  }

  onText(pause = PAUSE) {
    this.asking?.abort();
    clearTimeout(this.waiting);
    byId("clear").hidden = !this.text.value;
    this.updateSave();
    if (!this.text.value.trim()) return this.showAnswer({ text: this.text.value, suggestions: [] });
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  /** First the labels, which are quick, then the words behind them. */
  async ask() {
    this.asking?.abort();
    clearTimeout(this.waiting);
    const asking = (this.asking = new AbortController());
    const text = this.text.value;
    const { model, limits } = this.served;
    if (!model || !text.trim()) return;
    const body = { text, model: model.name, k: Math.min(this.wanted, model.labels, limits.k) };
    byId("busy").classList.add("on");
    try {
      const { version, results } = await predict(body, asking.signal);
      clearNotice();
      if (version !== model.version) await this.changed();
      this.showAnswer({ text, suggestions: results[0].labels });
      if (model.explains) this.waiting = setTimeout(() => this.askReasons(body, asking), PAUSE);
    } catch (error) {
      if (error.name === "AbortError") return;
      this.onFailure(error);
    }
    if (this.asking === asking) byId("busy").classList.remove("on");
  }

  /** The words and the path of each suggestion, put beside those that are shown. They can wait, and come again. */
  async askReasons(body, asking) {
    let labels;
    try {
      const answer = await predict({ ...body, k: Math.min(body.k, this.served.limits.explained_labels), explain: true }, asking.signal);
      labels = answer.results[0].labels;
    } catch (error) {
      if (error.passes) this.waiting = setTimeout(() => this.askReasons(body, asking), 1000 * error.wait);
      return;
    }
    const reasons = new Map(labels.map((suggestion) => [suggestion.label, suggestion]));
    const { text, suggestions } = this.answer;
    this.showAnswer({ text, suggestions: suggestions.map((suggestion) => reasons.get(suggestion.label) ?? suggestion) });
  }

  onFailure(error) {
    if (!error.passes) {
      if (error.kind === "refused") this.showAnswer({ text: this.text.value, suggestions: [] });
      return notice(error.message);
    }
    notice(`${error.message} Your text is kept; the page tries again by itself.`, { name: "Try now", run: () => this.ask() });
    this.waiting = setTimeout(() => this.ask(), 1000 * error.wait);
  }

  showAnswer(answer) {
    this.answer = answer;
    const { suggestions, text } = answer;
    for (const { label, text: name } of suggestions) this.names.set(label, name ?? label);
    const options = { isProbability: this.served.model?.calibrated === true, decisions: this.decisions };
    this.list.show(suggestions, options);
    this.attend(this.list.focusedLabel());
    const empty = byId("suggestions-empty");
    empty.hidden = suggestions.length > 0;
    empty.textContent = text.trim() ? "Nothing fits this text. Perhaps a few more words help." : "Suggestions will appear here.";
    byId("more").hidden = suggestions.length < this.wanted || this.wanted >= this.served.limits.k;
    this.updateSave();
    clearTimeout(this.announcing);
    if (!suggestions.length) return;
    const [{ label, score }] = suggestions;
    const spoken = `${counted(suggestions.length, "suggestion")}, first ${this.names.get(label)} with ${scoreText(score, options.isProbability)}`;
    this.announcing = setTimeout(() => announce(spoken), ANNOUNCE_AFTER);
  }

  showMore() {
    const first = this.list.labels.length;
    this.wanted += STEP;
    this.ask().then(() => byId("suggestions").children[first]?.name.focus());
  }

  /** Marks the words behind a label while it is pointed at or focused. */
  attend(label) {
    const words = this.answer.suggestions.find((suggestion) => suggestion.label === label)?.words;
    this.text.mark(words, this.answer.text);
  }

  decide(label, decision) {
    if (decision) this.decisions.set(label, decision);
    else this.decisions.delete(label);
    this.showDecisions();
    announce(`${this.names.get(label)} ${decision ?? "undecided"}`);
  }

  add(label, name) {
    this.names.set(label, name);
    const suggested = this.list.labels.includes(label);
    this.decide(label, suggested ? "accepted" : "added");
  }

  showDecisions() {
    this.list.showDecisions(this.decisions);
    const chosen = this.chosen();
    byId("chosen").replaceChildren(...chosen.map((label) => this.chip(label)));
    byId("chosen-empty").hidden = chosen.length > 0;
    byId("copy").disabled = !chosen.length;
    this.saved = null;
    this.updateSave();
  }

  chip(label) {
    const remove = `Remove ${this.names.get(label)}`;
    const button = make("button", { type: "button", className: "quiet icon", "aria-label": remove, title: remove, onclick: () => this.remove(label) }, icon("cross"));
    return make("li", {}, make("span", {}, this.names.get(label)), button);
  }

  remove(label) {
    const at = this.chosen().indexOf(label);
    this.decide(label, null);
    const buttons = byId("chosen").querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? byId("add")).focus();
  }

  labelsThat(...decisions) {
    return [...this.decisions].filter(([, decision]) => decisions.includes(decision)).map(([label]) => label);
  }

  chosen() {
    return this.labelsThat("accepted", "added");
  }

  updateSave() {
    const isSaved = this.saved !== null && this.saved === this.text.value;
    byId("save").disabled = !this.decisions.size || !this.text.value.trim() || isSaved;
    byId("save").textContent = isSaved ? "Saved" : "Save";
    byId("save").hidden = byId("save-hint").hidden = !this.served.feedback;
  }

  async save() {
    const text = this.text.value;
    byId("save").disabled = true;
    try {
      await feedback({
        model: this.served.model.name, text, suggested: this.list.labels,
        accepted: this.labelsThat("accepted"), rejected: this.labelsThat("rejected"), added: this.labelsThat("added"),
      });
      this.saved = text;
      clearNotice();
      say("Saved. Thank you.");
    } catch (error) {
      notice(`${error.message} Your decisions are not saved yet.`, { name: "Save again", run: () => this.save() });
    }
    this.updateSave();
  }

  async copy() {
    const chosen = this.chosen();
    try {
      await navigator.clipboard.writeText(chosen.map((label) => this.names.get(label)).join("\n"));
      say(`${counted(chosen.length, "label")} copied, one on each line.`);
    } catch {
      notice("This browser does not let the page copy. Select the labels and copy them by hand.");
    }
  }
}
