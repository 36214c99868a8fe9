// Which rows of a table are worth an update: those in sight at once, the others with every tenth state.

const TURNS = 10;

export class VisibleRows {
  #seen = new Set();
  #turn = 0;
  #watch = new IntersectionObserver((changes) => {
    for (const { target, isIntersecting } of changes) {
      if (isIntersecting) this.#seen.add(target);
      else this.#seen.delete(target);
    }
  });

  add(row) {
    this.#watch.observe(row);
  }

  /** Begin the next update. */
  advance() {
    this.#turn = (this.#turn + 1) % TURNS;
  }

  /** True if the row is to be brought up to date now. */
  wants(row) {
    return this.#turn === 1 || this.#seen.has(row);
  }
}
