// The choice of a pair, whose tunnels are drawn and listed, and the legend of the drawings.

import { element, setText } from "./dom.js";
import { percent, unitFor } from "./quantities.js";

const MEANINGS = {
  victim: "victim: its tunnel crosses a failed link or node",
  direct: "direct: shares a link with a victim's new tunnel",
  indirect: "indirect: shares a link with a direct one",
  untouched: "untouched: none of these",
};

export class Tunnels {
  #pair = null;
  #palette;

  /** `on.tunnels(list)` is called when another pair is chosen. */
  constructor(lab, palette, on) {
    this.lab = lab;
    this.on = on;
    this.#palette = palette;
    const sources = [...new Set(lab.tunnels.map((each) => each.source))];
    this.source = this.#select(["", ...sources], () => this.choose(this.source.value, ""));
    this.target = this.#select([""], () => this.choose(this.source.value, this.target.value));
    this.list = element("ul", { className: "tunnels" });
    const clear = element("button", { type: "button", onclick: () => this.choose("", "") }, "Show none");
    const fields = element(
      "p",
      { className: "fields" },
      element("label", {}, "Tunnels from ", this.source),
      element("label", {}, " to ", this.target),
      clear,
    );
    this.root = element("section", { className: "card pair", "aria-label": "Tunnels of a pair" }, fields, this.list, legend(lab));
  }

  #select(names, changed) {
    return element("select", { onchange: changed }, ...names.map((each) => element("option", { value: each }, each || "–")));
  }

  /** Show the tunnels of a pair, or of none. */
  choose(source, target) {
    const targets = [...new Set(this.lab.tunnels.filter((each) => each.source === source).map((each) => each.target))];
    this.#pair = target || targets.length === 1 ? [source, target || targets[0]] : null;
    this.source.value = source;
    this.target.replaceChildren(...["", ...targets].map((each) => element("option", { value: each }, each || "–")));
    this.target.value = this.#pair?.[1] ?? "";
    const tunnels = this.shown();
    this.list.replaceChildren(...tunnels.map((each, number) => this.#item(each, number)));
    this.on.tunnels(tunnels);
    if (this.views) this.update(this.views);
  }

  /** The pair whose tunnels are shown, or null. */
  get pair() {
    return this.#pair;
  }

  shown() {
    if (!this.#pair) return [];
    const [source, target] = this.#pair;
    return this.lab.tunnels.filter((each) => each.source === source && each.target === target);
  }

  #item(tunnel, number) {
    const swatch = element("span", { className: "swatch" });
    swatch.style.backgroundColor = this.#palette.tunnels[number % this.#palette.tunnels.length];
    const level = tunnel.priority ? ` (class ${tunnel.priority})` : "";
    const text = `tunnel ${tunnel.path_id}${level}: ${tunnel.nodes.join(" → ")}, ${percent(tunnel.weight)} `;
    return element("li", { dataset: { path: tunnel.path_id } }, swatch, text, element("span", { className: "state" }));
  }

  update(views) {
    this.views = views;
    const dead = new Set(views.flatMap((view) => view.tunnels_dead));
    for (const item of this.list.children) {
      const isDead = dead.has(Number(item.dataset.path));
      setText(item.lastChild, isDead ? "dead" : "alive");
      item.lastChild.classList.toggle("down", isDead);
    }
  }

  recolour(palette) {
    this.#palette = palette;
    const pair = this.#pair;
    if (pair) this.choose(...pair);
  }
}

function legend(lab) {
  const classes = new Set(lab.queues.map((each) => each.priority).filter((each) => each !== null));
  const shades = classes.size > 1 ? [...classes].sort() : [null];
  const item = (className, text) =>
    element("li", {}, element("span", { className: `swatch ${className}`, "aria-hidden": "true" }), text);
  const queues = ["normal", "victim"].flatMap((role) =>
    shades.map((level) => item(`${role}-${Math.min(level ?? 0, 2)}`, `${role}${level === null ? "" : `, class ${level}`}`)),
  );
  const unit = unitFor(Math.max(0, ...lab.links.map((each) => each.capacity))).name;
  return element(
    "div",
    { className: "legend" },
    element("ul", {}, ...queues, item("control", "control"), item("free", "free capacity"), item("down", "down")),
    element("p", {}, `Each direction of a link is a line on its right, filled from its source by what its queues send; numbers are ${unit}.`),
    element("p", {}, `Flows: ${Object.values(MEANINGS).join("; ")}.`),
  );
}
