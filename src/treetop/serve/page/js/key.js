// A server may require an API key. The page asks for it once, keeps it until the tab is closed, and sends it
// with every request.

import { byId } from "./dom.js";

const NAME = "treetop-key";
let key = null;
let asking = null;

try {
  key = sessionStorage.getItem(NAME);
} catch {
  // A browser may forbid storage: the key then stays in memory.
}

export const keyHeaders = () => (key ? { Authorization: `Bearer ${key}` } : {});

/** Shows a dialog and resolves once a key was entered. */
export function askForKey() {
  asking ??= new Promise((resolve) => {
    byId("key-reason").textContent =
      key === null
        ? "Enter the key that you got from the operator of this server."
        : "This key is not valid. Check it, or ask the operator of this server for a new one.";
    byId("key").value = "";
    byId("key-dialog").addEventListener(
      "close",
      () => {
        key = byId("key").value.trim();
        asking = null;
        try {
          sessionStorage.setItem(NAME, key);
        } catch {
          // The key stays in memory.
        }
        resolve();
      },
      { once: true },
    );
    byId("key-dialog").showModal();
  });
  return asking;
}

export function startKey() {
  byId("key-dialog").addEventListener("cancel", (event) => event.preventDefault());
}
