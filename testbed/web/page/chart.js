// Goodput of flows, or shares of roles, over the last minute, with the moments of cuts and heals.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { ROLES } from "./colours.js";
import { MARKING } from "./model.js";
import { linkWords, moment, percent, rate } from "./quantities.js";

const SECONDS = 60;
const LEAST_SECONDS = 10;
const LEAST_HEIGHT = 190;
const DASHES = [[], [6, 3], [2, 3]];
/** Roles often fare alike: what lies on another curve has gaps through which that is seen. */
const ROLE_DASHES = [[], [14, 7], [3, 5], [7, 7]];
const HEALING = new Set(["heal", "node-up"]);

export class Chart {
  #plot = null;
  #marks = [];
  #key = "";
  #watch;

  constructor(box, lab, palette) {
    this.box = box;
    this.clock = lab.clock;
    // Rates of the flow model stay until something happens: a slope would be of no flow.
    this.paths = lab.backend === "flow" ? uPlot.paths.stepped({ align: 1 }) : undefined;
    this.palette = palette;
    this.#watch = new ResizeObserver(() => this.#plot?.setSize(this.#size()));
    this.#watch.observe(box);
  }

  #size() {
    return { width: Math.max(240, this.box.clientWidth), height: Math.max(LEAST_HEIGHT, this.box.clientHeight) };
  }

  recolour(palette) {
    this.palette = palette;
    this.#key = "";
  }

  /**
   * Draw the `curves` "flow" or "role" up to the moment `now`.
   *
   * `shown` are the ids of flows in the order of their colours, or roles; `top` is the highest value.
   */
  update(history, curves, shown, marks, now, top) {
    const key = JSON.stringify([curves, shown]);
    if (key !== this.#key) this.#build(curves, shown);
    this.#key = key;
    const start = Math.max(now - SECONDS, Math.min(history.times[0] ?? now, now - LEAST_SECONDS));
    const from = history.times.findIndex((time) => time >= start);
    const begin = Math.max(0, from - 1);
    this.#marks = marks.filter((each) => MARKING.has(each.kind) && each.time >= start && each.time <= now);
    const data = [history.times.slice(begin), ...shown.map((id) => (history.series.get(id) ?? []).slice(begin))];
    this.#plot.batch(() => {
      this.#plot.setData(data, false);
      this.#plot.setScale("x", { min: start, max: now });
      this.#plot.setScale("y", { min: 0, max: top * 1.08 || 1 });
    });
    const cuts = this.#marks.map((each) => `${each.text} at ${moment(each.time, this.clock)}`);
    const what = curves === "role" ? `Share of the wanted rate by role, now ${lastShares(history)},` : `Goodput of ${shown.length} flows`;
    const label = `${what} since ${moment(start, this.clock)}. ${cuts.join("; ")}`;
    if (this.box.getAttribute("aria-label") !== label) this.box.setAttribute("aria-label", label);
  }

  #build(curves, shown) {
    this.#plot?.destroy();
    const axis = { stroke: this.palette.muted, grid: { stroke: this.palette.line, width: 1 }, ticks: { show: false } };
    const font = "11px system-ui, sans-serif";
    const series = shown.map((id, number) => ({
      label: id,
      stroke: curves === "role" ? this.palette.roles[id] : flowColour(number, this.palette),
      dash: curves === "role" ? ROLE_DASHES[number] : dashOf(number, this.palette),
      width: curves === "role" ? 2.5 : 1.75,
      points: { show: false },
      paths: this.paths,
    }));
    const options = {
      ...this.#size(),
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { time: false, auto: false }, y: { auto: false } },
      axes: [
        { ...axis, font, size: 28, space: 70, values: (_, times) => times.map((time) => this.#hour(time)) },
        { ...axis, font, size: 72, space: 34, values: (_, values) => values.map(curves === "role" ? percent : rate) },
      ],
      series: [{}, ...series],
      hooks: { draw: [(plot) => this.#drawMarks(plot)] },
    };
    this.#plot = new uPlot(options, [[], ...shown.map(() => [])], this.box);
  }

  #hour(time) {
    if (this.clock === "simulated") return `${Math.round(time)} s`;
    return moment(time, this.clock).slice(0, 8);
  }

  #drawMarks(plot) {
    const context = plot.ctx;
    const ratio = devicePixelRatio;
    context.save();
    context.font = `${11 * ratio}px system-ui, sans-serif`;
    context.textBaseline = "top";
    context.lineWidth = ratio;
    this.#marks.forEach((mark, number) => {
      const x = plot.valToPos(mark.time, "x", true);
      const { top, height, left, width } = plot.bbox;
      context.strokeStyle = context.fillStyle = HEALING.has(mark.kind) ? this.palette.muted : this.palette.down;
      context.setLineDash([4 * ratio, 3 * ratio]);
      context.beginPath();
      context.moveTo(x, top);
      context.lineTo(x, top + height);
      context.stroke();
      const text = markText(mark);
      const onLeft = x + context.measureText(text).width + 6 * ratio > left + width;
      context.textAlign = onLeft ? "right" : "left";
      context.fillText(text, x + (onLeft ? -4 : 4) * ratio, top + (number % 2) * 13 * ratio);
    });
    context.restore();
  }

  close() {
    this.#watch.disconnect();
    this.#plot?.destroy();
  }
}

function lastShares(history) {
  const last = ROLES.map((role) => [role, history.series.get(role)?.at(-1) ?? null]).filter(([, share]) => share !== null);
  return last.map(([role, share]) => `${role} ${percent(share)}`).join(", ");
}

function markText(mark) {
  const what = (mark.subject?.link ? linkWords(mark.subject.link) : mark.subject?.node) ?? "";
  return `${{ cut: "cut", heal: "heal", "node-down": "down", "node-up": "up" }[mark.kind]} ${what}`.slice(0, 40);
}

export const flowColour = (number, palette) => palette.series[number % palette.series.length];

const dashOf = (number, palette) => DASHES[Math.floor(number / palette.series.length) % DASHES.length];
