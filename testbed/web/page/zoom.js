// The part of a drawing that is seen: zoomed by buttons or by the wheel with Ctrl, moved by dragging.

const LARGEST = 8;
const STEP = 1.5;
const WHEEL_PIXELS = 400;

export class Zoom {
  #scale = 1;
  #x = 0;
  #y = 0;

  /** `box` is the element that is zoomed; `changed` is called when another part of it is seen. */
  constructor(box, changed) {
    this.box = box;
    this.changed = changed;
    box.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    box.addEventListener("pointerdown", (event) => this.#down(event));
    box.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) box.addEventListener(name, () => (this.from = null));
  }

  /** Return the scale, from 1, at which everything is seen. */
  get scale() {
    return this.#scale;
  }

  /** Return where a point of the whole drawing lies in the box. */
  place({ x, y }) {
    return { x: this.#scale * x + this.#x, y: this.#scale * y + this.#y };
  }

  closer() {
    this.#zoom(STEP, this.box.clientWidth / 2, this.box.clientHeight / 2);
  }

  farther() {
    this.#zoom(1 / STEP, this.box.clientWidth / 2, this.box.clientHeight / 2);
  }

  reset() {
    [this.#scale, this.#x, this.#y] = [1, 0, 0];
    this.changed();
  }

  /** Zoom by a factor, so that what lies at a point of the box stays there. */
  #zoom(factor, x, y) {
    const scale = Math.max(1, Math.min(LARGEST, factor * this.#scale));
    const by = scale / this.#scale;
    this.#scale = scale;
    this.#moveTo(x - by * (x - this.#x), y - by * (y - this.#y));
  }

  /** Move the drawing; its edges stay outside the box. */
  #moveTo(x, y) {
    const { clientWidth, clientHeight } = this.box;
    this.#x = Math.min(0, Math.max((1 - this.#scale) * clientWidth, x));
    this.#y = Math.min(0, Math.max((1 - this.#scale) * clientHeight, y));
    this.changed();
  }

  #wheel(event) {
    if (!event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    const corner = this.box.getBoundingClientRect();
    this.#zoom(2 ** (-event.deltaY / WHEEL_PIXELS), event.clientX - corner.x, event.clientY - corner.y);
  }

  #down(event) {
    if (this.#scale > 1 && event.button === 0) this.from = { x: event.clientX - this.#x, y: event.clientY - this.#y };
  }

  #move(event) {
    if (this.from && event.buttons & 1) this.#moveTo(event.clientX - this.from.x, event.clientY - this.from.y);
  }
}
