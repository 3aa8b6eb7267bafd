// The first page: a text and its suggested labels, asked for as one writes.

import { predict } from "./api.js";
import { Decisions } from "./decisions.js";
import { byId } from "./dom.js";
import { LabelSearch } from "./label-search.js";
import { MarkedText } from "./marked-text.js";
import { announce, clearNotice, notice, say } from "./notices.js";
import { counted, scoreText } from "./numbers.js";
import { SuggestionList } from "./suggestion-list.js";

const PAUSE = 120; // milliseconds without a key before the server is asked, and again before it is asked why
const ANNOUNCE_AFTER = 1200; // and before suggestions are read out
const STEP = 10; // suggestions at first, and more of them at a time
const EMPTY = "Suggestions will appear here. A title is enough to begin; more words help.";
const PATIENCE = 3; // times that reasons are asked for
const NOTHING = { text: "", suggestions: [] };

export class Suggest {
  /** `served` is what the server has: {model, limits, feedback}; `changed()` is told of a new version of the model. */
  constructor(served, changed) {
    this.served = served;
    this.changed = changed;
    this.text = new MarkedText();
    this.answer = NOTHING;
    this.wanted = STEP;
    this.asking = null; // what is under way, to be given up
    this.waiting = null; // what is next
    this.announcing = null;
    this.list = new SuggestionList(byId("suggestions"), {
      attend: () => this.attend(),
      decide: (label, decision) => this.decisions.decide(label, decision),
    });
    this.decisions = new Decisions(served, {
      text: () => this.text.value,
      suggested: () => this.list.labels,
      version: () => this.answer.version,
      onChange: (made) => this.list.showDecisions(made),
    });
    new LabelSearch({
      model: () => this.served.model?.name,
      add: (label, name) => this.add(label, name),
      failed: (error) => say(error.message),
    });
    byId("text").addEventListener("input", () => this.onText());
    byId("more").addEventListener("click", () => this.showMore());
    byId("clear").addEventListener("click", () => this.begin(""));
  }

  /** A new text: what was decided belonged to the old one. */
  begin(text) {
    this.wanted = STEP;
    this.text.value = text;
    this.text.area.focus();
    this.restart();
  }

  /** Another text or another model. */
  restart() {
    this.decisions.clear();
    this.onText(0);
  }

  onText(pause = PAUSE) {
    this.giveUp();
    byId("clear").hidden = !this.text.value;
    this.decisions.updateSave();
    if (!this.text.value.trim()) return this.showAnswer(NOTHING);
    this.waiting = setTimeout(() => this.ask(), pause);
  }

  giveUp() {
    this.asking?.abort();
    clearTimeout(this.waiting);
    byId("busy").classList.remove("on");
  }

  /** First the labels, which are quick, then the words behind them. */
  async ask() {
    this.giveUp();
    const { model, limits } = this.served;
    const text = this.text.value;
    if (!model || !text.trim()) return; // asked again as soon as there is one
    const { signal } = (this.asking = new AbortController());
    const body = { text, model: model.name, k: Math.min(this.wanted, model.labels, limits.k) };
    byId("busy").classList.add("on");
    try {
      const { version, results } = await predict(body, signal);
      if (version !== model.version) await this.changed();
      if (signal.aborted) return;
      clearNotice();
      this.showAnswer({ text, version, suggestions: results[0].labels });
      if (model.explains) this.waiting = setTimeout(() => this.askReasons(body, signal), PAUSE);
    } catch (error) {
      if (signal.aborted) return;
      this.onFailure(error);
    }
    byId("busy").classList.remove("on");
  }

  /** The words and the path of each suggestion, put beside those that are shown. They can wait, and come again. */
  async askReasons(body, signal, tried = 1) {
    let labels;
    try {
      const k = Math.min(body.k, this.served.limits.explained_labels);
      labels = (await predict({ ...body, k, explain: true }, signal)).results[0].labels;
    } catch (error) {
      if (signal.aborted) return;
      if (error.passes && tried < PATIENCE)
        this.waiting = setTimeout(() => this.askReasons(body, signal, tried + 1), 1000 * error.wait);
      else this.list.showNoReasons();
      return;
    }
    const reasons = new Map(labels.map((suggestion) => [suggestion.label, suggestion]));
    const { suggestions, ...answer } = this.answer;
    const unexplained = { path: [], words: [] };
    this.showAnswer({
      ...answer,
      suggestions: suggestions.map((one) => reasons.get(one.label) ?? { ...one, ...unexplained }),
    });
  }

  onFailure(error) {
    if (!error.passes) {
      this.showAnswer(NOTHING);
      return notice(error.message);
    }
    notice(`${error.message} Your text is kept; the page tries again by itself.`, {
      name: "Try now",
      run: () => this.ask(),
    });
    this.waiting = setTimeout(() => this.ask(), 1000 * error.wait);
  }

  showAnswer(answer) {
    this.answer = answer;
    const { suggestions, text } = answer;
    for (const { label, text: name } of suggestions) this.decisions.names.set(label, name ?? label);
    const isProbability = this.served.model?.calibrated === true;
    const explains = this.served.model?.explains === true;
    this.list.show(suggestions, { isProbability, explains, decisions: this.decisions.made });
    this.attend();
    const empty = byId("suggestions-empty");
    empty.hidden = suggestions.length > 0;
    empty.textContent = text ? "Nothing fits this text. Perhaps a few more words help." : EMPTY;
    byId("more").hidden = suggestions.length < this.wanted || this.wanted >= this.served.limits.k;
    clearTimeout(this.announcing);
    if (suggestions.length)
      this.announcing = setTimeout(() => announce(spoken(suggestions, isProbability)), ANNOUNCE_AFTER);
  }

  showMore() {
    const first = this.list.labels.length;
    this.wanted += STEP;
    this.ask().then(() => byId("suggestions").children[first]?.name.focus());
  }

  /** Marks the words behind the label that is pointed at or focused. */
  attend() {
    const label = this.list.attended;
    const words = this.answer.suggestions.find((suggestion) => suggestion.label === label)?.words;
    this.text.mark(words, this.answer.text);
  }

  add(label, name) {
    this.decisions.names.set(label, name);
    this.decisions.decide(label, "accepted");
  }
}

function spoken(suggestions, isProbability) {
  const [{ label, text, score }] = suggestions;
  return `${counted(suggestions.length, "suggestion")}, first ${text ?? label} with ${scoreText(score, isProbability)}`;
}
