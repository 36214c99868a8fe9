// The consoles of hosts: a command runs on one of them, and what it writes is shown until it ends or is stopped.

import { field } from "./dialogues.js";
import { element, setText } from "./dom.js";

const KEPT_CHARACTERS = 400_000;

/** Return a button and the dialogue it opens; `app` has `lab` and `connection`. Closing the dialogue ends the command. */
export function consoleDialogue(app) {
  let running = null;
  const node = element("select", {}, ...app.lab.nodes.map(({ name }) => element("option", { value: name }, name)));
  const line = element("input", { maxLength: 1000, required: true, spellcheck: false, autocomplete: "off", placeholder: "ping -c 3 10.0.4.1" });
  const output = element("pre", { className: "output", tabIndex: 0, role: "log", "aria-label": "Output" });
  const problem = element("p", { className: "problem", role: "alert" });
  const run = element("button", { className: "strong" }, "Run");
  const stop = element("button", { type: "button", disabled: true, onclick: () => running?.abort() }, "Stop");
  const close = element("button", { type: "button", onclick: () => box.close() }, "Close");
  const write = (text) => {
    output.textContent = (output.textContent + text).slice(-KEPT_CHARACTERS);
    output.scrollTop = output.scrollHeight;
  };
  const heard = (kind, data) => {
    if (kind === "output") write(data.text);
    else if (data.reason || data.status) write(`[${data.reason || `exit status ${data.status}`}]\n`);
  };
  const submit = async (event) => {
    event.preventDefault();
    if (running) return;
    running = new AbortController();
    [run.disabled, stop.disabled] = [true, false];
    setText(problem, "");
    write(`${node.value}$ ${line.value}\n`);
    try {
      await app.connection.follow("api/console", { node: node.value, command: line.value }, heard, running.signal);
    } catch (error) {
      if (running.signal.aborted) write("[stopped]\n");
      else setText(problem, error.message);
    }
    running = null;
    [run.disabled, stop.disabled] = [false, true];
  };
  const form = element(
    "form",
    { onsubmit: submit },
    element("h2", {}, "Console"),
    field("Host", node),
    field("Command", line),
    output,
    problem,
    element("p", { className: "buttons" }, run, stop, close),
  );
  const box = element("dialog", { className: "wide", "aria-label": "Console", onclose: () => running?.abort() }, form);
  return element("span", {}, element("button", { type: "button", onclick: () => box.showModal() }, "Console…"), box);
}
