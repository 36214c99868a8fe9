// The tables of links and of nodes: all that the drawing shows, for keyboards and screen readers, with their actions.

import { actionButton, element, scrollingTable, setText } from "./dom.js";
import { linkName, rate } from "./quantities.js";
import { queueTexts, schemeTitle } from "./view_panel.js";
import { VisibleRows } from "./visible_rows.js";

export class LinksTable {
  #rows = new Map();
  #visible = new VisibleRows();

  /** `act(link, up)` cuts or heals. */
  constructor(box, lab, act) {
    this.lab = lab;
    this.can = lab.actions.includes("links") && !lab.view_only;
    this.roles = new Map(lab.queues.map((each) => [each.queue, each]));
    const titles = lab.schemes.length > 1 ? lab.schemes.map((each) => `${schemeTitle(each)} `) : [""];
    const loads = titles.flatMap((title) => (title ? [`${title}there`, `${title}back`] : ["There", "Back"]));
    const headings = ["Link", "Capacity", "State", ...loads, ...(this.can ? ["Action"] : [])];
    const { box: scroll, body } = scrollingTable("Links", headings);
    for (const link of lab.links) body.append(this.#row(link, act));
    const filter = filterOf(body);
    box.replaceChildren(element("div", { className: "card-head" }, box.querySelector("h2"), filter), scroll);
  }

  #row(link, act) {
    const state = element("td", { className: "state" });
    const cells = this.lab.schemes.map(() => [0, 1].map(() => new Gauge()));
    const row = { state, cells, up: true, shown: [] };
    row.button = this.can ? actionButton("Cut", () => act(link, !row.up)) : null;
    this.#rows.set(link.id, row);
    row.name = linkName(link);
    row.capacity = link.capacity;
    row.root = element(
      "tr",
      { dataset: { link: link.id } },
      element("th", { scope: "row" }, row.name),
      element("td", { className: "number" }, rate(link.capacity)),
      state,
      ...cells.flat().map((each) => each.cell),
      row.button ? element("td", {}, row.button) : null,
    );
    this.#visible.add(row.root);
    return row.root;
  }

  update(views) {
    this.#visible.advance();
    views.forEach((view, number) => {
      for (const link of view.links) {
        const row = this.#rows.get(link.id);
        if (!row?.cells[number] || !this.#visible.wants(row.root)) continue;
        link.directions.forEach((direction, way) => row.cells[number][way].show(direction, row.capacity, this));
      }
    });
    for (const link of views[0]?.links ?? []) {
      const row = this.#rows.get(link.id);
      if (!row || row.shown[0] === link.up) continue;
      row.shown = [link.up];
      row.up = link.up;
      setText(row.state, link.up ? "up" : "down");
      row.state.classList.toggle("down", !link.up);
      if (!row.button) continue;
      setText(row.button, link.up ? "Cut" : "Heal");
      row.button.setAttribute("aria-label", `${link.up ? "Cut" : "Heal"} link ${row.name}`);
    }
  }
}

/** The load of one direction: a bar by queue, the rate, and the rates of queues for screen readers. */
class Gauge {
  #bar = "";

  constructor() {
    this.number = element("span", { className: "load" });
    this.detail = element("span", { className: "unseen" });
    this.cell = element("td", { className: "number gauge" }, this.number, this.detail);
  }

  show(direction, capacity, { roles, lab }) {
    const total = direction.queues.reduce((sum, load) => sum + load.rate, 0);
    const text = rate(total);
    if (this.number.textContent === text && this.#bar) return;
    setText(this.number, text);
    setText(this.detail, ` (${queueTexts(direction, lab)})`);
    const parts = [];
    let filled = 0;
    for (const load of direction.queues) {
      const share = Math.round((100 * load.rate) / capacity);
      if (share) parts.push(`${variableOf(roles.get(load.queue))} ${filled}% ${filled + share}%`);
      filled += share;
    }
    const bar = `linear-gradient(90deg, ${[...parts, `var(--free) ${filled}%`, "var(--free) 100%"].join(", ")})`;
    if (bar === this.#bar) return;
    this.#bar = bar;
    this.cell.style.backgroundImage = bar;
  }
}

function variableOf(queue) {
  if (!queue || queue.role === "normal") return `var(--normal-${Math.min(queue?.priority ?? 0, 2)})`;
  return queue.role === "control" ? "var(--control)" : `var(--victim-${Math.min(queue.priority ?? 0, 2)})`;
}

export class NodesTable {
  #rows = new Map();

  /** `act(name, up)` takes a node down or restores it. */
  constructor(box, lab, act) {
    const can = lab.actions.includes("nodes") && !lab.view_only;
    const { box: scroll, body } = scrollingTable("Nodes", ["Node", "State", ...(can ? ["Action"] : [])]);
    for (const { name } of lab.nodes) {
      const row = { state: element("td", { className: "state" }), up: null };
      row.button = can ? actionButton("Take down", () => act(name, !row.up)) : null;
      this.#rows.set(name, row);
      body.append(
        element(
          "tr",
          { dataset: { node: name } },
          element("th", { scope: "row" }, name),
          row.state,
          row.button ? element("td", {}, row.button) : null,
        ),
      );
    }
    box.replaceChildren(element("div", { className: "card-head" }, box.querySelector("h2"), filterOf(body)), scroll);
  }

  update(views) {
    const down = new Set(views.flatMap((view) => view.nodes_down));
    for (const [name, row] of this.#rows) {
      const up = !down.has(name);
      if (row.up === up) continue;
      row.up = up;
      setText(row.state, up ? "up" : "down");
      row.state.classList.toggle("down", !up);
      if (!row.button) continue;
      setText(row.button, up ? "Take down" : "Restore");
      row.button.setAttribute("aria-label", `${up ? "Take down" : "Restore"} node ${name}`);
    }
  }
}

/** Return a field that hides the rows of a table whose first cell lacks what is typed. */
function filterOf(body) {
  const field = element("input", {
    type: "search",
    placeholder: "name",
    oninput: () => {
      const words = field.value.trim().toLowerCase();
      for (const row of body.rows) row.hidden = !row.cells[0].textContent.toLowerCase().includes(words);
    },
  });
  return element("label", { className: "filter" }, "Filter ", field);
}
