// The network: nodes, links that are down and tunnels by Cytoscape.js, which also finds what is pointed at, and below
// them for each direction of each link a gauge, filled from its source by the queues it sends.

import cytoscape from "./vendor/cytoscape/cytoscape.esm.min.mjs";
import { queueColour } from "./colours.js";
import { element } from "./dom.js";
import { draw } from "./frames.js";
import { Gauges } from "./gauges.js";
import { beside, places, sizes } from "./geometry.js";
import { labelSides, measurer } from "./labels.js";
import { unitFor } from "./quantities.js";
import { styleSheet } from "./drawing_style.js";
import { Zoom } from "./zoom.js";

const TUNNEL_GAP = 4;

export class Drawing {
  #cy;
  #drawn = new Map();
  #tunnels = [];
  #view = null;
  #gauges;
  #hasChanged = false;
  #watch;

  /** `on` has `link(id)` and `node(name)` for clicks, and `over({link} or {node} or null)`. */
  constructor(box, lab, palette, on) {
    this.box = box;
    this.lab = lab;
    this.palette = palette;
    this.unit = unitFor(Math.max(0, ...lab.links.map((each) => each.capacity)));
    this.#gauges = new Gauges(box);
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
    this.zoom = new Zoom(box, () => this.layOut());
    this.#watch = new ResizeObserver(() => this.layOut());
    this.#watch.observe(box);
  }

  #elements() {
    const nodes = this.lab.nodes.map((node) => ({
      data: { id: `node ${node.name}`, name: node.name, label: "" },
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
    const { scale } = this.zoom; // as much room as a box of that size has
    this.sizes = sizes(this.lab.nodes.length, this.lab.links.length, scale * width, scale * height);
    this.#gauges.resize(width, height);
    const at = places(this.lab.nodes, width, height).map((point) => this.zoom.place(point));
    cy.batch(() => {
      cy.style(styleSheet(this.palette, this.sizes));
      this.lab.nodes.forEach((node, number) => this.#node(node.name).position(at[number]));
      this.#placeNames(at, { width, height });
      cy.edges(".direction").forEach((edge) => this.#placeGauge(edge));
    });
    cy.zoom(1);
    cy.pan({ x: 0, y: 0 });
    this.#placeTunnels();
    this.#drawn.clear();
    draw();
    if (this.#view) this.update(this.#view);
  }

  /** Write the names of nodes where they cover nothing: first those of sites, then of nodes with many links. */
  #placeNames(at, box) {
    const { nodes } = this.lab;
    const links = (number) => this.#node(nodes[number].name).degree(false);
    const order = [...nodes.keys()].sort((a, b) => nodes[b].site - nodes[a].site || links(b) - links(a));
    const widths = nodes.map(({ name }) => name).map(measurer(this.sizes.font));
    labelSides(order, at, widths, this.sizes, box).forEach((side, number) => {
      const { name } = nodes[number];
      this.#node(name).data("label", side ? name : "").removeClass("center top bottom left right").addClass(side);
    });
  }

  /** Return a colour for each queue, and one for free capacity. */
  #gaugeColours() {
    return [...this.lab.queues.map((queue) => queueColour(queue, this.palette)), this.palette.free];
  }

  #placeGauge(edge) {
    const ends = this.#place(edge, this.sizes.line / 2 + this.sizes.gap);
    const [from, to] = [edge.source().position(), edge.target().position()];
    const moved = (point, by) => ({ x: point.x + by.x, y: point.y + by.y });
    this.#gauges.place(edge.id(), moved(from, ends.source), moved(to, ends.target));
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
    edge.style({ "source-endpoint": point(ends.source), "target-endpoint": point(ends.target) });
    return ends;
  }

  /** Put the load of a direction beside its line, and the cross of a link that is down between both of its lines. */
  #placeLabel(edge, up) {
    const { font, line, gap } = this.sizes;
    const { right } = beside(edge.source().position(), edge.target().position(), 0, 0);
    const [x, y] = up ? [font * 1.1 + line, font * 0.8 + line] : [-line / 2 - gap, -line / 2 - gap];
    edge.style({ "text-margin-x": right.x * x, "text-margin-y": right.y * y });
  }

  /** Show a view of the state; only what looks different from before is touched. */
  update(view) {
    this.#view = view;
    if (!this.sizes) return; // laying out updates
    const down = new Set(view.nodes_down);
    this.#hasChanged = false;
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
    this.#gauges.draw(this.#gaugeColours(), this.sizes.line);
    if (this.#hasChanged) draw();
  }

  #gauge(link, direction) {
    const id = `${link.id} from ${direction.from}`;
    const capacity = this.#capacity(link.id);
    const rates = new Map(direction.queues.map((load) => [load.queue, load.rate]));
    let total = 0;
    const shares = this.lab.queues.map(({ queue }) => {
      total += rates.get(queue) ?? 0;
      return total / capacity;
    });
    this.#gauges.show(id, link.up ? shares : null);
    this.#once(`up ${id}`, link.up, (up) => this.#placeLabel(this.#cy.getElementById(id).toggleClass("down", !up), up));
    const cutLabel = direction.from === this.#ends(link.id).a ? "✕" : "";
    const loadLabel = total > 0 && this.sizes.rates ? this.unit.show(total) : "";
    const label = link.up ? loadLabel : cutLabel;
    this.#once(`label ${id}`, label, (text) => this.#cy.getElementById(id).style("label", text));
  }

  /** Call `change` if the value with this key is another one than the last time. */
  #once(key, value, change) {
    if (this.#drawn.get(key) === value) return;
    this.#drawn.set(key, value);
    this.#hasChanged = true;
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
    draw();
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

  /** Return a promise of the drawing as a PNG, with a background. */
  async picture(background) {
    const scale = window.devicePixelRatio || 1;
    const above = await createImageBitmap(this.#cy.png({ output: "blob", scale }));
    const canvas = element("canvas", { width: above.width, height: above.height });
    const context = canvas.getContext("2d");
    context.fillStyle = background;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(this.#gauges.canvas, 0, 0);
    context.drawImage(above, 0, 0);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  }

  close() {
    this.#watch.disconnect();
    this.#cy.destroy();
  }
}
