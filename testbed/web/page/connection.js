// The server: its stream of events, read again whenever it breaks, and requests for actions.

const QUIET_SECONDS = 20;
const LONGEST_WAIT = 10;
const TOKEN = "kuijia-token";

/** Return the token of the page's address, which is then taken out of it, or the one kept for this tab. */
export function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (given) {
    sessionStorage.setItem(TOKEN, given);
    history.replaceState(null, "", location.pathname + location.search);
  }
  return given ?? sessionStorage.getItem(TOKEN) ?? "";
}

export const keepToken = (token) => sessionStorage.setItem(TOKEN, token);

export class Refusal extends Error {}

export class Connection {
  /** `on` has `event(kind, data)`, `open()`, `broken(seconds, reason)` and `unauthorised()`. */
  constructor(token, on) {
    this.headers = token ? { Authorization: `Bearer ${token}` } : {};
    this.on = on;
  }

  /** Read events until the server refuses the token. */
  async run() {
    for (let wait = 0.5; ; wait = Math.min(2 * wait, LONGEST_WAIT)) {
      let reason;
      try {
        const opened = await this.#read(() => (wait = 0.5));
        if (!opened) return;
        reason = "the stream ended";
      } catch (error) {
        reason = error.message;
      }
      this.on.broken(wait, reason);
      await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
    }
  }

  async #read(opened) {
    const stop = new AbortController();
    let quiet;
    const heard = () => {
      clearTimeout(quiet);
      quiet = setTimeout(() => stop.abort(new Error(`nothing was heard for ${QUIET_SECONDS} s`)), 1000 * QUIET_SECONDS);
    };
    try {
      heard();
      const response = await fetch("api/events", { headers: this.headers, signal: stop.signal, cache: "no-store" });
      if (response.status === 401 || response.status === 403) {
        this.on.unauthorised();
        return false;
      }
      if (!response.ok) throw new Error(`the server answered ${response.status}`);
      opened();
      this.on.open();
      await readEvents(response, this.on.event, heard);
      return true;
    } finally {
      clearTimeout(quiet);
    }
  }

  async get(path) {
    const response = await fetch(path, { headers: this.headers, cache: "no-store" });
    if (!response.ok) throw new Refusal(await reasonOf(response));
    return response.json();
  }

  /** Do one action; throw a Refusal with the server's reason if it was not done. */
  async act(method, path, body) {
    return (await this.#ask(method, path, body)).json();
  }

  /** Do one action as `act` does, whose answer is a stream; `event(kind, data)` gets each event, until `signal` aborts. */
  async follow(path, body, event, signal) {
    await readEvents(await this.#ask("POST", path, body, signal), event);
  }

  async #ask(method, path, body, signal) {
    const headers = { ...this.headers, "Content-Type": "application/json" };
    let response;
    try {
      response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    } catch {
      throw new Refusal("the server cannot be reached");
    }
    if (!response.ok) throw new Refusal(await reasonOf(response));
    return response;
  }
}

/** Read a stream of server-sent events to its end; `heard` is called whenever something of it comes. */
async function readEvents(response, event, heard = () => {}) {
  const parser = new EventParser(event);
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    heard();
    parser.take(decoder.decode(part.value, { stream: true }));
  }
}

async function reasonOf(response) {
  const text = await response.text();
  try {
    const found = JSON.parse(text).error;
    if (typeof found === "string") return found;
  } catch {
    // Not JSON: said as it is.
  }
  return text.slice(0, 500) || `the server answered ${response.status}`;
}

/** Splits a stream of server-sent events into (kind, data). */
class EventParser {
  #rest = "";

  constructor(found) {
    this.found = found;
  }

  take(text) {
    this.#rest += text.replaceAll("\r\n", "\n");
    const blocks = this.#rest.split("\n\n");
    this.#rest = blocks.pop();
    for (const block of blocks) this.#event(block);
  }

  #event(block) {
    let kind = "message";
    const data = [];
    for (const line of block.split("\n")) {
      if (line.startsWith("event:")) kind = line.slice(6).trim();
      else if (line.startsWith("data:")) data.push(line.slice(5));
    }
    if (data.length) this.found(kind, JSON.parse(data.join("\n")));
  }
}
