// Where nodes and lines of a drawing lie, in pixels.

const MARGIN = 34;
const LARGEST_MARGIN = 0.07;
const WIDEST = 1200;

/** Return positions of all nodes in a box: the shape of the network is kept unless it is much flatter than the box. */
export function places(nodes, width, height) {
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const wide = Math.max(...xs) - left;
  const high = Math.max(...ys) - top;
  const margin = Math.min(MARGIN, LARGEST_MARGIN * width);
  const [roomX, roomY] = [Math.min(width, WIDEST) - 2 * margin, height - 2 * margin];
  const even = Math.min(wide ? roomX / wide : Infinity, high ? roomY / high : Infinity);
  const scale = Number.isFinite(even) ? even : 1;
  const [scaleX, scaleY] = [stretched(scale, roomX, wide), stretched(scale, roomY, high)];
  return nodes.map((node) => ({
    x: width / 2 + (node.x - left - wide / 2) * scaleX,
    y: height / 2 + (node.y - top - high / 2) * scaleY,
  }));
}

const STRETCH = 1.6;

function stretched(scale, room, extent) {
  return extent ? Math.min(room / extent, STRETCH * scale) : scale;
}

/** Return the ends of a line from `from` to `to`, on the right of its direction, as offsets from both nodes. */
export function beside(from, to, radius, offset) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const [x, y] = [(to.x - from.x) / length, (to.y - from.y) / length];
  const [rightX, rightY] = [-y, x];
  const back = Math.min(radius, length / 3);
  return {
    source: { x: x * back + rightX * offset, y: y * back + rightY * offset },
    target: { x: -x * back + rightX * offset, y: -y * back + rightY * offset },
    right: { x: rightX, y: rightY },
  };
}

/** Return sizes for a drawing of so many nodes and links in a box. */
export function sizes(nodes, links, width, height) {
  const each = Math.sqrt((width * height) / Math.max(nodes, 1));
  const radius = Math.max(3.5, Math.min(17, each / 9));
  const line = Math.max(1.5, Math.min(7, each / 22));
  return {
    radius,
    line,
    gap: Math.max(1, line / 4),
    font: nodes > 60 ? 9 : nodes > 25 ? 10 : 12,
    rates: links <= 30 && width * height > 6500 * links,
  };
}
