// Requests to the server. Failures become a `ServerError` with a message that can be shown as it is.

import { askForKey, keyHeaders } from "./key.js";

export class ServerError extends Error {
  /** kind: "unreachable", "busy" (retry in `wait` seconds), "refused" (the request is at fault), "broken". */
  constructor(kind, message, wait = null) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }

  get isTemporary() {
    return this.kind === "unreachable" || this.kind === "busy";
  }
}

const DEFAULT_WAIT = 3;
const UNREACHABLE = "The server does not respond.";
const BUSY = "The server is busy.";

export const models = () => request("v1/models");
export const card = (model) => request(`v1/models/${encodeURIComponent(model)}/card`);
export const predict = (body, signal) => request("v1/predict", { body, signal });
export const feedback = (body) => request("v1/feedback", { body });

export function labels(query, model, limit, signal) {
  const search = new URLSearchParams({ q: query, limit });
  if (model) search.set("model", model);
  return request(`v1/labels?${search}`, { signal });
}

async function request(path, { body, signal } = {}) {
  const options = { signal, headers: { Accept: "application/json", ...keyHeaders() } };
  if (body !== undefined) {
    options.method = "POST";
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError("unreachable", UNREACHABLE, DEFAULT_WAIT);
  }
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok && answer !== null) return answer;
  if (response.status === 401) {
    await askForKey();
    return request(path, { body, signal });
  }
  throw asError(response, answer?.error && sentence(answer.error));
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1).replace(/[^.!?]$/, "$&.");

function asError(response, message) {
  const wait = Number(response.headers.get("Retry-After")) || DEFAULT_WAIT;
  if (response.status === 429) return new ServerError("busy", BUSY, wait);
  if (response.status === 503) return new ServerError("busy", message ?? BUSY, wait);
  if (response.status === 502 || response.status === 504)
    return new ServerError("unreachable", UNREACHABLE, wait);
  if (response.status === 413)
    return new ServerError("refused", message ?? "The request is too large. Send less text.");
  if (response.status < 500)
    return new ServerError("refused", message ?? "The server rejected this request.");
  return new ServerError("broken", message ?? "Internal error. Try again later.");
}
