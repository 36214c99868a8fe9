// The network on a canvas: each direction of each link is a gauge, filled from its source by the queues it sends.

import cytoscape from "./vendor/cytoscape/cytoscape.esm.min.mjs";
import { queueColour } from "./colours.js";
import { draw } from "./frames.js";
import { beside, places, sizes } from "./geometry.js";
import { unitFor } from "./quantities.js";
import { styleSheet } from "./drawing_style.js";

const TUNNEL_GAP = 4;
const SEEN_PIXELS = 2;

export class Drawing {
  #cy;
  #drawn = new Map();
  #tunnels = [];
  #view = null;
  #steps = new Map();
  #watch;

  /** `on` has `link(id)` and `node(name)` for clicks, and `over({link} or {node} or null)`. */
  constructor(box, lab, palette, on) {
    this.box = box;
    this.lab = lab;
    this.palette = palette;
    this.unit = unitFor(Math.max(0, ...lab.links.map((each) => each.capacity)));
    this.#cy = cytoscape({
      container: box,
      elements: this.#elements(),
      layout: { name: "preset" },
      style: [],
      autoungrabify: true,
      autounselectify: true,
      boxSelectionEnabled: false,
      userZoomingEnabled: false,
      userPanningEnabled: false,
    });
    this.#cy.on("tap", "edge[link]", (event) => on.link(event.target.data("link")));
    this.#cy.on("tap", "node", (event) => on.node(event.target.data("name")));
    this.#cy.on("mouseover", "edge[link]", (event) => on.over({ link: event.target.data("link") }));
    this.#cy.on("mouseover", "node", (event) => on.over({ node: event.target.data("name") }));
    this.#cy.on("mouseout", "edge[link], node", () => on.over(null));
    this.#cy.on("mouseover", "edge[link], node", () => box.classList.add("pointed"));
    this.#cy.on("mouseout", "edge[link], node", () => box.classList.remove("pointed"));
    this.#watch = new ResizeObserver(() => this.layOut());
    this.#watch.observe(box);
  }

  #elements() {
    const nodes = this.lab.nodes.map((node) => ({
      data: { id: `node ${node.name}`, name: node.name },
      classes: node.site ? "site" : "",
    }));
    const edges = this.lab.links.flatMap((link) =>
      [[link.a, link.b], [link.b, link.a]].map(([from, to]) => ({
        data: { id: `${link.id} from ${from}`, link: link.id, source: `node ${from}`, target: `node ${to}` },
        classes: "direction",
      })),
    );
    return [...nodes, ...edges];
  }

  /** Put everything in its place for the present size of the box. */
  layOut() {
    const [width, height] = [this.box.clientWidth, this.box.clientHeight];
    if (!width || !height) return;
    const cy = this.#cy;
    cy.resize();
    this.sizes = sizes(this.lab.nodes.length, this.lab.links.length, width, height);
    const at = places(this.lab.nodes, width, height);
    cy.batch(() => {
      cy.style(styleSheet(this.palette, this.sizes, this.#gaugeColours()));
      this.lab.nodes.forEach((node, number) => this.#node(node.name).position(at[number]));
      cy.edges(".direction").forEach((edge) => this.#place(edge, this.sizes.line / 2 + this.sizes.gap));
    });
    cy.zoom(1);
    cy.pan({ x: 0, y: 0 });
    this.#placeTunnels();
    this.#drawn.clear();
    if (this.#view) this.update(this.#view);
  }

  /** Return two colours for each queue, and two for free capacity: what changes are only the places between them. */
  #gaugeColours() {
    const queues = this.lab.queues.map((queue) => queueColour(queue, this.palette));
    return [...queues, this.palette.free].flatMap((colour) => [colour, colour]);
  }

  recolour(palette) {
    this.palette = palette;
    this.layOut();
  }

  #node(name) {
    return this.#cy.getElementById(`node ${name}`);
  }

  #place(edge, offset) {
    const ends = beside(edge.source().position(), edge.target().position(), this.sizes.radius + 2, offset);
    const point = ({ x, y }) => `${x.toFixed(1)}px ${y.toFixed(1)}px`;
    const length = Math.hypot(
      edge.target().position("x") - edge.source().position("x"),
      edge.target().position("y") - edge.source().position("y"),
    );
    // Smaller changes of a load than this share of the capacity cannot be seen: they are not worth drawing.
    this.#steps.set(edge.id(), Math.max(1, Math.min(10, Math.round((100 * SEEN_PIXELS) / (length || 1)))));
    edge.style({
      "source-endpoint": point(ends.source),
      "target-endpoint": point(ends.target),
      "text-margin-x": ends.right.x * (this.sizes.font * 1.1 + this.sizes.line),
      "text-margin-y": ends.right.y * (this.sizes.font * 0.8 + this.sizes.line),
    });
  }

  /** Show a view of the state; only what looks different from before is touched. */
  update(view) {
    this.#view = view;
    const down = new Set(view.nodes_down);
    this.#cy.batch(() => {
      for (const node of this.lab.nodes) {
        this.#once(`node ${node.name}`, down.has(node.name), (is, each) => each.toggleClass("down", is));
      }
      for (const link of view.links) {
        for (const direction of link.directions) this.#gauge(link, direction);
      }
      const dead = new Set(view.tunnels_dead);
      for (const { id, path } of this.#tunnels) {
        this.#once(id, dead.has(path), (is, each) => each.toggleClass("dead", is));
      }
    });
    draw();
  }

  #gauge(link, direction) {
    const id = `${link.id} from ${direction.from}`;
    const capacity = this.#capacity(link.id);
    const step = this.#steps.get(id) ?? 1;
    const rates = new Map(direction.queues.map((load) => [load.queue, load.rate]));
    const stops = [];
    let filled = 0;
    let total = 0;
    for (const queue of this.lab.queues) {
      const load = rates.get(queue.queue) ?? 0;
      const until = Math.min(100, filled + step * Math.round((100 * load) / capacity / step));
      stops.push(`${filled}%`, `${until}%`);
      filled = until;
      total += load;
    }
    stops.push(`${filled}%`, "100%");
    const gauge = stops.join(" ");
    this.#once(`up ${id}`, link.up, (up) => this.#cy.getElementById(id).toggleClass("down", !up));
    this.#once(id, gauge, (_, edge) => edge.style("line-gradient-stop-positions", gauge));
    if (!this.sizes?.rates) return;
    const cutLabel = direction.from === this.#ends(link.id).a ? "✕" : "";
    const loadLabel = total > 0 ? this.unit.show(total) : "";
    const label = link.up ? loadLabel : cutLabel;
    this.#once(`label ${id}`, label, (text) => this.#cy.getElementById(id).style("label", text));
  }

  /** Call `change` if the value with this key is another one than the last time. */
  #once(key, value, change) {
    if (this.#drawn.get(key) === value) return;
    this.#drawn.set(key, value);
    change(value, this.#cy.getElementById(key));
  }

  #links = null;

  #ends(id) {
    this.#links ??= new Map(this.lab.links.map((link) => [link.id, link]));
    return this.#links.get(id);
  }

  #capacity(id) {
    return this.#ends(id)?.capacity ?? 1;
  }

  /** Draw these tunnels, of one pair, as lines beside the links; none takes them away. */
  showTunnels(tunnels) {
    this.#cy.remove(".tunnel");
    this.#tunnels = [];
    const added = tunnels.flatMap((tunnel, number) =>
      tunnel.nodes.slice(1).map((to, hop) => {
        const id = `tunnel ${tunnel.path_id} hop ${hop}`;
        this.#tunnels.push({ id, path: tunnel.path_id, number });
        return {
          data: {
            id,
            number,
            source: `node ${tunnel.nodes[hop]}`,
            target: `node ${to}`,
            colour: this.palette.tunnels[number % this.palette.tunnels.length],
          },
          classes: "tunnel",
        };
      }),
    );
    this.#cy.add(added.filter((each) => this.#known(each.data)));
    this.#placeTunnels();
    for (const { id } of this.#tunnels) this.#drawn.delete(id);
    if (this.#view) this.update(this.#view);
  }

  #known({ source, target }) {
    return this.#cy.getElementById(source).nonempty() && this.#cy.getElementById(target).nonempty();
  }

  #placeTunnels() {
    if (!this.sizes) return;
    const first = this.sizes.line + 2 * this.sizes.gap + TUNNEL_GAP / 2;
    this.#cy.batch(() =>
      this.#cy.edges(".tunnel").forEach((edge) => this.#place(edge, first + TUNNEL_GAP * edge.data("number"))),
    );
  }

  close() {
    this.#watch.disconnect();
    this.#cy.destroy();
  }
}
