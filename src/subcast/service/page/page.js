// The page: asks the service every few seconds and shows what it says. Nothing is computed here but text and pictures.
import { keep, service } from "./api.js";
import { Chart, drawCoverage, shape } from "./chart.js";
import { HEALTH, OUT, clock, duration, healthWords, longClock, number, percent, plural, stamp } from "./words.js";

const EVERY = 2000; // milliseconds between two questions
const LONGEST_PAUSE = 30000;
const REFRESH = 15000; // everything is asked again after this time, whether there is a new step or not
const ORDER = [...OUT, "suspect", "maintenance", "unknown", "asleep", "good"];
const RING = "M8 2a6 6 0 1 0 .01 0zM8 5a3 3 0 1 1-.01 0z";
const SQUARE = "M2 2h12v12H2z";
const LIGHTS = {
  good: "M8 2a6 6 0 1 0 .01 0z",
  asleep: "M10 2a6 6 0 1 0 4 10a6 6 0 0 1-4-10z",
  suspect: "M8 1l7 13H1z",
  dead: RING,
  stuck: SQUARE, drifting: SQUARE, biased: SQUARE, noisy: SQUARE,
  maintenance: "M8 1l7 7-7 7-7-7z",
  unknown: "M3 7h10v2H3z",
};

const by = (id) => document.getElementById(id);
const state = {
  status: null, sensors: [], step: null, chosen: null, off: new Set(), day: null, forecast: null, readings: [],
  neighbors: null, whatIf: null, shown: 0, failures: 0, awaySince: null, focus: null, byHand: false,
};
const chart = new Chart(by("chart"), (text) => { by("readout").textContent = text; });
const rows = new Map();

// Small helpers

function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function light(health) {
  const svg = shape("svg", { viewBox: "0 0 16 16", class: `light ${health}`, "aria-hidden": "true" });
  shape("path", { d: LIGHTS[health] || LIGHTS.unknown, fill: "currentColor", "fill-rule": "evenodd" }, svg);
  return svg;
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function notice(text) {
  by("notice").hidden = !text;
  setText(by("notice"), text);
}

// Sensors

function rowOf(sensor) {
  let row = rows.get(sensor.sensor);
  if (row) return row;
  const name = make("strong", { textContent: sensor.sensor });
  const words = make("small");
  const button = make("button", { type: "button", className: "sensor" }, name, words);
  const toggle = make("button", { type: "button", className: "switch" }, make("span"));
  toggle.setAttribute("role", "switch");
  toggle.setAttribute("aria-label", `Use ${sensor.sensor}`);
  const item = make("li", {}, button, toggle);
  button.addEventListener("click", () => choose(sensor.sensor, true));
  toggle.addEventListener("click", () => switchSensor(sensor.sensor));
  row = { item, button, toggle, words, health: null };
  rows.set(sensor.sensor, row);
  return row;
}

function showSensors() {
  const wanted = by("find").value.trim().toLowerCase();
  const sorted = [...state.sensors].sort((one, other) =>
    ORDER.indexOf(one.health) - ORDER.indexOf(other.health) || one.place - other.place);
  const visible = sorted.filter((each) => each.sensor.toLowerCase().includes(wanted));
  for (const sensor of visible) updateRow(sensor);
  const items = visible.map((each) => rows.get(each.sensor).item);
  const list = by("list");
  if (items.length !== list.children.length || items.some((item, index) => list.children[index] !== item)) {
    const active = document.activeElement;
    list.replaceChildren(...items);
    if (active && active !== document.activeElement && list.contains(active)) active.focus({ preventScroll: true });
  }
  by("none-found").hidden = visible.length > 0 || !wanted;
  showTabStop(visible);
}

function updateRow(sensor) {
  const row = rowOf(sensor);
  if (row.health !== sensor.health) {
    row.item.querySelector("svg")?.remove();
    row.button.prepend(light(sensor.health));
    row.health = sensor.health;
  }
  setText(row.words, healthWords(sensor, state.step));
  row.button.setAttribute("aria-current", String(sensor.sensor === state.chosen));
  row.toggle.setAttribute("aria-checked", String(!state.off.has(sensor.sensor)));
  row.item.className = state.off.has(sensor.sensor) ? "off" : "";
}

/** Only one row of the list is reached by Tab; arrow keys go to the others. */
function showTabStop(visible) {
  const names = visible.map((each) => each.sensor);
  const stop = [state.focus, state.chosen, names[0]].find((name) => names.includes(name));
  for (const [name, row] of rows) {
    row.button.tabIndex = row.toggle.tabIndex = name === stop ? 0 : -1;
  }
}

function onListKey(event) {
  const items = [...by("list").children];
  const here = items.findIndex((item) => item.contains(document.activeElement));
  const there = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: items.length - 1 }[event.key];
  if (here < 0 || there === undefined) return;
  event.preventDefault();
  const item = items[Math.max(0, Math.min(items.length - 1, there))];
  const onSwitch = document.activeElement.classList.contains("switch");
  state.focus = item.querySelector("strong").textContent;
  showSensors();
  item.querySelector(onSwitch ? ".switch" : ".sensor").focus();
}

function showCounts() {
  const counts = {};
  for (const sensor of state.sensors) counts[sensor.health] = (counts[sensor.health] || 0) + 1;
  by("counts").replaceChildren(...ORDER.filter((health) => counts[health]).map((health) =>
    make("span", {}, light(health), `${counts[health]} ${HEALTH[health]}`)));
}

async function choose(name, byUser = false) {
  state.chosen = name;
  state.focus = name;
  state.day = null;
  state.byHand = true;
  history.replaceState(null, "", `#sensor=${encodeURIComponent(name)}`);
  showSensors();
  await guarded(askAboutChosen);
  if (byUser && matchMedia("(max-width: 46rem)").matches) {
    by("chosen").focus({ preventScroll: true });
    by("chosen").scrollIntoView({ block: "start" });
  }
}

async function switchSensor(name) {
  if (state.off.has(name)) state.off.delete(name);
  else state.off.add(name);
  showSensors();
  await guarded(askWhatIf);
}

// The chosen sensor

async function askAboutChosen() {
  const name = state.chosen;
  if (!name || !state.status) return;
  const forecast = await service.latest(name);
  const [readings, neighbors] = await Promise.all([pastReadings(name, forecast), forecast && state.status.forecasts ? service.neighbors(name) : null]);
  if (name !== state.chosen) return;
  Object.assign(state, { forecast, readings, neighbors });
  showChosen();
}

/** Readings of the last steps, with a hole for each step without one. */
async function pastReadings(name, forecast) {
  const last = forecast ? forecast.step : state.status.last_step;
  if (!last) return [];
  const step = stepLength(forecast);
  const count = Math.max(36, 3 * state.status.lookback);
  const from = new Date(stamp(last) - (count - 1) * step).toISOString().slice(0, 19) + (/(Z|[+-]\d\d:\d\d)$/.test(last) ? "Z" : "");
  const page = await service.readings(name, from);
  const points = page.readings.map((each) => ({ time: each.time, value: each.value, flag: each.flag })).reverse();
  return withHoles(points.filter((each) => stamp(each.time) <= stamp(last)), last, step);
}

/** The points with a hole for every step without one, and at least as many steps as a window has. */
function withHoles(points, last, step) {
  const begin = later(last, -(state.status.lookback - 1) * step);
  const full = !points.length || stamp(points[0].time) > stamp(begin) ? [{ time: begin, value: null, flag: 9 }] : [];
  if (points.length && full.length && stamp(points[0].time) - stamp(begin) < step / 2) full.pop();
  for (const point of points) {
    fillHoles(full, point.time, step);
    full.push(point);
  }
  fillHoles(full, later(last, step), step);
  return full;
}

/** Add a hole for every step between the last point and a time. */
function fillHoles(points, until, step) {
  for (let most = 2000; points.length && most > 0; most -= 1) {
    const next = later(points[points.length - 1].time, step);
    if (stamp(until) - stamp(next) < step / 2) return;
    points.push({ time: next, value: null, flag: 9 });
  }
}

/** A time text some milliseconds later, on the same clock. */
function later(text, milliseconds) {
  const offset = text.slice(19);
  return new Date(Date.parse(text.slice(0, 19) + "Z") + milliseconds).toISOString().slice(0, 19) + offset;
}

function stepLength(forecast) {
  const times = forecast ? forecast.times : [];
  return times.length > 1 ? stamp(times[1]) - stamp(times[0]) : 300000;
}

function showChosen() {
  const { chosen, forecast } = state;
  const sensor = state.sensors.find((each) => each.sensor === chosen);
  const own = forecast && forecast.forecasts.find((each) => each.sensor === chosen);
  setText(by("chosen-title"), own ? `Forecast of ${chosen}` : `${chosen}: no forecast yet`);
  if (sensor) by("chosen-health").replaceChildren(...chosenWords(sensor, own));
  const ahead = own ? pointsAhead(forecast, own) : [];
  const other = otherPoints(chosen);
  chart.draw({ past: state.readings, ahead, other, neighbors: neighborLines(), unit: forecast ? forecast.unit : "" });
  by("chart").setAttribute("aria-label", chartWords(ahead));
  showLegend(ahead, other);
  showNumbers(ahead, other);
  showDays();
}

function chosenWords(sensor, own) {
  const icon = light(sensor.health);
  const virtual = own && !own.present ? " Its forecast comes from the other sensors." : "";
  const error = sensor.mae === null || sensor.mae === undefined ? "" : ` Error of its forecasts so far: ${number(sensor.mae)} ${sensor.unit || ""}.`;
  const text = healthWords(sensor, state.step);
  return [icon, ` ${text.charAt(0).toUpperCase()}${text.slice(1)}.${virtual}${error}`];
}

function pointsAhead(forecast, own) {
  const widest = [...own.intervals].sort((one, other) => other.level - one.level)[0];
  return forecast.times.map((time, index) => ({
    time, mean: own.mean[index], lower: widest ? widest.lower[index] : null, upper: widest ? widest.upper[index] : null,
    level: widest ? widest.level : null,
  }));
}

function otherPoints(name) {
  const other = state.whatIf && state.off.size ? state.whatIf.forecast : null;
  const own = other && other.forecasts.find((each) => each.sensor === name);
  return own ? pointsAhead(other, own) : [];
}

/** Past windows on the times of the present one. */
function neighborLines() {
  const { forecast, neighbors } = state;
  if (!forecast || !neighbors) return [];
  const step = stepLength(forecast);
  return neighbors.neighbors.slice(0, 8).map((day, place) => {
    const past = day.past || [];
    const values = [...past, ...(day.future || [])];
    const points = values.map((value, index) => ({ time: later(forecast.step, (index - past.length + 1) * step), value }));
    return { points: points.filter((each) => !state.readings.length || stamp(each.time) >= stamp(state.readings[0].time)), named: place === state.day };
  });
}

function chartWords(ahead) {
  if (!ahead.length) return `Readings of ${state.chosen}; no forecast yet`;
  const end = ahead[ahead.length - 1];
  const first = ahead[0];
  const bounds = end.lower === null ? "" : `, between ${number(end.lower)} and ${number(end.upper)} with ${percent(100 * end.level)}`;
  return `Readings and forecast of ${state.chosen}: ${number(first.mean)} at ${clock(first.time, state.step || "")}, ${number(end.mean)} at ${clock(end.time, state.step || "")}${bounds}. Arrow keys read single steps.`;
}

function showLegend(ahead, other) {
  const entries = [["reading", "readings"]];
  if (state.readings.some((each) => each.flag === 4 && each.value !== null)) entries.push(["left-out", "left out as bad"]);
  if (state.readings.some((each) => each.flag === 3)) entries.push(["dubious", "suspect"]);
  if (ahead.length) entries.push(["forecast", ahead[0].level ? `forecast with its ${percent(100 * ahead[0].level)} interval` : "forecast"]);
  if (other.length) entries.push(["other", "without the sensors that are switched off"]);
  if (state.neighbors && state.neighbors.neighbors.length) entries.push(["neighbor", "past days it leaned on"]);
  const marks = { "left-out": "M12 2l8 8m0 -8l-8 8", dubious: "M16 1l5 9h-10z" };
  by("legend").replaceChildren(...entries.map(([name, text]) => {
    const svg = shape("svg", { viewBox: "0 0 32 12", "aria-hidden": "true" });
    shape("path", { class: name, d: marks[name] || "M1 6H31" }, svg);
    return make("li", {}, svg, text);
  }));
}

function showNumbers(ahead, other) {
  const head = ["time", "forecast", "lower", "upper", ...(other.length ? ["if switched off"] : [])];
  const table = by("numbers");
  table.tHead.replaceChildren(make("tr", {}, ...head.map((text) => Object.assign(make("th", { textContent: text }), { scope: "col" }))));
  table.tBodies[0].replaceChildren(...ahead.map((each, index) => {
    const cells = [clock(each.time, state.step || ""), number(each.mean), number(each.lower), number(each.upper)];
    if (other.length) cells.push(number(other[index].mean));
    return make("tr", {}, ...cells.map((text) => make("td", { textContent: text })));
  }));
}

// The past it leaned on

function showDays() {
  const list = state.neighbors ? state.neighbors.neighbors.slice(0, 8) : [];
  setText(by("past-words"), list.length
    ? `The ${list.length} nearest of ${plural(state.neighbors.neighbors.length, "past window")} that looked most like the present one, on the sensors that report. Press one to see it in the chart.`
    : "The forecast leaned on no past window.");
  by("days").replaceChildren(...list.map((day, place) => {
    const button = make("button", { type: "button", textContent: day.end ? longClock(day.end) : `window ${place + 1}` });
    button.setAttribute("aria-pressed", String(place === state.day));
    button.addEventListener("click", () => {
      state.day = state.day === place ? null : place;
      showChosen();
      by("days").children[place].querySelector("button").focus();
    });
    const fill = make("i");
    fill.style.width = `${Math.min(100, 100 * day.weight / (list[0].weight || 1))}%`;
    const bar = make("span", { className: "bar" }, fill);
    bar.setAttribute("aria-hidden", "true");
    return make("li", {}, button, bar, make("span", { className: "percent", textContent: percent(100 * day.weight) }));
  }));
}

// Cost, what-if, truth, events

function gapWords(gap) {
  if (gap === null || gap === undefined) return "how much larger the error is than with all sensors is not known";
  if (gap < 0.05) return "the error is expected to be no larger than with all sensors";
  return `the error is expected to be ${percent(gap)} larger than with all sensors`;
}

/** A cost as text; one below zero is chance. */
function costText(cost) {
  return cost === null ? "–" : percent(Math.max(0, cost), { sign: true });
}

function showCost(cost) {
  const box = by("cost-words");
  if (!cost || cost.step === null) {
    box.replaceChildren(make("p", { textContent: "There is no forecast yet." }));
    return;
  }
  const parts = cost.cost === null ? [] : [make("p", { className: "big", textContent: costText(cost.cost) })];
  const silent = cost.silent.length ? `With ${plural(cost.silent.length, "sensor")} silent or left out,` : "All sensors report:";
  parts.push(make("p", { textContent: `${silent} ${gapWords(cost.cost)}.` }));
  if (cost.cost_one_more !== null) {
    parts.push(make("p", { className: "soft", textContent: `If one more fell silent: ${costText(cost.cost_one_more)}.` }));
  }
  if (cost.own.length) parts.push(make("ul", { className: "plain" }, ...cost.own.slice(0, 12).map((each) => make("li", { textContent: ownCost(each) }))));
  box.replaceChildren(...parts);
}

function ownCost(each) {
  const since = each.since ? ` since ${clock(each.since, state.step || "")}` : "";
  if (each.width === null) return `${each.sensor}${since}`;
  const ratio = each.width_before ? Math.round((10 * each.width) / each.width_before) / 10 : null;
  const times = ratio === null ? "" : ratio === 1 ? ", as at this time of day when it reported" : `, ${number(ratio)} times as wide as at this time of day when it reported`;
  return `${each.sensor}${since}: its interval is ${number(each.width)}${state.status.unit ? ` ${state.status.unit}` : ""} wide${times}`;
}

async function askWhatIf() {
  if (!state.off.size || !state.status || !state.status.last_step) {
    state.whatIf = null;
  } else {
    state.whatIf = await service.whatIf([...state.off], null);
  }
  showWhatIf();
  if (state.forecast) showChosen();
}

function showWhatIf() {
  const box = by("what-if-words");
  by("all-on").hidden = !state.off.size;
  if (!state.off.size) {
    box.replaceChildren(make("p", { textContent: "Switch sensors off in the list: the forecasts are made again without them, and nothing is stored." }));
    return;
  }
  const names = [...state.off];
  const shown = names.length > 4 ? `${names.slice(0, 4).join(", ")} and ${names.length - 4} more` : names.join(", ");
  const parts = [make("p", { textContent: `Without ${shown}:` })];
  const answer = state.whatIf;
  if (answer) {
    parts.push(make("p", { className: "big", textContent: `${costText(answer.cost_now)} → ${costText(answer.cost_then)}` }));
    parts.push(make("p", { textContent: "expected error above that with all sensors, now and then." }));
    const unit = state.status.unit ? ` ${state.status.unit}` : "";
    const facts = [`The forecasts of the others move by ${number(answer.mean_change)}${unit} on average${answer.relative_change === null ? "" : `, ${percent(100 * answer.relative_change)} of half an interval`}.`];
    if (answer.width_change !== null) facts.push(`Their intervals become ${percent(100 * Math.abs(answer.width_change))} ${answer.width_change < 0 ? "narrower" : "wider"}.`);
    parts.push(make("ul", { className: "plain" }, ...facts.map((text) => make("li", { textContent: text }))));
  }
  box.replaceChildren(...parts);
}

function showTruth(truth, past) {
  const box = by("truth-words");
  if (!truth.steps) {
    box.replaceChildren(make("p", { textContent: "No forecast could be compared with readings yet." }));
    return;
  }
  const level = truth.level ?? 0.9;
  const parts = [];
  if (truth.coverage !== null) {
    parts.push(make("p", { className: "big", textContent: percent(100 * truth.coverage) }));
    parts.push(make("p", { textContent: `of ${truth.readings.toLocaleString("en")} readings lay inside their ${percent(100 * level)} interval${truth.coverage_unadapted === null ? "" : ` (${percent(100 * truth.coverage_unadapted)} without the adaptation)`}.` }));
  }
  const svg = shape("svg", { class: "coverage", role: "img", "aria-label": `Coverage of the last ${past.points.length} steps; the dotted line is the aim, ${percent(100 * level)}` });
  drawCoverage(svg, [...past.points].reverse(), level);
  parts.push(svg);
  const drift = truth.drift === null ? "" : ` That is ${percent(Math.abs(truth.drift))} ${truth.drift > 0 ? "more" : "less"} than validation led to expect.`;
  parts.push(make("p", { textContent: `Mean absolute error over ${plural(truth.steps, "step")}: ${number(truth.mae)}${state.status.unit ? ` ${state.status.unit}` : ""}.${drift}` }));
  if (truth.warning) parts.push(make("p", { className: "notice", textContent: truth.warning }));
  parts.push(shareTable(truth.by_share.filter((each) => each.readings)));
  box.replaceChildren(...parts);
}

function shareTable(shares) {
  if (!shares.length) return "";
  const head = make("tr", {}, ...["sensors present", "readings", "inside", "error"].map((text) => Object.assign(make("th", { textContent: text }), { scope: "col" })));
  const body = shares.map((each) => make("tr", {}, ...[each.share, each.readings.toLocaleString("en"), each.coverage === null ? "–" : percent(100 * each.coverage), number(each.mae)].map((text) => make("td", { textContent: text }))));
  return make("div", { className: "scroll" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

function showEvents(page) {
  by("nothing-happened").hidden = page.events.length > 0;
  by("happened").replaceChildren(...page.events.map((event) => {
    const text = event.step || event.at;
    return make("li", {}, make("time", { dateTime: text, textContent: clock(text, state.step || "") }), make("span", { textContent: event.text }));
  }));
}

// Headline and loop

function showHeadline(cost) {
  const { status, forecast } = state;
  setText(by("wrapper"), status.wrapper);
  document.title = `${status.wrapper}: ${plural(state.sensors.filter((each) => OUT.includes(each.health)).length, "sensor")} out`;
  setText(by("facts"), `subcast ${status.version}, ${plural(status.sensors, "sensor")}, a step every ${status.freq || "?"}, ${status.horizon} steps ahead, ${status.readings.toLocaleString("en")} readings and ${plural(status.forecasts, "forecast")} stored. ${status.screening}`);
  if (!forecast || !status.last_step) {
    setText(by("headline"), "No reading yet: the forecasts are what is usual at this time.");
    notice("");
    return;
  }
  const waiting = status.waiting_for.length ? ` Waiting for ${plural(status.waiting_for.length, "sensor")}.` : "";
  setText(by("headline"), `Forecast from ${longClock(forecast.step)}, quality ${forecast.quality}: ${gapWords(cost ? cost.cost : null)}.${waiting}`);
  notice(forecast.stale ? `The newest forecast is ${duration(forecast.age_seconds)} old: readings stopped coming, or the service is behind.`
    : forecast.reason === "nothing arrived" ? "Nothing arrived for the last step: the forecast is the usual one." : "");
}

async function refresh(status) {
  const list = await service.sensors();
  state.status = status;
  state.step = list.step;
  state.sensors = list.sensors.map((sensor, place) => ({ ...sensor, health: sensor.state, place }));
  by("main").hidden = false;
  by("sign-in").hidden = true;
  const events = await service.events();
  follow(events);
  showCounts();
  showSensors();
  const [, cost, truth, past] = await Promise.all([
    askAboutChosen(), status.forecasts ? service.cost() : null, service.truth(), service.history(),
  ]);
  showHeadline(cost);
  showCost(cost);
  showTruth(truth, past);
  showEvents(events);
  await askWhatIf();
  state.shown = Date.now();
}

/** Show the sensor that fell ill last, until somebody chooses one. */
function follow(events) {
  const named = linked();
  if (named && !state.byHand) state.byHand = true;
  const exists = (name) => state.sensors.some((each) => each.sensor === name);
  if (state.byHand && exists(named || state.chosen)) {
    state.chosen = named || state.chosen;
    return;
  }
  const ill = new Set(state.sensors.filter((each) => OUT.includes(each.health)).map((each) => each.sensor));
  const newest = events.events.find((event) => ill.has(event.sensor) && event.kind !== "recovered");
  const name = newest ? newest.sensor : exists(state.chosen) ? state.chosen : state.sensors[0]?.sensor ?? null;
  if (name !== state.chosen) state.day = null;
  state.chosen = name;
}

/** The sensor that the address names, if there is one of that name. */
function linked() {
  const named = new URLSearchParams(location.hash.slice(1)).get("sensor");
  return state.sensors.some((each) => each.sensor === named) ? named : null;
}

/** Run a question and show what went wrong with it. */
async function guarded(question) {
  try {
    await question();
    if (state.failures) {
      state.failures = 0;
      state.awaySince = null;
      notice("");
    }
  } catch (error) {
    fail(error);
  }
}

function fail(error) {
  if (error.status === 401 || error.status === 403) {
    by("sign-in").hidden = false;
    by("main").hidden = true;
    setText(by("headline"), error.message);
    return;
  }
  if (error.status === undefined) throw error; // a mistake in this page
  state.failures += 1;
  state.awaySince = state.awaySince || new Date();
  const since = state.awaySince.toTimeString().slice(0, 8);
  const known = state.step ? ` What you see is from ${longClock(state.step)}.` : "";
  notice(error.status === 0 ? `The service does not answer since ${since} (clock of this browser); it is asked again.${known}`
    : `The service has a problem since ${since}: ${error.message}.${known}`);
}

async function turn() {
  if (!document.hidden) {
    await guarded(async () => {
      const status = await service.status();
      const old = state.status;
      if (!old || old.last_step !== status.last_step || old.forecasts !== status.forecasts || state.failures
        || Date.now() - state.shown > REFRESH) await refresh(status);
    });
  }
  setTimeout(turn, Math.min(LONGEST_PAUSE, EVERY * 2 ** Math.min(state.failures, 4)));
}

by("list").addEventListener("keydown", onListKey);
by("list").addEventListener("focusin", (event) => {
  const item = event.target.closest("li");
  if (item) state.focus = item.querySelector("strong").textContent;
});
by("find").addEventListener("input", showSensors);
by("all-on").addEventListener("click", () => {
  state.off.clear();
  showSensors();
  guarded(askWhatIf);
  by("what-if-title").scrollIntoView({ block: "nearest" });
});
by("sign-in").addEventListener("submit", (event) => {
  event.preventDefault();
  keep(by("key").value.trim());
  by("key").value = "";
  state.status = null;
  guarded(async () => refresh(await service.status()));
});
window.addEventListener("hashchange", () => {
  const name = linked();
  if (name && name !== state.chosen) choose(name);
});
turn();
