// The clipboard. Its modern interface is there on https and on this very machine only; the old one everywhere.

import { make } from "./dom.js";

/** Whether it worked. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyOldWay(text);
  }
}

function copyOldWay(text) {
  const focused = document.activeElement;
  const area = make("textarea", { value: text, className: "unseen" });
  document.body.append(area);
  area.select();
  const worked = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return worked;
}
