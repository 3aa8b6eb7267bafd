// Predicting labels for many texts, a batch per request, with retries while the server is busy or unreachable.

import { predict } from "./api.js";

const BATCH = 64; // texts per request
const BATCH_CHARACTERS = 200_000; // per request, unless a single text is longer
const MAX_RETRIES = 40;
const MAX_REFUSED = 10; // if all of the first texts are refused, the fault lies elsewhere

/** Keeps finished results when it is stopped or fails; `start` resumes from there. */
export class BatchRun {
  constructor(texts, options, limit) {
    this.texts = texts;
    this.options = options;
    this.batchSize = Math.min(BATCH, limit);
    this.results = [];
    this.refused = []; // {row, message}: texts that the server refused
    this.stopper = null;
  }

  get done() {
    return this.results.length;
  }

  get finished() {
    return this.done === this.texts.length;
  }

  stop() {
    this.stopper?.abort();
  }

  /** Calls `onProgress()` per batch and `onWait(error, seconds)` before a retry. Throws permanent errors. */
  async start(onProgress, onWait) {
    const stopper = (this.stopper = new AbortController());
    let retries = 0;
    while (!this.finished && !stopper.signal.aborted) {
      const batch = this.nextBatch();
      try {
        this.results.push(...(await this.predict(batch, stopper.signal)));
        retries = 0;
        onProgress();
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!error.isTemporary || ++retries > MAX_RETRIES) throw error;
        onWait(error, error.wait);
        await sleep(1000 * error.wait, stopper.signal);
      }
    }
  }

  nextBatch() {
    const batch = [];
    let characters = 0;
    for (let at = this.done; at < this.texts.length && batch.length < this.batchSize; at++) {
      characters += this.texts[at].length;
      if (batch.length && characters > BATCH_CHARACTERS) break;
      batch.push(this.texts[at]);
    }
    return batch;
  }

  /** Retries the first half of a refused batch, and so on, so that only the refused texts get no labels. */
  async predict(batch, signal) {
    try {
      return (await predict({ ...this.options, texts: batch }, signal)).results.map(
        (result) => result.labels,
      );
    } catch (error) {
      if (error.kind !== "refused") throw error;
      if (batch.length === 1) {
        if (this.done === this.refused.length && this.done >= MAX_REFUSED) throw error;
        this.refused.push({ row: this.done, message: error.message });
        return [[]];
      }
      return this.predict(batch.slice(0, batch.length / 2), signal);
    }
  }
}

function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
