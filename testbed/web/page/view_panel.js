// One view: the network under one scheme, the flows summed by role, and how they fare over time.

import { Chart } from "./chart.js";
import { ROLES } from "./colours.js";
import { Drawing } from "./drawing.js";
import { actionButton, download, element, setText } from "./dom.js";
import { linkWords, percent, rate, rateOf } from "./quantities.js";

const HINT = "Point at a link to read the load of its queues.";

export const schemeTitle = (scheme) => scheme.charAt(0).toUpperCase() + scheme.slice(1);

export class ViewPanel {
  constructor(scheme, lab, palette, on) {
    this.scheme = scheme;
    this.lab = lab;
    this.tiles = new Map(ROLES.map((role) => [role, element("dd")]));
    this.heading = element("h2", {}, schemeTitle(scheme));
    const groups = ROLES.map((role) =>
      element("div", { className: "tile", dataset: { role } }, element("dt", {}, role), this.tiles.get(role)),
    );
    this.verdict = element("p", { className: "verdict" });
    this.canvas = element("div", { className: "drawing", role: "img" });
    this.tip = element("p", { className: "tip" }, HINT);
    this.measure = element("h3");
    this.plot = element("div", { className: "chart", role: "img" });
    this.root = element(
      "section",
      { className: "card view", dataset: { view: scheme }, "aria-label": schemeTitle(scheme) },
      element(
        "div",
        { className: "view-head" },
        element("div", { className: "card-head" }, this.heading, this.#tools()),
        this.verdict,
        element("dl", { className: "tiles" }, ...groups),
      ),
      this.canvas,
      this.tip,
      this.measure,
      this.plot,
    );
    this.on = on;
    this.palette = palette;
  }

  #tools() {
    const tool = (text, label, act) => actionButton(text, act, { "aria-label": label, title: label });
    return element(
      "span",
      { className: "tools" },
      tool("+", "Zoom in", () => this.drawing.zoom.closer()),
      tool("−", "Zoom out", () => this.drawing.zoom.farther()),
      tool("Fit", "Fit the whole network", () => this.drawing.zoom.reset()),
      tool("Full", "Full screen", () => (document.fullscreenElement ? document.exitFullscreen() : this.root.requestFullscreen())),
      tool("PNG", "PNG of the drawing", () => this.#save()),
    );
  }

  async #save() {
    const picture = await this.drawing.picture(getComputedStyle(this.root).backgroundColor);
    download(`${this.lab.name}-${this.scheme}.png`, picture);
  }

  /** Draw; to be called when the panel is part of the page, as drawings need their size. */
  open() {
    const over = (what) => {
      this.pointed = what;
      this.#tell();
    };
    // A finger does not point before it taps.
    const link = (id) => {
      over({ link: id });
      this.on.link(id);
    };
    const node = (name) => {
      over({ node: name });
      this.on.node(name);
    };
    this.drawing = new Drawing(this.canvas, this.lab, this.palette, { link, node, over });
    this.chart = new Chart(this.plot, this.lab, this.palette);
    this.drawing.layOut();
  }

  recolour(palette) {
    this.drawing.recolour(palette);
    this.chart.recolour(palette);
  }

  update(view) {
    this.view = view;
    this.drawing.update(view);
    for (const [role, cell] of this.tiles) {
      const flows = [...view.flows, ...view.unshown].filter((flow) => flow.role === role);
      const sum = (value) => flows.reduce((total, flow) => total + value(flow), 0);
      const count = sum((flow) => flow.flows ?? 1); // of flows that are summed up
      const rates = rateOf(sum((flow) => flow.goodput), sum((flow) => flow.wanted));
      setText(cell, count ? `${count} ${count === 1 ? "flow" : "flows"}, ${rates}` : "none");
      // The tile stays: what lies below would move under a pointer that is about to click.
      cell.parentElement.classList.toggle("none", !count);
      cell.title = cell.textContent;
    }
    setText(this.verdict, lossesIn(view));
    this.#describe();
    this.#tell();
  }

  /** Draw curves as `Chart.update` does. */
  draw(history, curves, ...how) {
    setText(this.measure, curves === "role" ? "Share of the wanted rate, by role" : "Goodput");
    this.chart.update(history, curves, ...how);
  }

  #describe() {
    const down = this.view.links.filter((link) => !link.up).map((link) => linkWords(link.id));
    const nodes = this.view.nodes_down;
    const label =
      `Network under ${this.scheme}: ${this.lab.nodes.length} nodes, ${this.lab.links.length} links. ` +
      `Links down: ${down.join(", ") || "none"}. Nodes down: ${nodes.join(", ") || "none"}. ` +
      "The tables of links and nodes show the same.";
    if (this.canvas.getAttribute("aria-label") !== label) this.canvas.setAttribute("aria-label", label);
  }

  #tell() {
    setText(this.tip, (this.pointed && this.view && this.#about(this.pointed)) || HINT);
  }

  #about({ link, node }) {
    if (node !== undefined) return `${node} is ${this.view.nodes_down.includes(node) ? "down" : "up"}.`;
    const found = this.view.links.find((each) => each.id === link);
    if (!found) return null;
    const of = this.lab.links.find((each) => each.id === link);
    if (!found.up) return `${of.a}-${of.b} is down.`;
    const loads = found.directions.map((each) => `${each.from} → ${each.to}: ${queueTexts(each, this.lab)}`);
    return `${loads.join("  ·  ")}  (capacity ${rate(of.capacity)})`;
  }

  close() {
    this.drawing.close();
    this.chart.close();
  }
}

/** Return in a sentence who loses how much of what they want. */
function lossesIn(view) {
  const lost = (isAmong) => {
    const flows = [...view.flows, ...view.unshown].filter((flow) => isAmong(flow.role));
    const [goodput, wanted] = ["goodput", "wanted"].map((key) => flows.reduce((sum, flow) => sum + flow[key], 0));
    return { some: wanted > 0, share: wanted > 0 ? Math.max(0, 1 - goodput / wanted) : 0 };
  };
  const words = ({ share }) => ({ "0%": "nothing", "100.00%": "all" })[percent(share)] ?? percent(share);
  const [victims, others] = [lost((role) => role === "victim"), lost((role) => role !== "victim")];
  if (!victims.some) return `No flow is a victim; flows lose ${words(others)} of their rate.`;
  if (!others.some) return `All flows are victims, and lose ${words(victims)} of their rate.`;
  return `Victims lose ${words(victims)} of their rate, everybody else ${words(others)}.`;
}

/** Return the loads of a direction's queues in words. */
export function queueTexts(direction, lab) {
  const several = new Set(lab.queues.map((each) => each.priority)).size > 2;
  const texts = direction.queues
    .filter((load) => load.rate > 1e-9 || load.dropped > 1e-9)
    .map((load) => {
      const queue = lab.queues.find((each) => each.queue === load.queue);
      const name = queue?.role ?? `queue ${load.queue}`;
      const level = several && queue && queue.priority !== null ? ` of class ${queue.priority}` : "";
      const lost = lab.dropped_unit === "packets/s" ? `${Math.round(load.dropped)} packets/s` : rate(load.dropped);
      return `${name}${level} ${rate(load.rate)}${load.dropped > 1e-9 ? `, ${lost} dropped` : ""}`;
    });
  return texts.join(", ") || "idle";
}
