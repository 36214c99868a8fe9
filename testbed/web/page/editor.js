// The dialogue in which a network is drawn: nodes by clicks, links by dragging, and both by fields for keyboards.

import { dialogue, field } from "./dialogues.js";
import { download, element, setText } from "./dom.js";
import { HEIGHT } from "./draft.js";
import { linkName, rate } from "./quantities.js";

const WIDTH = 800;
const RADIUS = 14;
/** Pixels by which a pointer may move in a click. */
const STILL = 5;
const HINT = "Click to add a node. Drag from node to node to add a link, or to a free place to move a node.";

/** Return a button and the dialogue that edits `app.draft`; `app` has `lab` and `tryTo(method, path, body)`, too. */
export function drawDialogue(app) {
  const editor = new Editor(app.draft, app);
  const submit = async () => {
    try {
      return await app.tryTo("PUT", "api/network", app.draft.message());
    } catch (error) {
      return error.message;
    }
  };
  return dialogue("Draw", [editor.root], submit, { verb: "Show this network", opened: () => editor.show(), className: "wide" });
}

class Editor {
  #from = null;
  /** Functions that write the names of nodes into the lists. */
  #labels = [];

  constructor(draft, app) {
    this.draft = draft;
    this.board = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT * WIDTH}`, class: "board", "aria-hidden": "true" });
    this.board.addEventListener("pointerdown", (event) => this.#down(event));
    this.board.addEventListener("pointermove", (event) => this.#move(event));
    this.board.addEventListener("pointerup", (event) => this.#up(event));
    this.board.addEventListener("pointercancel", () => this.#sketch());
    this.said = element("p", { className: "note", role: "status" }, HINT);
    this.nodes = element("ul", { "aria-label": "Nodes" });
    this.links = element("ul", { "aria-label": "Links" });
    this.ends = [element("select", { "aria-label": "Link from" }), element("select", { "aria-label": "Link to" })];
    this.fields = element("div", { className: "fields" });
    const nodes = [element("h3", {}, "Nodes"), this.nodes, this.#nodeAdder()];
    const links = [element("h3", {}, "Links, Mbit/s"), this.links, this.#linkAdder()];
    const lists = element("div", { className: "lists" }, ...nodes, ...links);
    const tools = element(
      "p",
      { className: "fields" },
      button("Take the network shown", () => draft.take(app.lab), this),
      button("Clear", () => draft.clear(), this),
      button("List every pair", () => draft.listPairs(), this),
      button("Topology as YAML", () => download(`${draft.name}.yaml`, new Blob([draft.yaml()])), this),
      button("Demands as CSV", () => download(`${draft.name}.csv`, new Blob([draft.csv()])), this),
    );
    // Enter ends a field here, and does not show the network.
    const onkeydown = (event) => {
      if (event.key !== "Enter" || !event.target.matches("input")) return;
      event.preventDefault();
      event.target.blur();
    };
    this.root = element("div", { className: "editor", onkeydown }, this.board, lists, this.said, this.fields, tools);
  }

  /** Show the draft as it is now. */
  show() {
    const { draft } = this;
    const options = () => draft.nodes.map((node, number) => element("option", { value: String(number) }, node.name));
    this.#labels = [];
    this.nodes.replaceChildren(...draft.nodes.map((node) => this.#nodeRow(node)));
    this.links.replaceChildren(...draft.links.map((link) => this.#linkRow(link)));
    for (const select of this.ends) select.replaceChildren(...options());
    if (draft.nodes.length > 1) this.ends[1].value = "1";
    this.#showFields();
    this.#sketch();
  }

  /** Do an edit, and say why if it cannot be done; `whole` is false if the lists keep their rows. */
  edit(change, whole = true) {
    let problem = "";
    try {
      change();
    } catch (error) {
      problem = error.message;
    }
    if (whole) this.show();
    else this.#sketch();
    setText(this.said, problem || HINT);
  }

  #nodeAdder() {
    const add = () => {
      const angle = 2.4 * this.draft.nodes.length; // turns by the golden angle, so that places stay apart
      const far = 0.04 * Math.sqrt(this.draft.nodes.length);
      this.draft.addNode(0.5 + far * Math.cos(angle), HEIGHT / 2 + (far / 2) * Math.sin(angle));
    };
    return element("p", {}, button("Add a node", add, this));
  }

  #linkAdder() {
    const add = () => {
      const [a, b] = this.ends.map((select) => this.draft.nodes[Number(select.value)]);
      if (a && b) this.draft.addLink(a, b);
    };
    return element("p", { className: "fields" }, ...this.ends, button("Add a link", add, this));
  }

  #nodeRow(node) {
    const name = element("input", { value: node.name, maxLength: 256 });
    this.#labels.push(() => name.setAttribute("aria-label", `Name of node ${node.name}`));
    name.addEventListener("change", () => {
      this.edit(() => this.draft.rename(node, name.value), false);
      name.value = node.name;
    });
    return element("li", {}, name, this.#remover(() => node.name, () => this.draft.removeNode(node)));
  }

  #linkRow(link) {
    const name = () => linkName({ a: link.a.name, b: link.b.name });
    const title = element("span");
    this.#labels.push(() => setText(title, name()));
    const capacity = number(link.capacity, (value) => this.edit(() => (link.capacity = value), false));
    return element("li", {}, element("label", {}, title, " ", capacity), this.#remover(name, () => this.draft.removeLink(link)));
  }

  #remover(name, remove) {
    const made = button("Delete", remove, this);
    this.#labels.push(() => made.setAttribute("aria-label", `Delete ${name()}`));
    return made;
  }

  #showFields() {
    const { draft } = this;
    const name = element("input", { value: draft.name, maxLength: 200, required: true });
    name.addEventListener("change", () => (draft.name = name.value.trim()));
    const every = number(draft.rate, (value) => (draft.rate = value), "0");
    const pairs = element("textarea", { rows: 4, cols: 40, spellcheck: false, value: draft.pairs });
    pairs.addEventListener("change", () => (draft.pairs = pairs.value));
    this.fields.replaceChildren(
      field("Name of the network", name),
      field("Capacity of new links, Mbit/s", number(draft.capacity, (value) => (draft.capacity = value))),
      field("Demand of every pair, Mbit/s", every),
      field("or by pair, each line: source,target,Mbit/s,priority", pairs),
    );
  }

  #sketch() {
    this.#from = null;
    const { draft } = this;
    const at = ({ x, y }) => [WIDTH * x, WIDTH * y];
    const links = draft.links.map(({ a, b, capacity }) => {
      const [[x1, y1], [x2, y2]] = [at(a), at(b)];
      const line = drawn("line", { x1, y1, x2, y2 });
      return drawn("g", {}, line, drawn("text", { x: (x1 + x2) / 2, y: (y1 + y2) / 2 - 5 }, rate(capacity)));
    });
    const nodes = draft.nodes.map((node, number) => {
      const [cx, cy] = at(node);
      const circle = drawn("circle", { cx, cy, r: RADIUS, "data-node": number });
      return drawn("g", {}, circle, drawn("text", { x: cx, y: cy - RADIUS - 4 }, node.name));
    });
    this.rubber = drawn("line", { class: "rubber", visibility: "hidden" });
    this.board.replaceChildren(...links, this.rubber, ...nodes);
    for (const write of this.#labels) write();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.board.setPointerCapture(event.pointerId);
    this.#from = { node: this.#nodeAt(event), x: event.clientX, y: event.clientY, moved: false };
  }

  #move(event) {
    if (!this.#from) return;
    this.#from.moved ||= Math.hypot(event.clientX - this.#from.x, event.clientY - this.#from.y) > STILL;
    const { node, moved } = this.#from;
    if (!node || !moved) return;
    const { x, y } = this.#place(event);
    const ends = { x1: WIDTH * node.x, y1: WIDTH * node.y, x2: WIDTH * x, y2: WIDTH * y, visibility: "visible" };
    for (const [key, value] of Object.entries(ends)) this.rubber.setAttribute(key, value);
  }

  #up(event) {
    if (!this.#from) return;
    const { node, moved } = this.#from;
    const to = this.#nodeAt(event);
    const place = this.#place(event);
    this.#from = null;
    if (!node && !to && !moved) this.edit(() => this.draft.addNode(place.x, place.y));
    else if (node && to && node !== to) this.edit(() => this.draft.addLink(node, to));
    else if (node && moved) this.edit(() => Object.assign(node, place), false);
    else if (node) this.nodes.children[this.draft.nodes.indexOf(node)].querySelector("input").select();
  }

  #nodeAt({ clientX, clientY }) {
    return this.draft.nodes[document.elementFromPoint(clientX, clientY)?.dataset.node];
  }

  /** Return where an event is on the board, inside its edges. */
  #place({ clientX, clientY }) {
    const box = this.board.getBoundingClientRect();
    const within = (value, most) => Math.min(Math.max(value, 0), most);
    return { x: within((clientX - box.x) / box.width, 1), y: within((clientY - box.y) / box.width, HEIGHT) };
  }
}

function button(label, act, editor) {
  return element("button", { type: "button", onclick: () => editor.edit(act) }, label);
}

/** Return a field for a positive number, or one from `min` on; `changed` gets each number that it takes. */
function number(value, changed, min = "0.001") {
  const input = element("input", { type: "number", min, step: "any", required: true, value: String(value) });
  input.addEventListener("change", () => {
    if (input.reportValidity()) changed(Number(input.value));
  });
  return input;
}

function drawn(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}
