// Copying text. The Clipboard API needs https or localhost; the old command works everywhere.

import { make } from "./dom.js";

/** Resolves to whether the text was copied. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyWithCommand(text);
  }
}

function copyWithCommand(text) {
  const focused = document.activeElement;
  const area = make("textarea", { value: text, className: "unseen" });
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  focused?.focus();
  return copied;
}
