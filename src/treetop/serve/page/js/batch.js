// The second tab: files with many texts in, a table with labels out.

import { BatchRun } from "./batch-run.js";
import { byId, make, table } from "./dom.js";
import { announce, clearNotice, notice, say } from "./notices.js";
import { count, counted, duration, scoreText } from "./numbers.js";
import { FileProblem, FORMULA, readFiles, writeCsv } from "./tables.js";

const PREVIEW = 3; // rows shown before the start
const SHOWN = 50; // result rows shown; the file has all

export class Batch {
  constructor(served) {
    this.served = served;
    this.place = byId("batch");
    this.run = null;
    byId("open-many").addEventListener("click", () => byId("many-files").click());
    byId("many-files").addEventListener("change", (event) => {
      this.open([...event.target.files]);
      event.target.value = "";
    });
  }

  async open(files) {
    if (!files.length) return;
    this.run?.stop();
    try {
      this.table = await readFiles(files);
      await this.served.ready;
      this.source = files.length === 1 ? files[0].name : counted(files.length, "file");
      clearNotice();
      this.showStart();
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error;
      this.place.hidden = true;
      notice(error.message);
    }
  }

  showStart() {
    const { names, rows, text } = this.table;
    const column = make(
      "select",
      {
        id: "batch-column",
        onchange: () => ((this.table.text = Number(column.value)), this.showPreview(preview)),
      },
      names.map((name, at) =>
        make("option", { value: at, selected: at === text }, name || `column ${at + 1}`),
      ),
    );
    const labels = make("input", {
      id: "batch-k",
      type: "number",
      min: 1,
      max: Math.min(this.served.model.labels, this.served.limits.k),
      value: Math.min(5, this.served.model.labels),
      required: true,
    });
    const threshold = make("input", {
      id: "batch-least",
      type: "number",
      min: 0,
      max: 1,
      step: "any",
      placeholder: "any",
    });
    const preview = make("div", {
      className: "scrolling",
      tabIndex: 0,
      role: "group",
      "aria-label": "First rows",
    });
    const form = make(
      "form",
      {
        className: "options",
        onsubmit: (event) => {
          event.preventDefault();
          this.start(Number(labels.value), threshold.value === "" ? null : Number(threshold.value));
        },
      },
      names.length > 1 ? make("label", {}, "Text column ", column) : null,
      make("label", {}, "Labels per text ", labels),
      make("label", {}, "Only scores above ", threshold),
      make("button", { className: "primary", id: "batch-start" }, "Predict labels"),
    );
    this.place.replaceChildren(
      make("h3", {}, this.source),
      make("p", {}, `${counted(rows.length, "text")}.`),
      preview,
      form,
    );
    this.place.hidden = false;
    this.showPreview(preview);
    byId("batch-start").focus();
  }

  showPreview(place) {
    const { names, rows, text } = this.table;
    place.replaceChildren(preview(names, rows.slice(0, PREVIEW), text));
  }

  start(k, threshold) {
    const { rows, text } = this.table;
    const options = { k, model: this.served.model.name, ...(threshold === null ? {} : { threshold }) };
    this.isProbability = this.served.model.calibrated;
    this.run = new BatchRun(
      rows.map((row) => row[text]),
      options,
      this.served.limits.texts,
    );
    this.showRun();
    this.resume();
  }

  showRun() {
    this.bar = make("progress", { max: this.run.texts.length, value: 0, "aria-label": "Progress" });
    this.progress = make("p", { className: "progress", id: "batch-progress" });
    this.buttons = make("div", { className: "actions" });
    this.outcome = make("div", {
      className: "scrolling",
      tabIndex: 0,
      role: "group",
      "aria-label": "Predicted labels",
      hidden: true,
    });
    this.place.replaceChildren(
      make("h3", {}, this.source),
      this.bar,
      this.progress,
      this.buttons,
      this.outcome,
    );
  }

  async resume() {
    const run = this.run;
    const started = performance.now();
    const before = run.done;
    const stop = make("button", { type: "button", onclick: () => run.stop() }, "Stop");
    this.setButtons(stop);
    stop.focus();
    const isShown = () => this.run === run;
    const onProgress = () => {
      if (!isShown()) return;
      clearNotice();
      const seconds = (performance.now() - started) / 1000;
      const left = (seconds / (run.done - before)) * (run.texts.length - run.done);
      this.showProgress(run.finished || seconds < 2 ? "" : `, about ${duration(left)} left`);
    };
    this.showProgress("");
    try {
      await run.start(onProgress, (error, wait) =>
        notice(`${error.message} Retrying in ${duration(wait)}; finished rows are kept.`),
      );
    } catch (error) {
      if (isShown()) notice(error.message);
    }
    if (isShown()) this.showOutcome();
  }

  showProgress(more) {
    const { done, texts } = this.run;
    this.bar.value = done;
    this.progress.textContent = `${count(done)} of ${counted(texts.length, "text")} done${more}.`;
  }

  setButtons(...buttons) {
    this.buttons.replaceChildren(...buttons);
  }

  showOutcome() {
    const run = this.run;
    const download = make(
      "button",
      {
        type: "button",
        id: "batch-download",
        className: "primary",
        disabled: !run.done,
        onclick: () => this.download(),
      },
      run.finished ? "Download as CSV" : `Download ${counted(run.done, "row")} as CSV`,
    );
    const resume = run.finished
      ? null
      : make("button", { type: "button", onclick: () => this.resume() }, "Resume");
    this.setButtons(...[download, resume].filter(Boolean));
    if (run.refused.length) {
      const [{ row, message }] = run.refused;
      this.progress.append(
        ` ${counted(run.refused.length, "text")} got no labels, first row ${count(row + 1)}: ${message}`,
      );
    }
    const { rows, text } = this.table;
    const results = run.results
      .slice(0, SHOWN)
      .map((found, at) => [rows[at][text], labelsCell(found, this.isProbability)]);
    this.outcome.replaceChildren(preview(["Text", "Labels"], results, 0));
    if (run.done > SHOWN)
      this.outcome.append(
        make("p", { className: "hint" }, `First ${SHOWN} rows shown. The file has all ${count(run.done)}.`),
      );
    this.outcome.hidden = !run.done;
    (resume ?? download).focus();
    announce(`${count(run.done)} of ${counted(run.texts.length, "text")} done.`);
  }

  download() {
    const { names, rows } = this.table;
    const { results } = this.run;
    const join = joiner(results);
    const header = [...names, unused("suggested_labels", names), unused("scores", names)];
    const lines = results.map((found, at) => [
      ...rows[at],
      join(found.map(({ label }) => label)),
      found.map(({ score }) => Number(score.toPrecision(6))).join(";"),
    ]);
    const link = make("a", {
      href: URL.createObjectURL(new Blob([writeCsv([header, ...lines])], { type: "text/csv" })),
    });
    link.download = `${this.source.replace(/\.[^.]*$/, "")} with labels.csv`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    say(`Downloaded ${link.download}.`);
  }
}

/** Labels separated by semicolons, or JSON lists if a label contains one or begins like a spreadsheet formula.
 *  `treetop` reads both. */
function joiner(results) {
  const plain = results.every((found) =>
    found.every(({ label }) => !/[;\r\n\t]|^\[|^\s|\s$/.test(label) && !FORMULA.test(label)),
  );
  return plain ? (labels) => labels.join(";") : (labels) => JSON.stringify(labels);
}

function unused(name, taken) {
  let free = name;
  for (let number = 2; taken.includes(free); number++) free = `${name}_${number}`;
  return free;
}

function labelsCell(found, isProbability) {
  if (!found.length) return make("span", { className: "none" }, "none");
  return make(
    "ul",
    { className: "chips small" },
    found.map(({ label, text, score }) =>
      make("li", {}, make("span", {}, text ?? label), make("small", {}, scoreText(score, isProbability))),
    ),
  );
}

function preview(names, rows, textColumn) {
  const cell = (value, at) =>
    make(
      "td",
      { className: at === textColumn ? "text" : "" },
      typeof value === "string" ? shortened(value) : value,
    );
  return table(
    names.map((name, at) => name || `column ${at + 1}`),
    rows.map((row) => row.map(cell)),
  );
}

const shortened = (value) => (value.length > 240 ? `${value.slice(0, 240)}…` : value);
