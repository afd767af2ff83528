// Requests to the service. A key, if the service wants one, is kept for this tab only.

const STORED = "subcast-key";
const PATIENCE = 10000;

/** The service answered with an error; `status` is 0 if it did not answer. */
export class ServiceError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export function keep(key) {
  sessionStorage.setItem(STORED, key);
}

async function ask(method, path, body) {
  const headers = { Accept: "application/json" };
  const key = sessionStorage.getItem(STORED);
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const ended = new AbortController();
  const timer = setTimeout(() => ended.abort(), PATIENCE);
  let answer;
  let content;
  try {
    answer = await fetch(path, {
      method, headers, signal: ended.signal, cache: "no-store", credentials: "omit",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    content = await answer.json();
  } catch {
    throw new ServiceError(answer ? `the service answered ${answer.status}` : "the service does not answer", answer ? answer.status : 0);
  } finally {
    clearTimeout(timer);
  }
  if (!answer.ok) throw new ServiceError(content.detail || answer.statusText, answer.status);
  return content;
}

const named = encodeURIComponent;

/** An answer, or null where there is none yet. */
async function maybe(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.status === 404 || error.status === 409) return null;
    throw error;
  }
}

export const service = {
  status: () => ask("GET", "v1/status"),
  sensors: () => ask("GET", "v1/sensors"),
  latest: (sensor) => maybe(ask("GET", `v1/forecasts/latest?sensor=${named(sensor)}`)),
  readings: (sensor, from) => ask("GET", `v1/readings?sensor=${named(sensor)}&start=${named(from)}&limit=1000`),
  neighbors: (sensor) => maybe(ask("GET", `v1/forecasts/latest/neighbors?sensor=${named(sensor)}`)),
  cost: () => maybe(ask("GET", "v1/cost")),
  truth: () => ask("GET", "v1/truth"),
  history: () => ask("GET", "v1/truth/history?limit=200"),
  events: () => ask("GET", "v1/events?limit=60"),
  whatIf: (without, sensors) => ask("POST", "v1/what-if", { without, sensors }),
};
