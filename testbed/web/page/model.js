// What the page knows: the lab, its state, the goodput of flows and the shares of roles over time, and the log.

const KEPT_SAMPLES = 900;
const KEPT_ENTRIES = 500;
const STORED = "kuijia-goodput";
const LONGEST_ABSENCE = 60;
export const MARKING = new Set(["cut", "heal", "node-down", "node-up"]);

export class Model {
  lab = null;
  state = null;
  log = [];
  /** Ids of flows that the log names: those that users have started beside the demands, and can stop. */
  startedFlows = new Set();
  #histories = new Map();
  #lastSeq = -1;
  #missed = false;

  /** Take a description; return false if it is the one known. */
  describe(lab) {
    if (this.lab && JSON.stringify(this.lab) === JSON.stringify(lab)) return false;
    if (this.lab && networkOf(this.lab) !== networkOf(lab)) this.#histories.clear();
    this.lab = lab;
    return true;
  }

  /** Keep the curves for the page that is loaded next in this tab. */
  save() {
    if (!this.state) return;
    const histories = [...this.#histories].map(([key, { times, series }]) => [key, times, [...series]]);
    const kept = { name: this.lab.name, backend: this.lab.backend, time: this.state.time, histories };
    try {
      sessionStorage.setItem(STORED, JSON.stringify(kept));
    } catch {
      sessionStorage.removeItem(STORED); // there is no room
    }
  }

  /** Go on with the curves of the page that was loaded before, if it showed the same lab a moment ago. */
  #restore(time) {
    const stored = sessionStorage.getItem(STORED);
    sessionStorage.removeItem(STORED);
    if (!stored) return;
    const kept = JSON.parse(stored);
    const absence = time - kept.time;
    if (kept.name !== this.lab.name || kept.backend !== this.lab.backend || absence < 0 || absence > LONGEST_ABSENCE) return;
    for (const [key, times, series] of kept.histories) {
      this.#histories.set(key, Object.assign(new History(), { times, series: new Map(series) }));
    }
    this.#missed = true;
  }

  take(state) {
    if (!this.state && this.lab) this.#restore(state.time);
    if (this.state && state.time < this.state.time) this.#histories.clear();
    this.state = state;
    for (const view of state.views) {
      const goodputs = new Map(view.flows.map((flow) => [flow.id, flow.goodput]));
      this.#keep(view.scheme, "flow", goodputs);
      this.#keep(view.scheme, "role", sharesByRole(view));
    }
    this.#missed = false;
  }

  #keep(scheme, curves, values) {
    const key = `${curves} ${scheme}`;
    if (!this.#histories.has(key)) this.#histories.set(key, new History());
    this.#histories.get(key).take(this.state.time, values, this.#missed);
  }

  /** Note that states may have been missed: a line over that time would claim something. */
  miss() {
    this.#missed = true;
  }

  /** Take entries of the log; return those that are new. */
  enter(entries) {
    const fresh = entries.filter((each) => each.seq > this.#lastSeq);
    if (fresh.length) {
      this.#lastSeq = fresh.at(-1).seq;
      this.log = [...this.log, ...fresh].slice(-KEPT_ENTRIES);
      for (const { kind, subject } of fresh) if (kind === "flow" && subject?.flow) this.startedFlows.add(subject.flow);
    }
    return fresh;
  }

  /** Forget the log of a server that has been started anew. */
  forgetLog() {
    this.log = [];
    this.#lastSeq = -1;
  }

  /** Return the values over time of a scheme's `curves`: of each "flow", or of each "role". */
  history(scheme, curves) {
    return this.#histories.get(`${curves} ${scheme}`) ?? new History();
  }

  /** Return the cuts and heals that one view has seen. */
  marks(scheme) {
    return this.log.filter((each) => MARKING.has(each.kind) && (!each.view || each.view === scheme));
  }
}

/** Return a text that is another one for another network. */
export const networkOf = ({ name, backend, nodes, links }) => JSON.stringify([name, backend, nodes.map((node) => node.name), links]);

/** Return the share of what the flows of each role want that arrives; a role without flows has none. */
function sharesByRole(view) {
  const sums = new Map();
  for (const { role, goodput, wanted } of [...view.flows, ...view.unshown]) {
    const sum = sums.get(role) ?? { goodput: 0, wanted: 0 };
    sums.set(role, { goodput: sum.goodput + goodput, wanted: sum.wanted + wanted });
  }
  return new Map([...sums].filter(([, sum]) => sum.wanted > 0).map(([role, sum]) => [role, sum.goodput / sum.wanted]));
}

/** Values over time, one list for each curve next to that of times; null where nothing is known. */
class History {
  times = [];
  series = new Map();

  take(time, values, missed) {
    const last = this.times.at(-1);
    if (time === last) return;
    if (last !== undefined && missed) this.#add((last + time) / 2, new Map());
    this.#add(time, values);
    if (this.times.length > KEPT_SAMPLES * 1.5) this.#trim();
  }

  #add(time, values) {
    for (const id of values.keys()) {
      if (!this.series.has(id)) this.series.set(id, new Array(this.times.length).fill(null));
    }
    this.times.push(time);
    for (const [id, list] of this.series) list.push(values.get(id) ?? null);
  }

  #trim() {
    this.times = this.times.slice(-KEPT_SAMPLES);
    for (const [id, list] of this.series) {
      const kept = list.slice(-KEPT_SAMPLES);
      if (kept.every((each) => each === null)) this.series.delete(id);
      else this.series.set(id, kept);
    }
  }
}
