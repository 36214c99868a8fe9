// Elements of the page. Texts become text nodes: names from files are never read as HTML.

/** Return a new element with these properties, attributes (names with a dash, or `role`) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name === "dataset") Object.assign(made.dataset, value);
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for" || name === "scope") made.setAttribute(name, value);
    else made[name] = value;
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Set an element's text, and touch the document only if it is another one. */
export function setText(node, text) {
  const only = node.firstChild;
  // Text of the same text node is cheaper to lay out than a new node.
  if (only?.nodeType === Node.TEXT_NODE && !only.nextSibling) {
    if (only.data !== text) only.data = text;
  } else if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Let the browser save a file. */
export function download(name, content) {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  URL.revokeObjectURL(address);
}

/** Return a button that cannot be pressed again until what it started has ended. */
export function actionButton(label, act, properties = {}) {
  const button = element("button", { type: "button", ...properties }, label);
  button.addEventListener("click", async () => {
    if (button.getAttribute("aria-disabled") === "true") return;
    // Unlike `disabled`, this leaves the keyboard's focus where it is.
    button.setAttribute("aria-disabled", "true");
    try {
      await act();
    } finally {
      button.removeAttribute("aria-disabled");
    }
  });
  return button;
}

/** Return a table in a box that scrolls by itself, which can have the keyboard's focus. */
export function scrollingTable(label, headings) {
  const body = element("tbody");
  const head = element("tr", {}, ...headings.map((each) => element("th", { scope: "col" }, each)));
  const table = element("table", { "aria-label": label }, element("thead", {}, head), body);
  const box = element("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": `${label}, scrollable` }, table);
  return { box, body, table };
}
