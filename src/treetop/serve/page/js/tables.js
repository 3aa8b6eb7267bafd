// Reading texts from CSV, TSV, JSONL and TXT files, and writing CSV (RFC 4180).

import { counted } from "./numbers.js";

/** A file that cannot be used; the message is one sentence that names the line. */
export class FileProblem extends Error {}

const TEXT_NAMES = ["text", "title", "content", "body", "description", "abstract", "document"];

/** {names: column names, rows: arrays of cells, text: index of the text column}. */
export async function readFiles(files) {
  const tables = [".csv", ".tsv", ".jsonl", ".ndjson"];
  if (files.length > 1) {
    const other = files.find((file) => tables.some((ending) => file.name.toLowerCase().endsWith(ending)));
    if (other)
      throw new FileProblem(`Several files at once must be plain texts. Open ${other.name} separately.`);
    const rows = await Promise.all(files.map(async (file) => [file.name, await decoded(file)]));
    return { names: ["file", "text"], rows, text: 1 };
  }
  const [file] = files;
  const content = await decoded(file);
  if (!content.trim()) throw new FileProblem(`${file.name} is empty. Choose a file with texts.`);
  const ending = file.name.toLowerCase().split(".").pop();
  if (ending === "jsonl" || ending === "ndjson") return fromRecords(file.name, content);
  if (ending === "csv" || ending === "tsv")
    return fromTable(file.name, content, ending === "tsv" ? "\t" : null);
  return {
    names: ["text"],
    rows: lines(content)
      .filter((line) => line.trim())
      .map((line) => [line]),
    text: 0,
  };
}

/** Decodes UTF-8, UTF-16 ("Unicode text" in spreadsheets) or, if neither fits, Windows-1252. */
export async function decoded(file) {
  const bytes = await file.arrayBuffer().catch(() => {
    // A folder, or removed since it was chosen.
    throw new FileProblem(`${file.name} cannot be read. Choose another file.`);
  });
  const start = new Uint8Array(bytes).subarray(0, 4096);
  if (start[0] === 0xff && start[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (start.includes(0))
    throw new FileProblem(`${file.name} is not a text file. Save it as plain text or CSV.`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

const lines = (content) => content.split(/\r\n|\n|\r/);

function fromRecords(file, content) {
  const records = [];
  lines(content).forEach((line, at) => {
    if (!line.trim()) return;
    let record;
    try {
      record = JSON.parse(line);
    } catch {
      throw new FileProblem(`${file}, line ${at + 1}: invalid JSON. Write one record per line.`);
    }
    if (typeof record === "string") record = { text: record };
    if (record === null || typeof record !== "object" || Array.isArray(record))
      throw new FileProblem(`${file}, line ${at + 1}: not a record. Write one like {"text": "…"} per line.`);
    records.push(record);
  });
  const names = [...new Set(records.flatMap(Object.keys))];
  const rows = records.map((record) => names.map((name) => cellOf(record[name])));
  return withTextColumn(file, names, rows);
}

const cellOf = (value) =>
  typeof value === "string"
    ? value.toWellFormed()
    : value === undefined || value === null
      ? ""
      : JSON.stringify(value);

function fromTable(file, content, delimiter) {
  const [names, ...rows] = parseTable(file, content, delimiter ?? likelyDelimiter(content));
  rows.forEach((row, at) => {
    if (row.length !== names.length)
      throw new FileProblem(
        `${file}, record ${at + 2}: ${counted(row.length, "cell")}, but the first row has ${names.length}. ` +
          "Quote cells that contain the separator.",
      );
  });
  if (!rows.length)
    throw new FileProblem(`${file} has no rows below the column names. Add at least one text.`);
  return withTextColumn(
    file,
    names.map((name) => name.trim()),
    rows,
  );
}

/** The most frequent of comma, semicolon and tab in the first line. */
function likelyDelimiter(content) {
  const first = lines(content)[0].replace(/"[^"]*"/g, "");
  const found = (mark) => first.split(mark).length;
  return [",", ";", "\t"].reduce((best, mark) => (found(mark) > found(best) ? mark : best));
}

export function parseTable(file, content, delimiter) {
  const rows = [];
  let row = [];
  let at = 0;
  while (at < content.length) {
    let cell;
    if (content[at] === '"') {
      const end = closingQuote(content, at);
      if (end < 0)
        throw new FileProblem(
          `${file}, record ${rows.length + 1}: unclosed quotation mark. Close or double it.`,
        );
      cell = content.slice(at + 1, end).replaceAll('""', '"');
      at = end + 1;
      if (at < content.length && content[at] !== delimiter && !isBreak(content[at]))
        throw new FileProblem(
          `${file}, record ${rows.length + 1}: text after a closing quotation mark. Quote the whole cell.`,
        );
    } else {
      let end = at;
      while (end < content.length && content[end] !== delimiter && !isBreak(content[end])) end++;
      cell = content.slice(at, end);
      at = end;
    }
    row.push(cell);
    if (content[at] === delimiter) {
      at++;
      if (at < content.length && !isBreak(content[at])) continue;
      row.push(""); // an empty cell after the last delimiter of a row
    }
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
    at += content[at] === "\r" && content[at + 1] === "\n" ? 2 : 1;
  }
  return rows;
}

const isBreak = (character) => character === "\n" || character === "\r";

function closingQuote(content, opening) {
  let at = content.indexOf('"', opening + 1);
  while (at >= 0 && content[at + 1] === '"') at = content.indexOf('"', at + 2);
  return at;
}

/** The column with a typical text name, else the one with the longest cells. */
function withTextColumn(file, names, rows) {
  if (!rows.length) throw new FileProblem(`${file} has no texts. Choose a file with texts.`);
  const named = TEXT_NAMES.map((name) => names.findIndex((column) => column.toLowerCase() === name)).find(
    (at) => at >= 0,
  );
  if (named !== undefined) return { names, rows, text: named };
  const sample = rows.slice(0, 100);
  const lengths = names.map((_, at) => sample.reduce((sum, row) => sum + row[at].length, 0));
  return { names, rows, text: lengths.indexOf(Math.max(...lengths)) };
}

/**
 * CSV with a byte order mark, by which spreadsheet programs recognise UTF-8. They also run cells that begin
 * like a formula; a leading apostrophe makes them text. Numbers stay numbers.
 */
export function writeCsv(rows) {
  const cell = (value) => {
    const plain = FORMULA.test(value) && !NUMBERS.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  return "\ufeff" + rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

export const FORMULA = /^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/; // also the full-width signs
const NUMBERS = /^[-+]?[\d.]+(e[-+]?\d+)?(;[-+]?[\d.]+(e[-+]?\d+)?)*$/i; // one, or several scores
