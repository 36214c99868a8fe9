// A network drawn by hand: nodes with places, links with capacities and demands, as files and as the server takes it.

/** Height of the board as a share of its width; places are shares of the width. */
export const HEIGHT = 0.625;

const MARGIN = 0.06;

export class Draft {
  name = "drawn";
  /** Each with a name and a place. */
  nodes = [];
  /** Each with its two nodes, `a` and `b`, and a capacity in Mbit/s. */
  links = [];
  capacity = 1000;
  /** Demand of every pair in Mbit/s, unless `pairs` has a line for each pair with a demand. */
  rate = 10;
  pairs = "";

  addNode(x, y) {
    let number = this.nodes.length + 1;
    while (this.#named(`n${number}`)) number++;
    const node = { name: `n${number}`, x, y };
    this.nodes.push(node);
    return node;
  }

  /** Add a link of the usual capacity. Throws an Error if there is one. */
  addLink(a, b) {
    if (a === b) throw new Error("a link needs two different nodes");
    if (this.links.some((link) => [link.a, link.b].includes(a) && [link.a, link.b].includes(b))) {
      throw new Error(`there is a link ${a.name}-${b.name}`);
    }
    this.links.push({ a, b, capacity: this.capacity });
  }

  /** Give a node another name. Throws an Error if it is empty or taken. */
  rename(node, text) {
    const name = text.trim();
    if (!name) throw new Error("a node needs a name");
    if (![undefined, node].includes(this.#named(name))) throw new Error(`there is a node ${name}`);
    node.name = name;
  }

  removeNode(node) {
    this.nodes = this.nodes.filter((each) => each !== node);
    this.links = this.links.filter(({ a, b }) => a !== node && b !== node);
  }

  removeLink(link) {
    this.links = this.links.filter((each) => each !== link);
  }

  clear() {
    [this.nodes, this.links] = [[], []];
  }

  /** Draw the network that a description has. */
  take(lab) {
    this.name = lab.name;
    const largest = (key) => Math.max(1e-9, ...lab.nodes.map((each) => each[key]));
    const scale = Math.min((1 - 2 * MARGIN) / largest("x"), (HEIGHT - 2 * MARGIN) / largest("y"));
    this.nodes = lab.nodes.map(({ name, x, y }) => ({ name, x: MARGIN + scale * x, y: MARGIN + scale * y }));
    this.links = lab.links.map(({ a, b, capacity }) => ({ a: this.#named(a), b: this.#named(b), capacity }));
  }

  /** Return the demands as rows of source, target, rate and priority. Throws an Error that names a wrong line. */
  demands() {
    if (this.pairs.trim()) return demandRows(this.pairs);
    return this.nodes.flatMap((a) => this.nodes.filter((b) => b !== a).map((b) => [a.name, b.name, this.rate, 0]));
  }

  /** Turn the demand of every pair into a line for each. */
  listPairs() {
    this.pairs = "";
    this.pairs = this.demands().map((row) => row.join(",")).join("\n");
  }

  /** Return the body of the request that shows this network. */
  message() {
    const links = this.links.map(({ a, b, capacity }) => ({ a: a.name, b: b.name, capacity }));
    return { name: this.name, nodes: this.nodes, links, demands: this.demands() };
  }

  /** Return our YAML; JSON's quoted texts are YAML's. */
  yaml() {
    const text = JSON.stringify;
    const links = this.links.map(({ a, b, capacity }) => `  - {a: ${text(a.name)}, b: ${text(b.name)}, capacity: ${capacity}}`);
    const nodes = this.nodes.map(({ name }) => text(name)).join(", ");
    return [`name: ${text(this.name)}`, `nodes: [${nodes}]`, "links:", ...links, ""].join("\n");
  }

  csv() {
    const quoted = (name) => `"${name.replaceAll('"', '""')}"`;
    const rows = this.demands().map(([source, target, ...numbers]) => [quoted(source), quoted(target), ...numbers].join(","));
    return ["source,target,rate,priority", ...rows, ""].join("\n");
  }

  #named(name) {
    return this.nodes.find((each) => each.name === name);
  }
}

/** Return the rows of lines `source,target,Mbit/s,priority`, with rates times a factor. Throws an Error for a wrong line. */
export function demandRows(text, factor = 1) {
  const rows = [];
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const [source, target, rate, priority = "0"] = line.split(",").map((each) => each.trim());
    const row = [source, target, Number(rate) * factor, Number(priority)];
    if (!target || !rate || row.slice(2).some((each) => !Number.isFinite(each))) {
      throw new Error(`line ${number + 1}: expected source,target,rate,priority`);
    }
    rows.push(row);
  }
  return rows;
}
