// Times and numbers as text. Times of the service are shown as they are written: on the clock of the training.

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Milliseconds of a time text; without an offset its wall clock is taken as if it were UTC. */
export function stamp(text) {
  const zoned = /(Z|[+-]\d\d:?\d\d)$/.test(text);
  return Date.parse(zoned ? text : text + "Z");
}

/** "12:05", or "18 Nov 12:05" if the day is not that of `beside`; seconds only if there are any. */
export function clock(text, beside = "") {
  if (!text) return "";
  const [day, rest = "00:00:00"] = text.split("T");
  const [, month, date] = day.split("-");
  const seconds = rest.slice(6, 8);
  const time = rest.slice(0, 5) + (seconds && seconds !== "00" ? ":" + seconds : "");
  if (beside && beside.startsWith(day)) return time;
  return `${Number(date)} ${MONTHS[Number(month) - 1]} ${time}`;
}

/** "18 Nov 2026, 12:05". */
export function longClock(text) {
  const [year, month, date] = text.split("T")[0].split("-");
  return `${Number(date)} ${MONTHS[Number(month) - 1]} ${year}, ${clock(text, text)}`;
}

/** A number with three or four digits that count. */
export function number(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(2);
  const digits = Math.max(0, Math.min(6, 2 - Math.floor(Math.log10(size))));
  return value.toLocaleString("en", { maximumFractionDigits: digits, useGrouping: size >= 1e4 });
}

/** A number of percent with its sign if asked for. */
export function percent(value, { sign = false } = {}) {
  if (value === null || value === undefined) return "–";
  const digits = Math.abs(value) < 10 ? 1 : 0;
  const text = Math.abs(value).toFixed(digits);
  const minus = value < 0 && Number(text) !== 0;
  return `${minus ? "−" : sign ? "+" : ""}${text} %`;
}

/** "3 sensors", "1 sensor". */
export function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

/** "40 s", "12 min", "3 h", "2 days". */
export function duration(seconds) {
  const size = Math.abs(seconds);
  if (size < 90) return `${Math.round(size)} s`;
  if (size < 5400) return `${Math.round(size / 60)} min`;
  if (size < 172800) return `${Math.round(size / 3600)} h`;
  return `${Math.round(size / 86400)} days`;
}

export const HEALTH = {
  dead: "dead",
  stuck: "stuck",
  drifting: "drifting",
  biased: "biased",
  noisy: "noisy",
  suspect: "suspect",
  maintenance: "in maintenance",
  unknown: "no reading yet",
  asleep: "asleep",
  good: "good",
};

/** States in which the readings of a sensor are left out. */
export const OUT = ["dead", "stuck", "drifting", "biased", "noisy"];

/** The health of a sensor in a sentence without a stop: what, since when and why. */
export function healthWords(sensor, step) {
  const reasons = sensor.reasons.length ? `: ${sensor.reasons.join("; ")}` : "";
  const since = sensor.since && !["good", "asleep"].includes(sensor.health) ? ` since ${clock(sensor.since, step || "")}` : "";
  const hand = sensor.override ? " (set by hand)" : sensor.device ? ` (now ${sensor.device})` : "";
  return `${HEALTH[sensor.health] || sensor.health}${since}${hand}${sensor.health === "good" ? "" : reasons}`;
}
