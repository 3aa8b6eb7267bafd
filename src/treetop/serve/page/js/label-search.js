// Adding any label: a combobox with a list of matches, following the ARIA pattern. The server searches, which
// is fast even among a million labels.

import { labels as searchLabels } from "./api.js";
import { byId, make } from "./dom.js";
import { counted } from "./numbers.js";

const SHOWN = 12;

export class LabelSearch {
  constructor({ model, add, failed }) {
    this.input = byId("add");
    this.list = byId("add-options");
    this.model = model;
    this.add = add;
    this.failed = failed;
    this.options = [];
    this.active = -1;
    this.pending = null;
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("focus", () => this.input.value && this.search());
    this.input.addEventListener("blur", () => this.close());
    this.input.addEventListener("keydown", (event) => this.onKey(event));
    // Keeps the focus in the input when an option is clicked.
    this.list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  async search() {
    this.pending?.abort();
    const query = this.input.value.trim();
    if (!query) return this.close();
    const pending = (this.pending = new AbortController());
    try {
      const found = await searchLabels(query, this.model(), SHOWN, pending.signal);
      if (this.pending === pending && document.activeElement === this.input) this.show(found, query);
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    }
  }

  show(found, query) {
    const isKnown = found.some(({ label, text }) =>
      [label, text].some((name) => name?.toLowerCase() === query.toLowerCase()),
    );
    this.options = found.map(({ label, text }) => [label, text ?? label]);
    const rows = found.map(({ label, text, texts }) => [
      make("span", {}, matched(text ?? label, query)),
      make("small", {}, texts === null ? "" : counted(texts, "text")),
    ]);
    if (!isKnown) {
      this.options.push([query, query]);
      rows.push([
        make("span", {}, "Add ", make("b", {}, query), " as a new label"),
        make("small", {}, found.length ? "" : "no label matches"),
      ]);
    }
    this.list.replaceChildren(
      ...rows.map((parts, at) =>
        make(
          "li",
          {
            id: `add-option-${at}`,
            role: "option",
            "aria-selected": "false",
            onclick: () => this.choose(at),
          },
          parts,
        ),
      ),
    );
    this.list.hidden = false;
    this.place();
    this.input.setAttribute("aria-expanded", "true");
    this.setActive(found.length ? 0 : -1); // a new label is never preselected
  }

  /** Opens the list below the field, or above it if there is more room. */
  place() {
    const { top, bottom } = this.input.getBoundingClientRect();
    const below = innerHeight - bottom;
    this.list.classList.toggle("above", below < this.list.offsetHeight && top > below);
  }

  close() {
    this.pending?.abort();
    this.list.hidden = true;
    this.options = [];
    this.input.setAttribute("aria-expanded", "false");
    this.setActive(-1);
  }

  setActive(at) {
    this.active = at;
    [...this.list.children].forEach((option, place) => option.setAttribute("aria-selected", place === at));
    if (at < 0) return this.input.removeAttribute("aria-activedescendant");
    this.input.setAttribute("aria-activedescendant", this.list.children[at].id);
    this.list.children[at].scrollIntoView({ block: "nearest" });
  }

  choose(at) {
    const [label, name] = this.options[at];
    this.input.value = "";
    this.close();
    this.add(label, name);
  }

  onKey(event) {
    const last = this.options.length - 1;
    if (event.key === "ArrowDown" && last >= 0) this.setActive(this.active >= last ? 0 : this.active + 1);
    else if (event.key === "ArrowUp" && last >= 0) this.setActive(this.active <= 0 ? last : this.active - 1);
    else if (event.key === "ArrowDown" && this.input.value) this.search();
    else if (event.key === "Enter" && !event.ctrlKey && !event.metaKey && this.active >= 0)
      this.choose(this.active);
    else if (event.key === "Escape" && (this.input.value || !this.list.hidden)) {
      if (this.list.hidden) this.input.value = "";
      this.close();
    } else return;
    event.preventDefault();
  }
}

/** The label with the matching part in bold. */
function matched(label, query) {
  const at = label.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return [label];
  return [
    label.slice(0, at),
    make("b", {}, label.slice(at, at + query.length)),
    label.slice(at + query.length),
  ];
}
