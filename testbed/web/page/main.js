// Puts the page together: events of the server go to the model, and from there, once a frame at most, to the parts.

import { colours, ROLES, themeSwitch } from "./colours.js";
import { Connection, keepToken, takeToken } from "./connection.js";
import { Controls } from "./controls.js";
import { confirmed } from "./dialogues.js";
import { element, setText } from "./dom.js";
import { Draft } from "./draft.js";
import { FlowsTable } from "./flows_table.js";
import { drawingTime, nextFrame } from "./frames.js";
import { LinksTable, NodesTable } from "./links_table.js";
import { LogList } from "./log_list.js";
import { MARKING, Model, networkOf } from "./model.js";
import { linkName, nameInAddress } from "./quantities.js";
import { Tunnels } from "./tunnels.js";
import { ViewPanel } from "./view_panel.js";

const BACKENDS = { lab: "real switches", boxes: "physical boxes", flow: "flow model", packet: "packet model", replay: "recording" };
const REFUSAL_SECONDS = 12;
/** How many times as long as it draws the page rests: with networks too large for five states a second it shows fewer. */
const REST = 3;

const byId = (id) => document.getElementById(id);
const pathTo = (...parts) => `api/${parts.map(encodeURIComponent).join("/")}`;

class App {
  draft = new Draft();
  #model = new Model();
  #panels = [];
  #waiting = false;
  #isOld = true;
  #troubled = false;
  #controlsKey = "";
  #shown = { ended: 0, took: 0 };
  #done = [];
  #curves = "role";
  #theme = themeSwitch(() => this.#recolour());

  constructor(token) {
    this.connection = new Connection(token, {
      event: (kind, data) => this.#event(kind, data),
      open: () => this.#opened(),
      broken: (seconds, reason) => this.#broken(seconds, reason),
      unauthorised: () => this.#askForToken(),
    });
  }

  get lab() {
    return this.#model.lab;
  }

  run() {
    byId("controls").replaceChildren(this.#theme);
    document.addEventListener("visibilitychange", () => this.#soon());
    addEventListener("pagehide", () => this.#model.save());
    return this.connection.run();
  }

  get(path) {
    return this.connection.get(path);
  }

  /** Do an action; return the reason if it was refused, else an empty text. */
  async tryTo(method, path, body) {
    try {
      const { log = [] } = (await this.connection.act(method, path, body)) ?? {};
      this.#enter(log);
      return "";
    } catch (error) {
      return error.message;
    }
  }

  /** Do an action and show the reason if it was refused; return true if it was done. */
  async act(what, method, path, body) {
    const reason = await this.tryTo(method, path, body);
    if (reason) this.#refused(`${what}: ${reason}`);
    return !reason;
  }

  #refused(text) {
    const close = element("button", { type: "button", "aria-label": "Dismiss", onclick: () => note.remove() }, "✕");
    const note = element("p", { className: "refusal" }, element("span", {}, `Refused: ${text}`), close);
    byId("refusals").append(note);
    setTimeout(() => note.remove(), 1000 * REFUSAL_SECONDS);
  }

  #event(kind, data) {
    if (kind === "lab") {
      if (this.lab && networkOf(this.lab) !== networkOf(data)) this.#done = [];
      if (this.#model.describe(data)) this.#build();
    } else if (kind === "log") {
      this.#enter([data]);
    } else if (kind === "state") {
      this.#model.take(data);
      this.#trouble("");
      this.#live();
      this.#soon();
    } else if (kind === "trouble") {
      this.#trouble(data.error);
    }
  }

  #enter(entries) {
    const fresh = this.#model.enter(entries);
    if (!fresh.length || !this.log) return;
    this.log.add(fresh, { tell: !this.#isOld });
    if (fresh.some((each) => MARKING.has(each.kind))) this.#soon();
  }

  #opened() {
    byId("ask-token").hidden = true;
    this.#model.miss();
    // The server may be another one: it sends its log anew, and the first state after it.
    this.#model.forgetLog();
    this.#isOld = true;
    if (this.lab) this.log = new LogList(byId("log"), byId("announcer"), this.#model);
  }

  #live() {
    this.#isOld = false;
    if (!this.#troubled) this.#stream("live", "good");
  }

  /** Show why the server has no state to send; an empty text if it has. */
  #trouble(reason) {
    this.#troubled = Boolean(reason);
    if (reason) this.#stream(`no answer: ${reason}`, "bad");
  }

  #broken(seconds, reason) {
    this.#stream(`connection lost (${reason}); trying again in ${seconds} s`, "bad");
  }

  #askForToken() {
    this.#stream("no access", "bad");
    byId("ask-token").hidden = false;
    byId("ask-token").onsubmit = (event) => {
      event.preventDefault();
      keepToken(byId("token").value.trim());
      location.reload();
    };
    byId("token").focus();
  }

  #stream(text, kind) {
    setText(byId("stream"), text);
    byId("stream").dataset.kind = kind;
  }

  #build() {
    const { lab } = this;
    const { pair } = this.tunnels ?? {};
    const focused = nameOf(document.activeElement);
    for (const panel of this.#panels) panel.close();
    const palette = colours();
    setText(byId("name"), lab.name);
    document.title = `${lab.name}: Kuijia live lab`;
    setText(byId("source"), (BACKENDS[lab.backend] ?? lab.backend) + (lab.view_only ? ", view only" : ""));
    byId("source").hidden = false;
    const on = { link: (id) => this.#clicked(id, null), node: (name) => this.#clicked(null, name) };
    this.#panels = lab.schemes.map((scheme) => new ViewPanel(scheme, lab, palette, on));
    this.tunnels = new Tunnels(lab, palette, { tunnels: (list) => this.#panels.forEach((panel) => panel.drawing.showTunnels(list)) });
    const panels = element("div", { className: "panels" }, ...this.#panels.map((panel) => panel.root));
    panels.classList.toggle("several", lab.schemes.length > 1);
    byId("views").replaceChildren(panels, this.tunnels.root);
    for (const panel of this.#panels) panel.open();
    this.#buildControls();
    this.links = new LinksTable(byId("links"), lab, (link, up) => this.setLink(link, up));
    this.nodes = new NodesTable(byId("nodes"), lab, (name, up) => this.setNode(name, up));
    this.flows = new FlowsTable(byId("flows"), lab, palette, {
      pair: (source, target) => this.tunnels.choose(source, target),
      startedFlows: () => this.#model.startedFlows,
      drawn: () => this.chooseCurves("flow"),
      stop: (flow) => this.act(`stop ${flow.id}`, "DELETE", pathTo("flows", flow.id)),
    });
    this.log = new LogList(byId("log"), byId("announcer"), this.#model);
    if (pair) this.tunnels.choose(...pair);
    if (focused) [...document.querySelectorAll("button, select, input")].find((each) => nameOf(each) === focused)?.focus();
    this.#soon();
  }

  /** Make the controls anew if they would be others, but not while somebody fills in a dialogue. */
  #buildControls() {
    const { backend, clock, actions, schemes, schemes_available: available, view_only: only, nodes } = this.lab;
    const key = JSON.stringify([backend, clock, actions, schemes, available, only, nodes]);
    if (key === this.#controlsKey) return;
    const box = byId("controls");
    const dialogue = box.querySelector("dialog[open]");
    if (dialogue) {
      dialogue.addEventListener("close", () => this.#buildControls(), { once: true });
      return;
    }
    this.#controlsKey = key;
    const clicks = this.controls?.clicks?.value;
    this.controls = new Controls(box, this, this.#theme);
    if (clicks && this.controls.clicks) this.controls.clicks.value = clicks;
  }

  async #clicked(id, name) {
    if (!this.controls?.clicksAct) return;
    const view = this.#model.state?.views[0];
    if (!view || !this.lab.actions.includes(name === null ? "links" : "nodes")) return;
    const link = this.lab.links.find((each) => each.id === id);
    const up = link ? !view.links.find((each) => each.id === id).up : view.nodes_down.includes(name);
    const what = link ? linkWhat(link, up) : nodeWhat(name, up);
    if (this.controls.clicksAsk && !(await confirmed(`${sentence(what)} on ${BACKENDS[this.lab.backend]}?`, sentence(what)))) return;
    if (link) this.setLink(link, up);
    else this.setNode(name, up);
  }

  async setLink(link, up) {
    const isDone = await this.#act(linkWhat(link, up), pathTo("links", link.id), up);
    if (isDone) this.#done.push(() => this.#act(linkWhat(link, !up), pathTo("links", link.id), !up));
  }

  async setNode(name, up) {
    const isDone = await this.#act(nodeWhat(name, up), pathTo("nodes", nameInAddress(name)), up);
    if (isDone) this.#done.push(() => this.#act(nodeWhat(name, !up), pathTo("nodes", nameInAddress(name)), !up));
  }

  #act(what, path, up) {
    return this.act(what, "PATCH", path, { up });
  }

  /** Undo the last cut or heal of this page. */
  async undo() {
    await this.#done.pop()?.();
  }

  /** Heal all links and restore all nodes. */
  async healAll() {
    const view = this.#model.state?.views[0];
    for (const name of view?.nodes_down ?? []) await this.setNode(name, true);
    for (const { id, up } of view?.links ?? []) {
      if (!up) await this.setLink(this.lab.links.find((link) => link.id === id), true);
    }
  }

  #recolour() {
    if (!this.lab) return;
    const palette = colours();
    for (const each of [...this.#panels, this.tunnels, this.flows]) each.recolour(palette);
    this.#soon();
  }

  /** Show the state with the next frame; several states before it are shown as one, and none in a hidden tab. */
  #soon() {
    if (this.#waiting || document.hidden) return;
    this.#waiting = true;
    const { ended, took } = this.#shown;
    const rest = ended + REST * (took + drawingTime()) - performance.now();
    setTimeout(() => nextFrame(() => this.#showNow()), Math.max(0, rest));
  }

  #showNow() {
    this.#waiting = false;
    if (!this.lab || !this.#model.state) return;
    const begun = performance.now();
    this.#show(this.#model.state);
    const ended = performance.now();
    this.#shown = { ended, took: ended - begun };
  }

  #show(state) {
    const views = this.#panels.map((panel) => state.views.find((view) => view.scheme === panel.scheme));
    if (views.some((view) => !view || !isOf(view, this.lab))) return;
    this.#panels.forEach((panel, number) => panel.update(views[number]));
    this.tunnels.update(views);
    this.flows.update(views);
    this.links.update(views);
    this.nodes.update(views);
    this.controls?.update(state, this.lab);
    this.#showCharts(state);
    this.#showController(state);
  }

  get curves() {
    return this.#curves;
  }

  /** Draw a curve for each "role", or for each "flow" that the table names. */
  chooseCurves(curves) {
    this.#curves = curves;
    if (this.controls) this.controls.curves.value = curves;
    this.#soon();
  }

  #showCharts(state) {
    const isByRole = this.#curves === "role";
    const shown = isByRole ? ROLES : this.flows.drawn;
    const histories = this.#panels.map((panel) => this.#model.history(panel.scheme, this.#curves));
    let top = isByRole ? 1 : 0;
    for (const history of histories) {
      for (const id of shown) for (const value of history.series.get(id) ?? []) top = Math.max(top, value ?? 0);
    }
    this.#panels.forEach((panel, number) =>
      panel.draw(histories[number], this.#curves, shown, this.#model.marks(panel.scheme), state.time, top),
    );
  }

  #showController({ controller, faults }) {
    const pill = byId("controller");
    pill.hidden = !controller && !faults.length;
    if (pill.hidden) return;
    const troubles = [...(controller?.errors ?? []), ...faults];
    const count = controller?.switches.length ?? 0;
    const members = (controller?.members ?? []).map(memberText);
    const alive = [members.join(", ") || "controller alive", `${count} ${count === 1 ? "switch" : "switches"}`].join(", ");
    const parts = controller ? [controller.alive ? alive : "controller is down"] : [];
    setText(pill, [...parts, ...troubles].join("; "));
    pill.dataset.kind = troubles.length || (controller && !controller.alive) ? "bad" : "good";
  }
}

const linkWhat = (link, up) => `${up ? "heal" : "cut"} ${linkName(link)}`;

const nodeWhat = (name, up) => `${up ? "restore" : "take down"} ${name}`;

/** Return true if a view is of this network, and not of one whose description has not come yet, or is late. */
const isOf = ({ links }, lab) => links.length === lab.links.length && links.every(({ id }, number) => id === lab.links[number].id);

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

function memberText({ number, alive, acts, since }) {
  if (acts) return `controller ${number} acts since ${since === null ? "the start" : new Date(1000 * since).toLocaleTimeString()}`;
  return `controller ${number} ${alive ? "stands by" : "is dead"}`;
}

/** Return a name by which a control is found again when the page was put together anew. */
function nameOf(control) {
  if (!control?.matches("button, select, input")) return "";
  return `${control.tagName} ${control.getAttribute("aria-label") ?? control.labels?.[0]?.firstChild?.textContent ?? control.textContent}`;
}

new App(takeToken()).run();
