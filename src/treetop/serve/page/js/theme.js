// Light or dark: follows the system until the button is pressed, and then keeps the choice in this browser.

import { byId, icon } from "./dom.js";

const KEY = "treetop-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function startTheme() {
  const button = byId("theme");
  show(button);
  system.addEventListener("change", () => show(button));
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    keep(next);
    show(button);
  });
}

function show(button) {
  const theme = current();
  document.documentElement.dataset.theme = theme;
  button.replaceChildren(icon(theme === "dark" ? "sun" : "moon"));
  button.setAttribute("aria-label", theme === "dark" ? "Use light colours" : "Use dark colours");
  button.title = button.getAttribute("aria-label");
}

function current() {
  return kept() ?? (system.matches ? "dark" : "light");
}

// A browser may forbid storage; the choice then lasts until the page is closed.
let inMemory = null;

function kept() {
  try {
    return localStorage.getItem(KEY) ?? inMemory;
  } catch {
    return inMemory;
  }
}

function keep(theme) {
  inMemory = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice stays in memory.
  }
}
