// The table of flows: who gets how much under each scheme, in which role, and which flows the charts show.

import { actionButton, element, scrollingTable, setText } from "./dom.js";
import { flowColour } from "./chart.js";
import { ROLES } from "./colours.js";
import { pairOf, rate } from "./quantities.js";
import { schemeTitle } from "./view_panel.js";
import { VisibleRows } from "./visible_rows.js";

const SHOWN_ROWS = 60;
const DRAWN_FLOWS = 12;

export class FlowsTable {
  #rows = new Map();
  #chosen = null;
  #drawn = [];
  #order = "";
  #palette;
  #visible = new VisibleRows();

  /**
   * `on` has `pair(source, target)`, `stop(flow)`, `drawn()` for when the user has chosen what is drawn, and
   * `startedFlows()`, the ids of flows that users have started.
   */
  constructor(box, lab, palette, on) {
    this.lab = lab;
    this.on = on;
    this.#palette = palette;
    this.canStop = lab.actions.includes("flows") && !lab.view_only;
    const views = lab.schemes.map((scheme) => (lab.schemes.length > 1 ? schemeTitle(scheme) : "Goodput"));
    const headings = ["Drawn", "Flow", "Pair", "Wanted", ...views, "Tunnels"];
    if (this.canStop) headings.push("Action");
    const { box: scroll, body } = scrollingTable("Flows", headings);
    this.body = body;
    this.filter = element("input", { type: "search", placeholder: "name of a node", oninput: () => this.update(this.views) });
    this.count = element("p", { className: "note" });
    const search = element("label", { className: "filter" }, "Filter ", this.filter);
    box.replaceChildren(element("div", { className: "card-head" }, box.querySelector("h2"), search), scroll, this.count);
  }

  get drawn() {
    return this.#drawn;
  }

  recolour(palette) {
    this.#palette = palette;
    this.#recolourRows();
  }

  update(views) {
    this.views = views;
    if (!views) return;
    const flows = this.#listed(views);
    this.#choose(views);
    const order = flows.map((flow) => flow.id).join("\n");
    if (order !== this.#order) {
      this.#order = order;
      const kept = new Map(flows.map((flow) => [flow.id, this.#rows.get(flow.id) ?? this.#row(flow)]));
      this.#rows = kept;
      this.body.replaceChildren(...[...kept.values()].map((row) => row.root));
      this.#recolourRows();
    }
    const started = this.on.startedFlows();
    for (const [id, row] of this.#rows) row.stop.hidden = !started.has(id);
    const byView = views.map((view) => new Map(view.flows.map((flow) => [flow.id, flow])));
    this.#visible.advance();
    for (const [id, row] of this.#rows) {
      const flows = byView.map((each) => each.get(id));
      // A flow's new role is never late.
      const isNews = flows.some((flow, number) => flow && flow.role !== row.views[number].role.dataset.role);
      if (isNews || this.#visible.wants(row.root)) this.#refresh(row, flows);
    }
    const all = views[0]?.flows.length ?? 0;
    const more = this.lab.flows_left_out ? `; the ${this.lab.flows_left_out} smallest are left out` : "";
    setText(this.count, flows.length < all || more ? `${flows.length} of ${all} flows${more}.` : "");
  }

  /** Return the flows to list: all if they are few, else victims first. */
  #listed(views) {
    const flows = views[0]?.flows ?? [];
    const words = this.filter.value.trim().toLowerCase();
    const found = words ? flows.filter((each) => `${each.id} ${each.source} ${each.target}`.toLowerCase().includes(words)) : flows;
    return found.length <= SHOWN_ROWS ? found : victimsFirst(found).slice(0, SHOWN_ROWS);
  }

  /** Choose the flows that charts show, unless the user has: all of few, else some of each role. */
  #choose(views) {
    const flows = views[0]?.flows ?? [];
    const known = new Set(flows.map((flow) => flow.id));
    if (this.#chosen) {
      this.#setDrawn([...this.#chosen].filter((id) => known.has(id)));
    } else if (flows.length <= DRAWN_FLOWS) {
      this.#setDrawn([...known]);
    } else {
      const each = Math.floor(DRAWN_FLOWS / 3);
      const some = ROLES.flatMap((role) => flows.filter((flow) => flow.role === role).slice(0, each));
      this.#setDrawn(some.slice(0, DRAWN_FLOWS).map((flow) => flow.id));
    }
  }

  #setDrawn(ids) {
    if (ids.join("\n") === this.#drawn.join("\n")) return;
    this.#drawn = ids;
    this.#recolourRows();
  }

  #recolourRows() {
    for (const [id, row] of this.#rows) {
      const number = this.#drawn.indexOf(id);
      row.box.checked = number >= 0;
      row.swatch.style.backgroundColor = number >= 0 ? flowColour(number, this.#palette) : "transparent";
    }
  }

  #row(flow) {
    const swatch = element("span", { className: "swatch" });
    const box = element("input", { type: "checkbox", "aria-label": `Draw flow ${flow.id}` });
    box.addEventListener("change", () => {
      const chosen = new Set(this.#drawn);
      if (box.checked) chosen.add(flow.id);
      else chosen.delete(flow.id);
      this.#chosen = new Set([...chosen].slice(-DRAWN_FLOWS));
      this.on.drawn();
      this.update(this.views);
      this.#recolourRows();
    });
    const pair = element(
      "button",
      { type: "button", className: "plain", onclick: () => this.on.pair(flow.source, flow.target), title: "Show tunnels" },
      `${flow.source} → ${flow.target}`,
    );
    const name = flow.priority ? `${flow.id} (class ${flow.priority})` : flow.id;
    const wanted = element("td", { className: "number" });
    const views = this.lab.schemes.map((scheme) => {
      const goodput = element("span", { className: "goodput" });
      const role = element("span", { className: "role" });
      return { goodput, role, cell: element("td", { className: "number", dataset: { view: scheme } }, goodput, " ", role) };
    });
    const tunnels = element("td", { className: "paths" });
    const label = `Stop flow ${flow.id}`;
    const stop = actionButton("Stop", () => this.on.stop(flow), { "aria-label": label, hidden: true });
    const root = element(
      "tr",
      { dataset: { flow: flow.id, pair: pairOf(flow) } },
      element("td", {}, element("span", { className: "draw" }, box, swatch)),
      element("th", { scope: "row" }, name),
      element("td", {}, pair),
      wanted,
      ...views.map((each) => each.cell),
      tunnels,
      this.canStop ? element("td", {}, stop) : null,
    );
    this.#visible.add(root);
    return { root, box, stop, swatch, wanted, views, tunnels };
  }

  #refresh(row, flows) {
    const first = flows.find(Boolean);
    if (!first) return;
    setText(row.wanted, rate(first.wanted));
    row.views.forEach(({ goodput, role }, number) => {
      const flow = flows[number];
      setText(goodput, flow ? rate(flow.goodput) : "–");
      setText(role, flow?.role ?? "");
      if (flow && role.dataset.role !== flow.role) role.dataset.role = flow.role;
    });
    setText(row.tunnels, pathsText(flows));
  }
}

/** Return the numbers of the tunnels that carry a flow, under each scheme if they differ. */
function pathsText(flows) {
  const texts = flows.filter(Boolean).map((flow) => flow.path_ids.join(", ") || "none");
  return new Set(texts).size === 1 ? texts[0] : texts.join(" | ");
}

/** Return flows with the victims first; otherwise the order stays, so that rows do not jump. */
function victimsFirst(flows) {
  return [...flows].sort((a, b) => ROLES.indexOf(b.role) - ROLES.indexOf(a.role));
}
