// The user's decisions: accepted and rejected labels, shown, copied and saved.

import { feedback } from "./api.js";
import { copyText } from "./clipboard.js";
import { byId, icon, make } from "./dom.js";
import { announce, clearNotice, notice, say } from "./notices.js";
import { counted } from "./numbers.js";

export class Decisions {
  /** Decides on `text()`, `suggested()` and the model's `version()`; decisions call `onChange(decisions)`. */
  constructor(served, { text, suggested, version, onChange }) {
    this.served = served;
    this.text = text;
    this.suggested = suggested;
    this.version = version;
    this.onChange = onChange;
    this.made = new Map(); // label → "accepted" | "rejected"
    this.names = new Map(); // label → displayed name
    this.saved = null; // the text saved with these decisions
    byId("save").addEventListener("click", () => this.save());
    byId("copy").addEventListener("click", () => this.copy());
    addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey) || byId("suggest").hidden) return;
      event.preventDefault();
      if (!byId("save").disabled) this.save();
    });
  }

  get chosen() {
    return this.labelsWith("accepted");
  }

  labelsWith(decision) {
    return [...this.made.keys()].filter((label) => this.made.get(label) === decision);
  }

  clear() {
    this.made.clear();
    this.show();
  }

  /** `decision` is "accepted", "rejected", or null to undo it. */
  decide(label, decision) {
    if (decision) this.made.set(label, decision);
    else this.made.delete(label);
    this.show();
    announce(`${this.names.get(label)} ${decision ?? "undecided"}`);
  }

  show() {
    const { chosen } = this;
    byId("chosen").replaceChildren(...chosen.map((label) => this.chip(label)));
    byId("chosen-empty").hidden = chosen.length > 0;
    byId("copy").disabled = !chosen.length;
    this.saved = null;
    this.updateSave();
    this.onChange(this.made);
  }

  chip(label) {
    const remove = `Remove ${this.names.get(label)}`;
    const button = make(
      "button",
      {
        type: "button",
        className: "quiet icon",
        "aria-label": remove,
        title: remove,
        onclick: () => this.remove(label),
      },
      icon("cross"),
    );
    return make("li", {}, make("span", {}, this.names.get(label)), button);
  }

  /** Moves the focus to the next label or, without one, to the input field. */
  remove(label) {
    const at = this.chosen.indexOf(label);
    this.decide(label, null);
    const buttons = byId("chosen").querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? byId("add")).focus();
  }

  updateSave() {
    const text = this.text();
    const isSaved = this.saved !== null && this.saved === text;
    byId("save").disabled = !this.made.size || !text.trim() || isSaved;
    byId("save").textContent = isSaved ? "Saved" : "Save";
    byId("save").hidden = byId("save-hint").hidden = !this.served.feedback;
  }

  async save() {
    const text = this.text();
    const suggested = this.suggested();
    const isSuggested = (label) => suggested.includes(label);
    byId("save").disabled = true;
    try {
      await feedback({
        model: this.served.model.name,
        version: this.version(),
        text,
        suggested,
        accepted: this.chosen.filter(isSuggested),
        added: this.chosen.filter((label) => !isSuggested(label)),
        rejected: this.labelsWith("rejected"),
      });
      this.saved = text;
      clearNotice();
      say("Saved. Thank you.");
    } catch (error) {
      notice(`${error.message} Your decisions are not saved yet.`, {
        name: "Try again",
        run: () => this.save(),
      });
    }
    this.updateSave();
  }

  async copy() {
    const { chosen } = this;
    if (await copyText(chosen.map((label) => this.names.get(label)).join("\n")))
      say(`${counted(chosen.length, "label")} copied, one per line.`);
    else notice("The browser blocked copying. Select the labels and copy them yourself.");
  }
}
