// The start: which models there are, then the three pages.

import { models as fetchModels } from "./api.js";
import { Batch } from "./batch.js";
import { Card } from "./card.js";
import { byId, make } from "./dom.js";
import { startFiles } from "./files.js";
import { clearNotice, notice } from "./notices.js";
import { Suggest } from "./suggest.js";
import { onOpen, startTabs } from "./tabs.js";
import { startKey } from "./key.js";
import { startTheme } from "./theme.js";

let known = [];
let limits = {};
let model = null;
const current = () => model;

startTheme();
startKey();
const suggest = new Suggest(current);
const batch = new Batch(current, () => limits);
const card = new Card(current);
startFiles(suggest, batch);
onOpen((tab) => tab === "model" && card.show());
startTabs();
start();

async function start() {
  try {
    const answer = await fetchModels();
    known = answer.models ?? answer;
    limits = answer.limits ?? {};
  } catch (error) {
    notice(`${error.message} The page tries again by itself.`, { name: "Try now", run: start });
    setTimeout(() => model ?? start(), 1000 * (error.wait ?? 5));
    return;
  }
  if (!known.length) return notice("The server has no model yet.");
  clearNotice();
  const choice = byId("models");
  choice.replaceChildren(...known.map(({ name }) => make("option", { value: name }, name)));
  choice.addEventListener("change", () => choose(known.find(({ name }) => name === choice.value)));
  byId("model-choice").hidden = known.length < 2;
  choose(known.find((one) => one.default) ?? known[0]);
}

function choose(chosen) {
  model = chosen;
  byId("models").value = chosen.name;
  suggest.onText(0);
  if (!byId("model").hidden) card.show();
}
