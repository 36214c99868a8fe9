// The loads of links on a canvas of their own, below that of the network: all of them in one stroke for each colour.

import { element } from "./dom.js";

export class Gauges {
  canvas = element("canvas", { className: "gauges" });
  #lines = new Map();
  #isStale = true;

  constructor(box) {
    box.prepend(this.canvas);
  }

  /** Take the size of the box, in pixels of the page. */
  resize(width, height) {
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.scale = scale;
    this.#lines.clear();
    this.#isStale = true;
  }

  /** Put the line of a direction between two points. */
  place(id, from, to) {
    this.#lines.set(id, { from, to, length: Math.hypot(to.x - from.x, to.y - from.y), ends: null });
  }

  /** Fill a line up to these shares of its length, in the order of the colours; null hides it. */
  show(id, shares) {
    const line = this.#lines.get(id);
    if (!line) return;
    // What moves by less than a pixel cannot be seen.
    const ends = shares && shares.map((share) => Math.round(Math.min(1, share) * line.length));
    if (line.ends === ends || (line.ends && ends && ends.every((end, place) => end === line.ends[place]))) return;
    line.ends = ends;
    this.#isStale = true;
  }

  /** Draw all lines if any is another one than before; `colours` are those of the shares, then that of the rest. */
  draw(colours, width) {
    if (!this.#isStale) return;
    this.#isStale = false;
    const paths = colours.map(() => new Path2D());
    for (const { from, to, length, ends } of this.#lines.values()) {
      if (!ends || !length) continue;
      let begun = 0;
      [...ends, Math.round(length)].forEach((end, place) => {
        if (end <= begun) return;
        paths[place].moveTo(...between(from, to, begun / length));
        paths[place].lineTo(...between(from, to, end / length));
        begun = end;
      });
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.lineWidth = width;
    paths.forEach((path, place) => {
      context.strokeStyle = colours[place];
      context.stroke(path);
    });
  }
}

function between(from, to, share) {
  return [from.x + share * (to.x - from.x), from.y + share * (to.y - from.y)];
}
