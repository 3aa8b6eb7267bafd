// Messages: a notice at the top for problems, a status line for confirmations.

import { byId, make } from "./dom.js";

let fading = null;

/** Shows a notice until `clearNotice`, with a button for `action`. Repeated messages are announced once. */
export function notice(message, action = null) {
  const place = byId("notice");
  if (place.dataset.message === message && !place.hidden) return;
  place.dataset.message = message;
  place.replaceChildren(make("span", {}, message));
  if (action)
    place.append(
      " ",
      make("button", { type: "button", className: "link", onclick: action.run }, action.name),
    );
  place.hidden = false;
}

export function clearNotice() {
  byId("notice").hidden = true;
}

/** Shows a message at the bottom of the page for a few seconds; screen readers announce it. */
export function say(message) {
  const place = byId("status");
  place.textContent = message;
  place.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove("shown"), 5000);
}

/** Announces a message to screen readers only. */
export function announce(message) {
  const place = byId("status");
  if (!place.classList.contains("shown")) place.textContent = message;
}
