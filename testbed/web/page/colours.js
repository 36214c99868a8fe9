// The colours of the style sheet for what is drawn on canvases, and the switch between light and dark.

import { element } from "./dom.js";

export const ROLES = ["untouched", "direct", "indirect", "victim"];
const SCHEMES = ["system", "light", "dark"];
const KEY = "kuijia-colours";
const SHADES = 3;
const SERIES = 8;
/** Colours of tunnels among those of series: none that queues have. */
const TUNNELS = [2, 3, 6, 5, 7, 4];

/** Return the colours in force as `#rrggbb` by name, for Cytoscape.js and uPlot, which read no variables of CSS. */
export function colours() {
  const probe = element("span", { hidden: true });
  document.body.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    const parts = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3);
    return `#${parts.map((each) => Number(each).toString(16).padStart(2, "0")).join("")}`;
  };
  const names = ["ink", "muted", "line", "panel", "free", "down", "control", "accent"];
  const found = Object.fromEntries(names.map((name) => [name, read(name)]));
  for (const role of ["normal", "victim"]) {
    found[role] = Array.from({ length: SHADES }, (_, shade) => read(`${role}-${shade}`));
  }
  found.roles = Object.fromEntries(ROLES.map((role) => [role, read(`role-${role}`)]));
  found.series = Array.from({ length: SERIES }, (_, number) => read(`series-${number}`));
  found.tunnels = TUNNELS.map((number) => found.series[number]);
  probe.remove();
  return found;
}

/** Return the colour of a queue: its role gives the hue, its class the shade. */
export function queueColour(queue, palette) {
  if (queue.role === "control") return palette.control;
  return palette[queue.role === "victim" ? "victim" : "normal"][Math.min(queue.priority ?? 0, SHADES - 1)];
}

/** Return the control that chooses light or dark; `changed` is called whenever the colours are others. */
export function themeSwitch(changed) {
  let chosen = SCHEMES.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "system";
  const apply = () => {
    document.documentElement.dataset.theme = chosen;
    changed();
  };
  const select = element(
    "select",
    {
      onchange: () => {
        chosen = select.value;
        localStorage.setItem(KEY, chosen);
        apply();
      },
    },
    ...SCHEMES.map((each) => element("option", { value: each, selected: each === chosen }, each)),
  );
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  document.documentElement.dataset.theme = chosen;
  return element("label", {}, "Colours ", select);
}
