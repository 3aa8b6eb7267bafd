// Dropped or chosen files: a single plain text opens in the first tab, anything else in the second.

import { byId } from "./dom.js";
import { clearNotice, notice } from "./notices.js";
import { openTab } from "./tabs.js";
import { decoded, FileProblem } from "./tables.js";

const MANY = /\.(csv|tsv|jsonl|ndjson)$/i;

export function startFiles(suggest, batch) {
  byId("open-file").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (event) => {
    open([...event.target.files]);
    event.target.value = "";
  });
  let depth = 0; // drag events come from every element under the pointer
  const dragging = (change) => {
    depth = Math.max(0, depth + change);
    document.body.classList.toggle("dragging", depth > 0);
  };
  addEventListener("dragenter", () => dragging(1));
  addEventListener("dragleave", () => dragging(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    dragging(-depth);
    const files = [...event.dataTransfer.files];
    if (!files.length) return; // dropped text, which the browser inserts
    event.preventDefault();
    open(files);
  });

  async function open(files) {
    if (!files.length) return;
    const isForMany = files.length > 1 || MANY.test(files[0].name) || !byId("many").hidden;
    openTab(isForMany ? "many" : "suggest");
    if (isForMany) return batch.open(files);
    try {
      const text = await decoded(files[0]);
      clearNotice();
      suggest.begin(text.replaceAll("\r\n", "\n"));
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      notice(error.message);
    }
  }
}
