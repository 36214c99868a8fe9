// The log of failures, groups, the controller and users, newest first, and what screen readers are told of it.

import { element } from "./dom.js";
import { moment } from "./quantities.js";
import { schemeTitle } from "./view_panel.js";

const SHOWN = 200;
const TOLD = new Set(["cut", "heal", "node-down", "node-up", "plan", "flow", "scheme", "fault"]);
const TELL_MILLISECONDS = 1000;

export class LogList {
  #untold = [];

  constructor(box, announcer, model) {
    this.announcer = announcer;
    this.model = model;
    this.list = element("ol", { className: "log", reversed: true });
    const scroll = element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Log, scrollable" }, this.list);
    box.replaceChildren(box.querySelector("h2"), scroll);
    this.list.append(...model.log.slice(-SHOWN).reverse().map((each) => this.#item(each)));
    this.#mark();
  }

  /** Add entries; with `tell` screen readers are told of them. */
  add(entries, { tell }) {
    this.list.prepend(...entries.slice(-SHOWN).reverse().map((each) => this.#item(each)));
    while (this.list.children.length > SHOWN) this.list.lastChild.remove();
    this.#mark();
    if (!tell) return;
    if (!this.#untold.length) setTimeout(() => this.#tell(), TELL_MILLISECONDS);
    this.#untold.push(...entries.filter((each) => TOLD.has(each.kind)).map((each) => each.text));
  }

  #mark() {
    this.list.classList.toggle("empty", !this.list.children.length);
  }

  #tell() {
    // A failure can come with hundreds of entries: nobody listens to all of them.
    this.announcer.textContent = this.#untold.slice(0, 3).join(". ");
    this.#untold = [];
  }

  #item(entry) {
    const several = this.model.lab.schemes.length > 1 && entry.view;
    return element(
      "li",
      { dataset: { kind: entry.kind } },
      element("time", {}, moment(entry.time, this.model.lab.clock)),
      element("span", { className: "kind" }, entry.kind),
      element("span", { className: "text" }, (several ? `${schemeTitle(entry.view)}: ` : "") + entry.text),
    );
  }
}
