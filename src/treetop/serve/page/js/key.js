// A server may ask for a key. It is asked for once, kept until the browser tab is closed, and sent with every request.

import { byId } from "./dom.js";

const NAME = "treetop-key";
let key = null;
let asking = null;

try {
  key = sessionStorage.getItem(NAME);
} catch {
  // A browser may forbid storage: the key is then kept in memory.
}

export const keyHeaders = () => (key ? { Authorization: `Bearer ${key}` } : {});

/** Shows a dialog, and is done when a key was given; `said` is why the server refused. */
export function askForKey(said) {
  asking ??= new Promise((resolve) => {
    byId("key-said").textContent = said;
    byId("key").value = "";
    byId("key-dialog").addEventListener(
      "close",
      () => {
        key = byId("key").value.trim();
        asking = null;
        try {
          sessionStorage.setItem(NAME, key);
        } catch {
          // Kept in memory.
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
