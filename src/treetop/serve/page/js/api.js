// Talking to the server. What goes wrong becomes a `ServerError` whose message can be shown as it is.

import { askForKey, keyHeaders } from "./key.js";

export class ServerError extends Error {
  /** kind: "gone" (no answer), "busy" (try again in `wait` seconds), "refused" (the request is at fault), "broken". */
  constructor(kind, message, wait = null) {
    super(message);
    this.kind = kind;
    this.wait = wait;
  }

  get passes() {
    return this.kind === "gone" || this.kind === "busy";
  }
}

const DEFAULT_WAIT = 3;

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
    throw new ServerError("gone", "The server does not answer.", DEFAULT_WAIT);
  }
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok && answer !== null) return answer;
  if (response.status === 401) {
    await askForKey(sentence(answer?.error ?? "a key is needed"));
    return request(path, { body, signal });
  }
  throw asError(response, answer?.error && sentence(answer.error));
}

const sentence = (said) => said.charAt(0).toUpperCase() + said.slice(1).replace(/[^.!?]$/, "$&.");

function asError(response, said) {
  const wait = Number(response.headers.get("Retry-After")) || DEFAULT_WAIT;
  if (response.status === 429) return new ServerError("busy", "The server has much to do just now.", wait);
  if (response.status === 503)
    return new ServerError("busy", said ?? "The server has much to do just now.", wait);
  if (response.status === 502 || response.status === 504)
    return new ServerError("gone", "The server does not answer.", wait);
  if (response.status === 413) return new ServerError("refused", said ?? "This is too long for the server.");
  if (response.status < 500)
    return new ServerError("refused", said ?? "The server does not understand this request.");
  return new ServerError("broken", said ?? "Something went wrong on the server.");
}
