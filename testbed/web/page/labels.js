// Where the names of nodes stand: in their nodes if they fit there, else beside them, and nowhere if there is no room.

/** Longer names are cut off: width in sizes of the font. */
export const WIDEST_NAME = 12;

const BORDER = 3;
const LINE_HEIGHT = 1.25;
/** Pixels free on the left and on the right of a name, so that two of them do not read as one. */
const SPACE = 2;

/** Return a function that returns the width of a text of this size, in pixels. */
export function measurer(font) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = `${font}px system-ui, sans-serif`;
  return (text) => Math.min(context.measureText(text).width, WIDEST_NAME * font);
}

/**
 * Return for each node the side of its name: "center", "top", "bottom", "right", "left", or "" if no place is free.
 *
 * `order` lists the numbers of the nodes by importance; `at` has their places, `widths` the widths of their names.
 */
export function labelSides(order, at, widths, { radius, font }, { width, height }) {
  const nodes = at.map(({ x, y }) => boxAround(x, y, 2 * radius + BORDER, 2 * radius + BORDER));
  const names = [];
  const sides = at.map(() => "");
  const isFree = (box, number) =>
    box.left >= 0 && box.right <= width && box.top >= 0 && box.bottom <= height &&
    names.every((other) => !overlap(box, other)) &&
    nodes.every((other, each) => each === number || !overlap(box, other));
  for (const number of order) {
    for (const [side, box] of boxesOf(at[number], widths[number], radius, font)) {
      if (!isFree(box, number)) continue;
      names.push(box);
      sides[number] = side;
      break;
    }
  }
  return sides;
}

function boxesOf({ x, y }, width, radius, font) {
  if (width <= 2 * radius) return [["center", boxAround(x, y, width, font)]];
  const [wide, height] = [width + 2 * SPACE, LINE_HEIGHT * font];
  const [across, along] = [radius + height / 2, radius + width / 2 + 1];
  return [
    ["top", boxAround(x, y - across, wide, height)],
    ["bottom", boxAround(x, y + across, wide, height)],
    ["right", boxAround(x + along, y, wide, height)],
    ["left", boxAround(x - along, y, wide, height)],
  ];
}

const boxAround = (x, y, width, height) => ({ left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 });

const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
