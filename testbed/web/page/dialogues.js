// The dialogues that start flows, change demands and replace the plan.

import { element, setText } from "./dom.js";
import { demandRows } from "./draft.js";

/** Return a button and the dialogue it opens. `submit` does the action and returns false if it was refused. */
export function dialogue(label, fields, submit, { opened = () => {}, verb = label, className = "" } = {}) {
  const problem = element("p", { className: "problem", role: "alert" });
  const send = element("button", { className: "strong" }, verb);
  const close = element("button", { type: "button", onclick: () => box.close() }, "Close");
  const form = element("form", { method: "dialog" }, element("h2", {}, label), ...fields, problem, element("p", { className: "buttons" }, send, close));
  const box = element("dialog", { className, "aria-label": label }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (send.disabled) return;
    send.disabled = true;
    setText(problem, "");
    const reason = await submit();
    send.disabled = false;
    if (reason) setText(problem, reason);
    else box.close();
  });
  const open = async () => {
    setText(problem, "");
    box.showModal();
    const reason = await opened();
    if (reason) setText(problem, reason);
  };
  return element("span", {}, element("button", { type: "button", onclick: open }, `${label}…`), box);
}

export const field = (label, input) => element("p", { className: "field" }, element("label", {}, label, " ", input));

const nodeSelect = (lab, chosen) =>
  element(
    "select",
    {},
    ...lab.nodes.filter((each) => each.site).map((each) => element("option", { value: each.name, selected: each.name === chosen }, each.name)),
  );

/** Ask a question; return a promise of true if the answer is yes. */
export function confirmed(question, verb) {
  const yes = element("button", { className: "strong", value: "yes" }, verb);
  const no = element("button", { value: "", autofocus: true }, "Cancel");
  const form = element("form", { method: "dialog" }, element("p", {}, question), element("p", { className: "buttons" }, yes, no));
  const box = element("dialog", { "aria-label": question }, form);
  document.body.append(box);
  box.showModal();
  return new Promise((resolve) => {
    box.addEventListener("close", () => {
      box.remove();
      resolve(box.returnValue === "yes");
    });
  });
}

export function flowDialogue(app) {
  const sites = app.lab.nodes.filter((each) => each.site);
  const first = app.lab.tunnels[0] ?? { source: sites[0]?.name, target: sites[1]?.name };
  const source = nodeSelect(app.lab, first.source);
  const target = nodeSelect(app.lab, first.target);
  const rate = element("input", { type: "number", min: "0.001", step: "any", value: "1", required: true });
  const seconds = element("input", { type: "number", min: "1", step: "any", value: "60", required: true });
  const kind = element("select", {}, element("option", { value: "udp" }, "UDP"), element("option", { value: "tcp" }, "TCP"));
  const submit = () =>
    app.tryTo("POST", "api/flows", {
      source: source.value,
      target: target.value,
      rate: Number(rate.value),
      kind: kind.value,
      seconds: Number(seconds.value),
    });
  const fields = [field("From", source), field("To", target), field("Rate in Mbit/s", rate), field("Transport", kind), field("Seconds", seconds)];
  return dialogue("Start a flow", fields, submit);
}

export function demandsDialogue(app) {
  const text = element("textarea", { rows: 10, cols: 40, spellcheck: false, required: true });
  const factor = element("input", { type: "number", min: "0.001", step: "any", value: "1", required: true });
  const opened = async () => {
    try {
      const { pairs } = (await app.get("api/plan")) ?? { pairs: [] };
      text.value = (pairs ?? []).map((each) => [each.source, each.target, each.demand, each.priority].join(",")).join("\n");
    } catch (error) {
      return error.message;
    }
    return "";
  };
  const submit = async () => {
    try {
      return await app.tryTo("PUT", "api/demands", { demands: demandRows(text.value, Number(factor.value)) });
    } catch (error) {
      return error.message;
    }
  };
  const fields = [
    field("Each line: source,target,Mbit/s,priority", text),
    field("Times", factor),
    element("p", { className: "note" }, "Solves a plan for these demands, and applies it."),
  ];
  return dialogue("Demands", fields, submit, { opened, verb: "Solve and apply" });
}

export function planDialogue(app) {
  const file = element("input", { type: "file", accept: "application/json,.json", required: true });
  const submit = async () => {
    let plan;
    try {
      plan = JSON.parse(await file.files[0].text());
    } catch (error) {
      return `${file.files[0]?.name ?? "file"}: ${error.message}, expected a plan in JSON`;
    }
    return app.tryTo("PUT", "api/plan", plan);
  };
  const withdraw = element(
    "button",
    { type: "button", onclick: (event) => withdrawPlan(app, event.target.closest("dialog")) },
    "Withdraw the plan in force",
  );
  const fields = [field("File of kuijia solve", file), element("p", { className: "note" }, "The plan is verified before it is applied."), element("p", {}, withdraw)];
  return dialogue("Plan", fields, submit, { verb: "Verify and apply" });
}

async function withdrawPlan(app, box) {
  const reason = await app.tryTo("DELETE", "api/plan");
  setText(box.querySelector(".problem"), reason);
  if (!reason) box.close();
}
