// Startup: fetches the list of models, then starts the three tabs.

import { models as fetchModels } from "./api.js";
import { Batch } from "./batch.js";
import { Card } from "./card.js";
import { byId, make } from "./dom.js";
import { startFiles } from "./files.js";
import { startKey } from "./key.js";
import { clearNotice, notice } from "./notices.js";
import { Suggest } from "./suggest.js";
import { onOpen, openTab, startTabs } from "./tabs.js";
import { startTheme } from "./theme.js";

const served = { models: [], model: null, limits: null, feedback: true };
served.ready = new Promise((resolve) => (served.becomeReady = resolve));
let retrying = null;

startTheme();
startKey();
const suggest = new Suggest(served, refresh);
const batch = new Batch(served);
const card = new Card(served);
startFiles(suggest, batch);
onOpen((tab) => tab === "model" && card.show());
startTabs();
byId("models").addEventListener("change", (event) => choose(named(event.target.value)));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault();
  openTab("suggest");
  byId("text").focus();
});
start();

async function start() {
  clearTimeout(retrying);
  try {
    Object.assign(served, await fetchModels());
  } catch (error) {
    notice(`${error.message} The page retries automatically.`, { name: "Retry now", run: start });
    retrying = setTimeout(start, 1000 * (error.wait ?? 5));
    return;
  }
  clearNotice();
  byId("models").replaceChildren(...served.models.map(({ name }) => make("option", { value: name }, name)));
  byId("model-choice").hidden = served.models.length < 2;
  choose(served.models.find((one) => one.default));
  served.becomeReady();
}

const named = (name) => served.models.find((one) => one.name === name);

/** Called when the server responds with a model version that the page does not know. */
async function refresh() {
  Object.assign(served, await fetchModels().catch(() => ({})));
  served.model = named(served.model.name) ?? served.model;
  if (!byId("model").hidden) card.show();
}

function choose(chosen) {
  served.model = chosen;
  byId("models").value = chosen.name;
  suggest.restart();
  if (!byId("model").hidden) card.show();
}
