// Asking for the labels of many texts: a piece at a time, waiting while the server is busy or away.

import { predict } from "./api.js";

const PIECE = 64; // texts in one request
const PIECE_CHARACTERS = 200_000; // and no more than this, unless a single text is longer
const MOST_WAITS = 40;
const MOST_REFUSED = 10; // where not one text is taken, the texts are not at fault

/** Keeps what is done when it is stopped or fails; `go` goes on from there. */
export class BatchRun {
  constructor(texts, options, limit) {
    this.texts = texts;
    this.options = options;
    this.piece = Math.min(PIECE, limit);
    this.results = [];
    this.refused = []; // {row, message}: texts the server does not take
    this.stopping = null;
  }

  get done() {
    return this.results.length;
  }

  get finished() {
    return this.done === this.texts.length;
  }

  stop() {
    this.stopping?.abort();
  }

  /** `onProgress()` after each piece, `onWait(error, seconds)` while waiting. Throws what does not pass by itself. */
  async go(onProgress, onWait) {
    const stopping = (this.stopping = new AbortController());
    let waits = 0;
    while (!this.finished && !stopping.signal.aborted) {
      const piece = this.nextPiece();
      try {
        this.results.push(...(await this.ask(piece, stopping.signal)));
        waits = 0;
        onProgress();
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!error.passes || ++waits > MOST_WAITS) throw error;
        onWait(error, error.wait);
        await sleep(1000 * error.wait, stopping.signal);
      }
    }
  }

  nextPiece() {
    const piece = [];
    let characters = 0;
    for (let at = this.done; at < this.texts.length && piece.length < this.piece; at++) {
      characters += this.texts[at].length;
      if (piece.length && characters > PIECE_CHARACTERS) break;
      piece.push(this.texts[at]);
    }
    return piece;
  }

  /** Of a piece that the server refuses its first half is asked, and so on: only the bad texts stay without labels. */
  async ask(piece, signal) {
    try {
      return (await predict({ ...this.options, texts: piece }, signal)).results.map(
        (result) => result.labels,
      );
    } catch (error) {
      if (error.kind !== "refused") throw error;
      if (piece.length === 1) {
        if (this.done === this.refused.length && this.done >= MOST_REFUSED) throw error;
        this.refused.push({ row: this.done, message: error.message });
        return [[]];
      }
      return this.ask(piece.slice(0, piece.length / 2), signal);
    }
  }
}

function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
