// The controls in the bar: clock, schemes, clicks, and the dialogues for flows, demands and plans.

import { actionButton, element, setText } from "./dom.js";
import { demandsDialogue, flowDialogue, planDialogue } from "./dialogues.js";
import { consoleDialogue } from "./console.js";
import { drawDialogue } from "./editor.js";
import { moment } from "./quantities.js";
import { Scenario } from "./scenario.js";
import { schemeTitle } from "./view_panel.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 5, 10];

export class Controls {
  /**
   * `app` has `lab`, `act(what, method, path, body)`, `get(path)`, `curves`, `chooseCurves(curves)`, `healAll()`,
   * `undo()`, `draft`, `connection`, and what `Scenario` needs.
   */
  constructor(box, app, theme) {
    const { lab } = app;
    const can = (kind) => lab.actions.includes(kind) && !lab.view_only;
    const parts = [];
    if (lab.clock === "simulated") parts.push(this.#clock(app, can("clock")));
    if (can("scheme")) parts.push(schemeMenu(app));
    if (can("links") || can("nodes")) {
      this.undo = actionButton("Undo", () => app.undo(), { title: "Undo your last cut or heal" });
      this.healAll = actionButton("Heal all", () => app.healAll());
      this.scenario = new Scenario(app);
      parts.push(this.#clicks(lab.backend), this.undo, this.healAll, this.scenario.root);
    }
    if (can("flows")) parts.push(flowDialogue(app));
    if (can("demands")) parts.push(demandsDialogue(app));
    if (can("plan")) parts.push(planDialogue(app));
    if (can("console")) parts.push(consoleDialogue(app));
    if (can("network")) parts.push(drawDialogue(app));
    box.replaceChildren(...parts, this.#curvesMenu(app), theme);
  }

  /** True if a click on the drawing cuts and heals. */
  get clicksAct() {
    return this.clicks?.value === "act" || this.clicksAsk;
  }

  /** True if a click on the drawing asks before it cuts or heals: so it is with real switches. */
  get clicksAsk() {
    return this.clicks?.value === "ask";
  }

  #clicks(backend) {
    const isReal = backend === "lab" || backend === "boxes";
    this.clicks = element(
      "select",
      {},
      element("option", { value: "act" }, "cuts and heals"),
      element("option", { value: "ask", selected: isReal }, "asks first"),
      element("option", { value: "show" }, "only shows"),
    );
    return element("label", {}, "A click ", this.clicks);
  }

  #curvesMenu(app) {
    const choices = { role: "by role", flow: "by flow" };
    const options = Object.entries(choices).map(([value, text]) => element("option", { value, selected: value === app.curves }, text));
    this.curves = element("select", { onchange: () => app.chooseCurves(this.curves.value) }, ...options);
    return element("label", {}, "Curves ", this.curves);
  }

  #clock(app, can) {
    this.time = element("output", { className: "time", "aria-label": "Time of the simulated clock" });
    if (!can) return element("span", { className: "clock" }, this.time);
    this.pause = actionButton("Pause", () => app.act("pause", "PATCH", "api/clock", { paused: !this.paused }));
    this.speed = element(
      "select",
      { onchange: () => app.act("speed", "PATCH", "api/clock", { speed: Number(this.speed.value) }) },
      ...SPEEDS.map((each) => element("option", { value: String(each), selected: each === 1 }, `${each}×`)),
    );
    const parts = [this.time, this.pause, element("label", {}, "Speed ", this.speed)];
    if (app.lab.backend === "replay") parts.push(this.#seek(app));
    return element("span", { className: "clock" }, ...parts);
  }

  #seek(app) {
    const field = element("input", { type: "number", min: 0, step: 0.1, required: true });
    const seek = (event) => {
      event.preventDefault();
      app.act("go to", "PATCH", "api/clock", { time: Number(field.value) });
    };
    return element("form", { onsubmit: seek }, element("label", {}, "At second ", field), element("button", {}, "Go"));
  }

  update(state, lab) {
    this.scenario?.passed(state.time);
    if (!this.time) return;
    setText(this.time, moment(state.time, lab.clock));
    if (!this.pause || !state.clock) return;
    this.paused = state.clock.paused;
    setText(this.pause, this.paused ? "Go on" : "Pause");
    const speed = String(state.clock.speed);
    if (this.speed.value === speed || document.activeElement === this.speed) return;
    if (![...this.speed.options].some((each) => each.value === speed)) {
      this.speed.append(element("option", { value: speed }, `${speed}×`));
    }
    this.speed.value = speed;
  }
}

/** Return the choice of one scheme, or of two side by side where several views can be shown. */
function schemeMenu(app) {
  const { lab } = app;
  const available = lab.schemes_available?.length ? lab.schemes_available : lab.schemes;
  const simulated = lab.clock === "simulated";
  const choices = available.map((each) => [each]);
  if (simulated && available.length > 1) {
    const last = (each) => (each === "kuijia" ? 1 : 0); // what others are compared with stands on the right
    const sorted = [...available].sort((a, b) => last(a) - last(b));
    choices.push(...sorted.flatMap((one, number) => sorted.slice(number + 1).map((other) => [one, other])));
  }
  const now = JSON.stringify(lab.schemes);
  if (!choices.some((each) => JSON.stringify(each) === now)) choices.unshift(lab.schemes);
  const select = element(
    "select",
    { onchange: () => app.act("scheme", "PUT", "api/scheme", { schemes: JSON.parse(select.value) }) },
    ...choices.map((each) => {
      const value = JSON.stringify(each);
      return element("option", { value, selected: value === now }, each.map(schemeTitle).join(" | "));
    }),
  );
  return element("label", {}, "Scheme ", select);
}
