// Tabs following the ARIA pattern: arrow keys move between them, and the URL names the open one.

import { byId } from "./dom.js";

const PREFIX = "#/"; // not the id of an element, so that the browser does not scroll to it
const tabs = () => [...document.querySelectorAll("[role=tab]")];
const listeners = [];

export function onOpen(listener) {
  listeners.push(listener);
}

export function startTabs() {
  for (const tab of tabs()) {
    tab.addEventListener("click", () => openTab(tab.getAttribute("aria-controls")));
    tab.addEventListener("keydown", (event) => moveFrom(tab, event));
  }
  addEventListener("hashchange", openFromAddress);
  openFromAddress();
}

export function openTab(name) {
  for (const tab of tabs()) {
    const panel = tab.getAttribute("aria-controls");
    const selected = panel === name;
    tab.setAttribute("aria-selected", selected);
    tab.tabIndex = selected ? 0 : -1;
    byId(panel).hidden = !selected;
  }
  document.body.dataset.tab = name;
  if (location.hash !== PREFIX + name) history.replaceState(null, "", PREFIX + name);
  for (const listener of listeners) listener(name);
}

function openFromAddress() {
  const named = location.hash.slice(PREFIX.length);
  const known = tabs().some((tab) => tab.getAttribute("aria-controls") === named);
  if (known || !document.body.dataset.tab) openTab(known ? named : "suggest");
}

function moveFrom(tab, event) {
  const all = tabs();
  const at = all.indexOf(tab);
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const next = all[(to + all.length) % all.length];
  openTab(next.getAttribute("aria-controls"));
  next.focus();
}
