// Building elements. Text is always inserted as text nodes, so no label or text can become markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

/** An element with properties, attributes (role, for, names with a dash) and listeners (onclick, …). */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.includes("-") || name === "role" || name === "for") element.setAttribute(name, value);
    else element[name] = value;
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A table with these column names. Values that are not cells are wrapped in one. */
export function table(names, rows) {
  const heading = (name) => make("th", { scope: "col" }, name);
  const cell = (value) => (value instanceof HTMLTableCellElement ? value : make("td", {}, String(value)));
  return make(
    "table",
    {},
    make("thead", {}, make("tr", {}, names.map(heading))),
    make(
      "tbody",
      {},
      rows.map((row) => make("tr", {}, row.map(cell))),
    ),
  );
}

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const ICONS = {
  check: "M3.5 8.5 6.5 11.5 12.5 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  sun: "M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6M8 1v1.6M8 13.4V15M1 8h1.6M13.4 8H15M3 3l1.1 1.1M11.9 11.9 13 13M3 13l1.1-1.1M11.9 4.1 13 3",
  moon: "M13.5 9.6A6 6 0 0 1 6.4 2.5a6 6 0 1 0 7.1 7.1z",
};

export function icon(name) {
  const path = svg("path", {
    d: ICONS[name],
    fill: "none",
    stroke: "currentColor",
    "stroke-width": "1.8",
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  });
  return svg("svg", { viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true" }, path);
}
