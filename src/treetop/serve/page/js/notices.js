// What the page says about itself: a notice at the top for trouble, a quiet line for what was done.

import { byId, make } from "./dom.js";

let fading = null;

/** Shown until `clearNotice`; with `action`, a button beside it. The same words are not announced twice. */
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

/** A short word at the foot of the page, read out and gone after a while. */
export function say(message) {
  const place = byId("status");
  place.textContent = message;
  place.classList.add("shown");
  clearTimeout(fading);
  fading = setTimeout(() => place.classList.remove("shown"), 5000);
}

/** For the ears only: the eyes see it anyway. */
export function announce(message) {
  const place = byId("status");
  if (!place.classList.contains("shown")) place.textContent = message;
}
