// Style of the drawing, in the style sheets of Cytoscape.js.

import { WIDEST_NAME } from "./labels.js";

/** Return the style sheet for these colours and sizes. Links that are up are to be pointed at; gauges show them. */
export function styleSheet(palette, size) {
  return [
    {
      selector: "node",
      style: {
        width: 2 * size.radius,
        height: 2 * size.radius,
        shape: "ellipse",
        "background-color": palette.panel,
        "border-width": 1.5,
        "border-color": palette.muted,
        label: "data(label)",
        color: palette.ink,
        "font-size": size.font,
        "font-family": "system-ui, sans-serif",
        "text-valign": "center",
        "text-halign": "center",
        "text-max-width": WIDEST_NAME * size.font,
        "text-wrap": "ellipsis",
        "overlay-opacity": 0,
        "z-index": 3,
      },
    },
    { selector: "node.top", style: { "text-valign": "top" } },
    { selector: "node.bottom", style: { "text-valign": "bottom" } },
    { selector: "node.left", style: { "text-halign": "left" } },
    { selector: "node.right", style: { "text-halign": "right" } },
    {
      selector: "node.top, node.bottom, node.left, node.right",
      style: { "text-background-color": palette.panel, "text-background-opacity": 0.7, "text-background-padding": 0 },
    },
    { selector: "node.site", style: { shape: "round-rectangle" } },
    {
      selector: "node.down",
      style: { "border-style": "dashed", "border-color": palette.down, "border-width": 2.5, color: palette.down },
    },
    {
      selector: "edge",
      style: { "curve-style": "straight", "overlay-opacity": 0, "line-cap": "butt", "target-arrow-shape": "none" },
    },
    {
      selector: "edge.direction",
      style: {
        width: size.line,
        "line-opacity": 0,
        "font-size": size.font - 1,
        "font-family": "system-ui, sans-serif",
        color: palette.muted,
        "text-background-color": palette.panel,
        "text-background-opacity": size.rates ? 0.85 : 0,
        "text-background-padding": 1,
        "z-index": 2,
      },
    },
    {
      selector: "edge.direction.down",
      style: {
        "line-opacity": 1,
        "line-color": palette.down,
        "line-style": "dashed",
        "line-dash-pattern": [4, 5],
        width: 1.5,
        color: palette.down,
        "font-size": size.font + 3,
        "font-weight": "bold",
      },
    },
    {
      selector: "edge.tunnel",
      style: {
        width: 2.5,
        "line-color": "data(colour)",
        "target-arrow-shape": "triangle",
        "target-arrow-color": "data(colour)",
        "arrow-scale": 0.6,
        events: "no",
        "z-index": 1,
      },
    },
    { selector: "edge.tunnel.dead", style: { "line-style": "dashed", "line-dash-pattern": [3, 5], opacity: 0.6 } },
  ];
}
