// Charts as SVG. Each has an accessible name, and the card shows its numbers in a table, too.

import { svg } from "./dom.js";
import { count } from "./numbers.js";

// Drawn at the width they are shown with, so that labels are as large as the text around them.
const WIDTH = Math.min(720, Math.max(280, innerWidth - 32));
const HEIGHT = Math.min(320, 0.7 * WIDTH);
const MARGIN = { left: 62, right: 22, top: 12, bottom: 46 };
const INNER = { width: WIDTH - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };

/** Texts per label over the label's rank, both on logarithmic scales. */
export function longTail(points, name) {
  const [lastRank, most] = [points.at(-1)[0], Math.max(...points.map(([, texts]) => texts))];
  const x = logarithmic(lastRank, MARGIN.left, INNER.width);
  const up = logarithmic(most, 0, INNER.height);
  const y = (texts) => MARGIN.top + INNER.height - up(texts);
  const line = points
    .map(([rank, texts]) => `${x(rank).toFixed(1)},${y(Math.max(1, texts)).toFixed(1)}`)
    .join(" ");
  const floor = MARGIN.top + INNER.height;
  return picture(
    name,
    ...axes(
      powers(lastRank).map((tick) => [x(tick), count(tick)]),
      powers(most).map((tick) => [y(tick), count(tick)]),
    ),
    svg("polygon", {
      class: "area",
      points: `${x(points[0][0]).toFixed(1)},${floor} ${line} ${x(lastRank).toFixed(1)},${floor}`,
    }),
    svg("polyline", { class: "line", points: line }),
    ...titles("labels, most frequent first", "training texts"),
  );
}

/** Reliability diagram: the share of correct suggestions by score, and the diagonal where both agree. */
export function reliability(bins, name) {
  const x = (share) => MARGIN.left + share * INNER.width;
  const y = (share) => MARGIN.top + (1 - share) * INNER.height;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const most = Math.max(...bins.map((bin) => bin.pairs));
  const line = bins.map((bin) => `${x(bin.score).toFixed(1)},${y(bin.hits).toFixed(1)}`).join(" ");
  return picture(
    name,
    ...axes(
      ticks.map((tick) => [x(tick), `${100 * tick}%`]),
      ticks.map((tick) => [y(tick), `${100 * tick}%`]),
    ),
    svg("line", { class: "ideal", x1: x(0), y1: y(0), x2: x(1), y2: y(1) }),
    svg("polyline", { class: "line", points: line }),
    ...bins.map((bin) =>
      svg("circle", {
        class: "dot",
        cx: x(bin.score),
        cy: y(bin.hits),
        r: 3 + 5 * Math.sqrt(bin.pairs / most),
      }),
    ),
    ...titles("score", "correct"),
  );
}

function picture(name, ...children) {
  return svg(
    "svg",
    { class: "chart", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": name },
    ...children,
  );
}

/** A logarithmic scale from 1 to `most`; a single value is at its start. */
function logarithmic(most, from, length) {
  const range = Math.log(Math.max(most, 2));
  return (value) => from + (length * Math.log(value)) / range;
}

function powers(most) {
  const all = [];
  for (let power = 1; power <= most; power *= 10) all.push(power);
  return all;
}

function axes(across, up) {
  const floor = MARGIN.top + INNER.height;
  return [
    ...up.flatMap(([y, words]) => [
      svg("line", { class: "grid", x1: MARGIN.left, y1: y, x2: MARGIN.left + INNER.width, y2: y }),
      svg("text", { class: "tick", x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, words),
    ]),
    ...across.map(([x, words]) =>
      svg("text", { class: "tick", x, y: floor + 18, "text-anchor": "middle" }, words),
    ),
    svg("line", { class: "axis", x1: MARGIN.left, y1: floor, x2: MARGIN.left + INNER.width, y2: floor }),
  ];
}

function titles(across, up) {
  return [
    svg(
      "text",
      { class: "title", x: MARGIN.left + INNER.width / 2, y: HEIGHT - 6, "text-anchor": "middle" },
      across,
    ),
    svg(
      "text",
      {
        class: "title",
        x: 12,
        y: MARGIN.top + INNER.height / 2,
        "text-anchor": "middle",
        transform: `rotate(-90 12 ${MARGIN.top + INNER.height / 2})`,
      },
      up,
    ),
  ];
}
