// Scenarios: cuts and heals at given seconds, which run by the clock of the lab and can be shared as an address.

import { dialogue, field } from "./dialogues.js";
import { element, setText } from "./dom.js";
import { linkName } from "./quantities.js";

const IN_ADDRESS = "scenario";
const EXAMPLE = "5 cut A-B\n15 heal A-B\n20 down C\n30 up C";

/** Return the steps of a scenario in the order of their seconds. Throws an Error that names the line that is wrong. */
export function stepsOf(text, lab) {
  const links = new Map(lab.links.flatMap((link) => [[linkName(link), link], [`${link.b}-${link.a}`, link]]));
  const nodes = new Set(lab.nodes.map((node) => node.name));
  const steps = [];
  for (const [number, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const [, seconds, verb, name] = line.trim().match(/^(\d+(?:\.\d+)?)\s+(cut|heal|down|up)\s+(.+)$/) ?? [];
    const wrong = (what) => new Error(`line ${number + 1}: ${what}`);
    if (!verb) throw wrong("expected seconds, cut, heal, down or up, and a link or a node, such as 5 cut A-B");
    const up = verb === "heal" || verb === "up";
    if (verb === "cut" || verb === "heal") {
      if (!links.has(name)) throw wrong(`there is no link ${name}`);
      steps.push({ at: Number(seconds), link: links.get(name), up });
    } else {
      if (!nodes.has(name)) throw wrong(`there is no node ${name}`);
      steps.push({ at: Number(seconds), node: name, up });
    }
  }
  if (!steps.length) throw new Error("expected a line at least");
  return steps.sort((a, b) => a.at - b.at);
}

export class Scenario {
  #left = [];
  #begun = null;

  /** `app` has `lab`, `setLink(link, up)` and `setNode(name, up)`. */
  constructor(app) {
    this.app = app;
    this.text = element("textarea", { rows: 8, cols: 40, spellcheck: false, placeholder: EXAMPLE, required: true });
    this.text.value = new URLSearchParams(location.search).get(IN_ADDRESS) ?? "";
    this.address = element("input", { type: "text", readOnly: true });
    this.text.addEventListener("input", () => this.#share());
    this.stop = element("button", { type: "button", hidden: true, onclick: () => this.#end() }, "Stop the scenario");
    const fields = [
      field("Each line: a time in seconds, then cut or heal and a link, or down or up and a node", this.text),
      field("Address to share; opening it takes a token, too", this.address),
    ];
    const opened = () => this.#share();
    this.root = element("span", {}, dialogue("Scenario", fields, () => this.#start(), { verb: "Run", opened }), this.stop);
  }

  #share() {
    const query = new URLSearchParams({ [IN_ADDRESS]: this.text.value });
    this.address.value = `${location.origin}${location.pathname}?${query}`;
  }

  #start() {
    try {
      this.#left = stepsOf(this.text.value, this.app.lab);
    } catch (error) {
      return error.message;
    }
    this.#begun = null;
    this.stop.hidden = false;
    return "";
  }

  #end() {
    this.#left = [];
    this.stop.hidden = true;
  }

  /** Do what is due at a time of the lab's clock; a clock that went back ends the scenario. */
  passed(time) {
    if (!this.#left.length) return;
    this.#begun ??= time;
    if (time < this.#begun) {
      this.#end();
      return;
    }
    while (this.#left.length && this.#left[0].at <= time - this.#begun) {
      const { link, node, up } = this.#left.shift();
      if (link) this.app.setLink(link, up);
      else this.app.setNode(node, up);
    }
    if (!this.#left.length) this.#end();
    else setText(this.stop, `Stop the scenario (${this.#left.length} left)`);
  }
}
