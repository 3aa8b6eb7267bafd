// The first tab: a text and its suggested labels, updated while typing.

import { predict } from "./api.js";
import { Decisions } from "./decisions.js";
import { byId } from "./dom.js";
import { LabelSearch } from "./label-search.js";
import { MarkedText } from "./marked-text.js";
import { announce, clearNotice, notice, say } from "./notices.js";
import { counted, scoreText } from "./numbers.js";
import { SuggestionList } from "./suggestion-list.js";

const PAUSE = 120; // milliseconds without typing before a prediction, and again before an explanation
const ANNOUNCE_AFTER = 1200; // milliseconds before suggestions are announced
const STEP = 10; // suggestions at first, and added by "Show more"
const EMPTY = "Suggestions will appear here. A title is enough to start; more words help.";
const MAX_TRIES = 3; // requests for explanations
const NO_ANSWER = { text: "", suggestions: [] };

export class Suggest {
  /** `served`: the server's {model, limits, feedback}. `changed()` is called for a new model version. */
  constructor(served, changed) {
    this.served = served;
    this.changed = changed;
    this.text = new MarkedText();
    this.answer = NO_ANSWER;
    this.wanted = STEP;
    this.pending = null; // AbortController of the running request
    this.timer = null; // of the next request
    this.announcing = null;
    this.list = new SuggestionList(byId("suggestions"), {
      highlight: () => this.highlight(),
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

  /** Starts a new text and clears the decisions on the old one. */
  begin(text) {
    this.wanted = STEP;
    this.text.value = text;
    this.text.area.focus();
    this.restart();
  }

  /** Clears the decisions for another text or model. */
  restart() {
    this.decisions.clear();
    this.onText(0);
  }

  onText(pause = PAUSE) {
    this.cancel();
    byId("clear").hidden = !this.text.value;
    this.decisions.updateSave();
    if (!this.text.value.trim()) return this.showAnswer(NO_ANSWER);
    this.timer = setTimeout(() => this.predict(), pause);
  }

  cancel() {
    this.pending?.abort();
    clearTimeout(this.timer);
    byId("busy").classList.remove("on");
  }

  /** Requests the labels first, which is fast, then the explanations. */
  async predict() {
    this.cancel();
    const { model, limits } = this.served;
    const text = this.text.value;
    if (!model || !text.trim()) return; // called again once there is a model
    const { signal } = (this.pending = new AbortController());
    const body = { text, model: model.name, k: Math.min(this.wanted, model.labels, limits.k) };
    byId("busy").classList.add("on");
    try {
      const { version, results } = await predict(body, signal);
      if (version !== model.version) await this.changed();
      if (signal.aborted) return;
      clearNotice();
      this.showAnswer({ text, version, suggestions: results[0].labels });
      if (model.explains) this.timer = setTimeout(() => this.explain(body, signal), PAUSE);
    } catch (error) {
      if (signal.aborted) return;
      this.onFailure(error);
    }
    byId("busy").classList.remove("on");
  }

  /** Adds the words and the tree path to the suggestions shown. Retries a few times. */
  async explain(body, signal, tried = 1) {
    let labels;
    try {
      const k = Math.min(body.k, this.served.limits.explained_labels);
      labels = (await predict({ ...body, k, explain: true }, signal)).results[0].labels;
    } catch (error) {
      if (signal.aborted) return;
      if (error.isTemporary && tried < MAX_TRIES)
        this.timer = setTimeout(() => this.explain(body, signal, tried + 1), 1000 * error.wait);
      else this.list.showNoExplanations();
      return;
    }
    const explained = new Map(labels.map((suggestion) => [suggestion.label, suggestion]));
    const { suggestions, ...answer } = this.answer;
    const unexplained = { path: [], words: [] };
    this.showAnswer({
      ...answer,
      suggestions: suggestions.map((one) => explained.get(one.label) ?? { ...one, ...unexplained }),
    });
  }

  onFailure(error) {
    if (!error.isTemporary) {
      this.showAnswer(NO_ANSWER);
      return notice(error.message);
    }
    notice(`${error.message} Your text is kept; the page retries automatically.`, {
      name: "Retry now",
      run: () => this.predict(),
    });
    this.timer = setTimeout(() => this.predict(), 1000 * error.wait);
  }

  showAnswer(answer) {
    this.answer = answer;
    const { suggestions, text } = answer;
    for (const { label, text: name } of suggestions) this.decisions.names.set(label, name ?? label);
    const isProbability = this.served.model?.calibrated === true;
    const explains = this.served.model?.explains === true;
    this.list.show(suggestions, { isProbability, explains, decisions: this.decisions.made });
    this.highlight();
    const empty = byId("suggestions-empty");
    empty.hidden = suggestions.length > 0;
    empty.textContent = text ? "No label fits this text. Try adding a few words." : EMPTY;
    byId("more").hidden = suggestions.length < this.wanted || this.wanted >= this.served.limits.k;
    clearTimeout(this.announcing);
    if (suggestions.length)
      this.announcing = setTimeout(() => announce(spoken(suggestions, isProbability)), ANNOUNCE_AFTER);
  }

  showMore() {
    const first = this.list.labels.length;
    this.wanted += STEP;
    this.predict().then(() => byId("suggestions").children[first]?.name.focus());
  }

  /** Highlights the words behind the label under the pointer or in focus. */
  highlight() {
    const label = this.list.activeLabel;
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
  const best = `${text ?? label}, ${scoreText(score, isProbability)}`;
  return `${counted(suggestions.length, "suggestion")}; the best is ${best}`;
}
