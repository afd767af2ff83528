// A line chart in SVG: readings, a forecast with its interval, another forecast beside it, and past days behind it.
import { clock, number, stamp } from "./words.js";

const SPACE = "http://www.w3.org/2000/svg";
const MARGIN = { left: 54, right: 14, top: 16, bottom: 26 };
const MINUTE = 60000;
const TICKS = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 10080, 43200].map((minutes) => minutes * MINUTE);

/** An SVG element with attributes and a parent. */
export function shape(name, attributes, parent) {
  const element = document.createElementNS(SPACE, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (parent) parent.append(element);
  return element;
}

/** Steps of an axis: 1, 2 or 5 times a power of ten. */
export function niceTicks(low, high, count) {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((part) => part * power).find((size) => size >= rough) || 10 * power;
  const ticks = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step * 1e-9; value += step) ticks.push(value);
  return ticks;
}

/** A path through points [x, y], broken where y is null. */
function path(points) {
  let text = "";
  let pen = false;
  for (const [x, y] of points) {
    if (y === null) pen = false;
    else {
      text += `${pen ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
      pen = true;
    }
  }
  return text;
}

/** A single reading between two holes is a path without length: it gets a dot. */
function loneDots(points) {
  const lone = (index) => points[index] === undefined || points[index][1] === null;
  return points.filter((point, index) => point[1] !== null && lone(index - 1) && lone(index + 1));
}

function valueRange(data) {
  const values = [];
  for (const each of data.past) if (each.value !== null && each.flag !== 4) values.push(each.value);
  for (const each of [...data.ahead, ...data.other]) values.push(each.mean, each.lower, each.upper);
  for (const day of data.neighbors) for (const each of day.points) values.push(each.value);
  const known = values.filter((value) => value !== null && value !== undefined);
  if (!known.length) for (const each of data.past) if (each.value !== null) known.push(each.value);
  if (!known.length) return [0, 1];
  const low = Math.min(...known);
  const high = Math.max(...known);
  const room = (high - low) * 0.06 || Math.abs(high) * 0.1 || 1;
  return [low - room, high + room];
}

/** A chart in `box`; `draw(data)` fills it, and arrow keys or the pointer move a cursor that `say` describes. */
export class Chart {
  constructor(box, say) {
    this.box = box;
    this.say = say;
    this.data = null;
    this.at = null;
    new ResizeObserver(() => this.data && this.draw(this.data)).observe(box);
    box.addEventListener("keydown", (event) => this.onKey(event));
    box.addEventListener("pointermove", (event) => this.onPointer(event));
    box.addEventListener("pointerleave", () => this.moveTo(null));
    box.addEventListener("blur", () => this.moveTo(null));
  }

  draw(data) {
    this.data = data;
    const { clientWidth: width, clientHeight: height } = this.box;
    if (width < 40 || height < 40) return;
    this.points = [...data.past, ...data.ahead.map((each) => ({ ...each, ahead: true }))];
    const times = this.points.map((each) => stamp(each.time));
    const [low, high] = valueRange(data);
    const first = Math.min(...times);
    const span = Math.max(...times) - first || 1;
    this.x = (time) => MARGIN.left + ((stamp(time) - first) / span) * (width - MARGIN.left - MARGIN.right);
    this.y = (value) => height - MARGIN.bottom - ((value - low) / (high - low)) * (height - MARGIN.top - MARGIN.bottom);
    this.height = height;
    const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
    this.drawAxes(svg, width, height, low, high);
    this.drawNeighbors(svg);
    this.drawBand(svg, data.other, "other-band");
    this.drawBand(svg, data.ahead, "band");
    this.drawReadings(svg, low, high);
    for (const [points, name] of [[data.ahead, "forecast"], [data.other, "other"]]) {
      if (points.length) shape("path", { class: name, d: path(points.map((each) => [this.x(each.time), this.y(each.mean)])) }, svg);
    }
    this.cursor = shape("line", { class: "cursor", y1: MARGIN.top, y2: height - MARGIN.bottom, visibility: "hidden" }, svg);
    this.box.replaceChildren(svg);
    if (this.at !== null) this.moveTo(this.at, false);
  }

  drawAxes(svg, width, height, low, high) {
    for (const value of niceTicks(low, high, Math.max(2, Math.floor(height / 60)))) {
      const y = this.y(value);
      shape("line", { class: "grid", x1: MARGIN.left, x2: width - MARGIN.right, y1: y, y2: y }, svg);
      shape("text", { x: MARGIN.left - 6, y: y + 4, "text-anchor": "end" }, svg).textContent = number(value);
    }
    const last = this.points.length - 1;
    if (last < 1) return;
    const wall = (each) => Date.parse(each.time.slice(0, 19) + "Z");
    const wanted = (wall(this.points[last]) - wall(this.points[0])) / Math.max(2, Math.floor(width / 95));
    const step = TICKS.find((size) => size >= wanted) || TICKS[TICKS.length - 1];
    let before = "";
    for (const each of this.points) {
      if (wall(each) % step !== 0 || this.x(each.time) > width - 24) continue;
      shape("line", { class: "grid", x1: this.x(each.time), x2: this.x(each.time), y1: MARGIN.top, y2: height - MARGIN.bottom }, svg);
      const text = shape("text", { x: this.x(each.time), y: height - 8, "text-anchor": "middle" }, svg);
      text.textContent = step >= 1440 * MINUTE ? clock(each.time).slice(0, -6) : clock(each.time, before || each.time);
      before = each.time;
    }
    if (this.data.unit) shape("text", { x: MARGIN.left - 6, y: 11, "text-anchor": "end" }, svg).textContent = this.data.unit;
    const past = this.data.past[this.data.past.length - 1];
    if (past && this.data.ahead.length) {
      shape("line", { class: "axis", x1: this.x(past.time), x2: this.x(past.time), y1: MARGIN.top - 6, y2: height - MARGIN.bottom }, svg);
      shape("text", { class: "now", x: this.x(past.time) + 5, y: 12 }, svg).textContent = "forecast";
    }
  }

  drawNeighbors(svg) {
    for (const day of this.data.neighbors) {
      const points = day.points.map((each) => [this.x(each.time), each.value === null ? null : this.y(each.value)]);
      shape("path", { class: day.named ? "neighbor named" : "neighbor", d: path(points) }, svg);
    }
  }

  drawBand(svg, points, name) {
    if (!points.length || points[0].lower === null) return;
    const up = points.map((each) => [this.x(each.time), this.y(each.upper)]);
    const down = points.map((each) => [this.x(each.time), this.y(each.lower)]).reverse();
    shape("path", { class: name, d: `${path([...up, ...down])}Z` }, svg);
  }

  drawReadings(svg, low, high) {
    const used = this.data.past.map((each) => [this.x(each.time), each.value === null || each.flag === 4 ? null : this.y(each.value)]);
    shape("path", { class: "reading", d: path(used) }, svg);
    for (const [x, y] of loneDots(used)) shape("circle", { cx: x, cy: y, r: 2, class: "reading" }, svg);
    for (const each of this.data.past) {
      if (each.value === null || (each.flag !== 4 && each.flag !== 3)) continue;
      const x = this.x(each.time);
      const y = this.y(Math.min(high, Math.max(low, each.value)));
      if (each.flag === 4) shape("path", { class: "left-out", d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8` }, svg);
      else shape("path", { class: "dubious", d: `M${x} ${y - 5}l5 9h-10z` }, svg);
    }
  }

  onKey(event) {
    const last = this.points ? this.points.length - 1 : -1;
    const places = { ArrowLeft: (this.at ?? this.data?.past.length ?? 0) - 1, ArrowRight: (this.at ?? (this.data?.past.length ?? 0) - 1) + 1, Home: 0, End: last };
    if (last < 0 || !(event.key in places)) return;
    event.preventDefault();
    this.moveTo(Math.max(0, Math.min(last, places[event.key])));
  }

  onPointer(event) {
    if (!this.points || !this.points.length) return;
    const x = event.clientX - this.box.getBoundingClientRect().left;
    let best = 0;
    for (let index = 1; index < this.points.length; index += 1) {
      if (Math.abs(this.x(this.points[index].time) - x) < Math.abs(this.x(this.points[best].time) - x)) best = index;
    }
    this.moveTo(best);
  }

  moveTo(index, tell = true) {
    this.at = index !== null && this.points && index < this.points.length ? index : null;
    if (!this.cursor) return;
    this.cursor.setAttribute("visibility", this.at === null ? "hidden" : "visible");
    if (this.at !== null) {
      const x = this.x(this.points[this.at].time);
      this.cursor.setAttribute("x1", x);
      this.cursor.setAttribute("x2", x);
    }
    if (tell) this.say(this.at === null ? "" : this.words(this.points[this.at]));
  }

  words(point) {
    const unit = this.data.unit ? ` ${this.data.unit}` : "";
    const when = clock(point.time, this.data.past[0]?.time || "");
    if (!point.ahead) {
      const flags = { 3: ", suspect", 4: ", left out" };
      return point.value === null ? `${when}: no reading` : `${when}: ${number(point.value)}${unit}${flags[point.flag] || ""}`;
    }
    const bounds = point.lower === null ? "" : ` (${number(point.lower)} to ${number(point.upper)})`;
    const other = this.data.other.find((each) => each.time === point.time);
    const then = other ? `; with the switched-off sensors out ${number(other.mean)}` : "";
    return `${when}: forecast ${number(point.mean)}${unit}${bounds}${then}`;
  }
}

/** A small chart of the running coverage, with a line at the level that is aimed at. */
export function drawCoverage(svg, points, level) {
  const known = points.filter((each) => each.coverage !== null);
  svg.replaceChildren();
  const [width, height] = [300, 72];
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("preserveAspectRatio", "none");
  if (known.length < 2) return;
  const low = Math.min(level - 0.2, ...known.map((each) => each.coverage));
  const y = (value) => height - 4 - ((value - low) / (1 - low)) * (height - 8);
  const x = (index) => (index / (known.length - 1)) * width;
  shape("line", { class: "cursor", x1: 0, x2: width, y1: y(level), y2: y(level), "vector-effect": "non-scaling-stroke" }, svg);
  shape("path", { class: "forecast", d: path(known.map((each, index) => [x(index), y(each.coverage)])), "vector-effect": "non-scaling-stroke" }, svg);
}
