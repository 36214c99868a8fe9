// Rates, shares, times and names as the page shows them: rates and shares as on the command line.

const UNITS = [[1e-6, "bit/s"], [1e-3, "kbit/s"], [1, "Mbit/s"], [1e3, "Gbit/s"], [1e6, "Tbit/s"], [1e9, "Pbit/s"]];
const NOTHING = 1e-9;
const NO_SHARE = 5e-5;
const DIGITS = 4;
const DIGITS_IN_DRAWINGS = 3;

/** Return a rate, given in Mbit/s, with the unit that suits its size: `12.1 Mbit/s`, `1.2 Gbit/s`. */
export function rate(mbits) {
  if (!(Math.abs(mbits) >= NOTHING)) return "0 Mbit/s";
  for (const [scale, unit] of UNITS) {
    if (Math.abs(mbits / scale) < 999.95 || unit === "Pbit/s") return `${significant(mbits / scale)} ${unit}`;
  }
}

/** Return a rate and the rate that it is part of: `1.5 of 4 Gbit/s`, or `500 Mbit/s of 4 Gbit/s`. */
export function rateOf(part, whole) {
  if (!(Math.abs(part) >= NOTHING)) return `0 of ${rate(whole)}`;
  const [number, unit] = rate(part).split(" ");
  return `${unit === rate(whole).split(" ")[1] ? number : rate(part)} of ${rate(whole)}`;
}

/** Return a number with so many significant digits, whole ones with all before the point. */
export function significant(number, digits = DIGITS) {
  if (number === 0 || !Number.isFinite(number)) return String(number);
  const rounded = Math.abs(Number(number.toPrecision(digits)));
  const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(rounded)));
  const text = number.toFixed(Math.min(decimals, 9));
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Return the unit in which the largest of these rates has one to three digits before the point. */
export function unitFor(largest) {
  const [scale, name] = UNITS.find(([each]) => Math.abs(largest / each) < 999.5) ?? UNITS.at(-1);
  return { name, show: (mbits) => (mbits < NOTHING ? "0" : significant(mbits / scale, DIGITS_IN_DRAWINGS)) };
}

/** Return a moment as a reader of this lab's clock says it: time of day, or seconds of a simulated clock. */
export function moment(time, clock) {
  if (clock === "simulated") return `${time.toFixed(1)} s`;
  return new Date(time * 1000).toLocaleTimeString("en-GB", { hour12: false }) + `.${Math.floor((time * 10) % 10)}`;
}

/** Return a part of one as a percentage: `33.33%`, and `0%` where nothing of it would be seen. */
export const percent = (share) => (Math.abs(share) <= NO_SHARE ? "0%" : `${(100 * share).toFixed(2)}%`);

/** Return a link, given by its id, as people write it. */
export const linkWords = (id) => id.replace("~", "-").replaceAll("%7E", "~").replaceAll("%25", "%");

/** Return a node's name as addresses have it: browsers take `.` and `..` out of them, however they are encoded. */
export const nameInAddress = (name) => (/^\.{1,2}$/.test(name) ? name.replaceAll(".", "%2E") : name.replaceAll("%", "%25"));

export const linkName = (link) => `${link.a}-${link.b}`;

export const pairOf = (each) => JSON.stringify([each.source, each.target]);
