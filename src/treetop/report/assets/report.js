"use strict";
(() => {
  const make = (tag, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };

  // -- light and dark ---------------------------------------------------------------------------------------
  const root = document.documentElement;
  const kept = {
    get: () => { try { return localStorage.getItem("treetop-theme"); } catch { return null; } },
    set: (name) => { try { localStorage.setItem("treetop-theme", name); } catch { /* storage is blocked */ } },
  };
  const theme = document.getElementById("theme");
  const isDark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "")) === "dark";
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };
  if (kept.get()) root.dataset.theme = kept.get();
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    kept.set(root.dataset.theme);
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();

  // -- charts -----------------------------------------------------------------------------------------------
  const save = async (view, name, kind) => {
    const ground = view.background();
    await view.background("white").runAsync();
    const address = await view.toImageURL(kind, kind === "png" ? 2 : 1);
    await view.background(ground).runAsync();
    make("a", { href: address, download: `${name}.${kind}` }).click();
  };
  const draw = async (figure) => {
    if (figure.dataset.drawn) return;
    figure.dataset.drawn = "started";
    const spec = JSON.parse(figure.querySelector("script").textContent);
    const { view } = await vegaEmbed(figure.querySelector(".drawing"), spec, {
      mode: "vega-lite", renderer: "svg", actions: false, tooltip: { theme: "custom" },
    });
    const name = figure.id.replace("chart-", "");
    for (const kind of ["svg", "png"]) {
      const button = make("button", { type: "button", textContent: `Save ${kind.toUpperCase()}` });
      button.addEventListener("click", () => save(view, name, kind));
      figure.querySelector(".tools").append(button);
    }
    figure.dataset.drawn = "done";
  };
  // A chart takes its width from its container, which has none while it is collapsed.
  const drawVisible = (within) => {
    for (const figure of within.querySelectorAll(".chart")) {
      if (!figure.closest("details:not([open])")) draw(figure);
    }
  };
  for (const details of document.querySelectorAll("details.part")) {
    details.addEventListener("toggle", () => { if (details.open) drawVisible(details); });
  }
  drawVisible(document);

  // -- tables -----------------------------------------------------------------------------------------------
  const number = (text) => {
    const found = text.replaceAll(",", "").replace("−", "-").match(/^[+-]?\d+(\.\d+)?(e[+-]?\d+)?/i);
    return found ? Number(found[0]) : null;
  };
  const units = { bytes: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
  const value = (text) => {
    const plain = number(text);
    return plain === null ? null : plain * (units[text.split(" ")[1]] ?? 1);
  };
  const compare = (a, b) => {
    const [x, y] = [value(a), value(b)];
    return x !== null && y !== null ? x - y : a.localeCompare(b);
  };
  const sort = (table, column) => {
    const heads = [...table.tHead.rows[0].cells];
    const rising = heads[column].getAttribute("aria-sort") === "descending";
    heads.forEach((head) => head.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", rising ? "ascending" : "descending");
    const text = (row) => row.cells[column].textContent.trim();
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort((a, b) => (rising ? 1 : -1) * compare(text(a), text(b))));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    if (table.tBodies[0].rows.length < 3) continue;
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = make("button", { type: "button", title: "Sort" }, ...head.childNodes);
      button.addEventListener("click", () => sort(table, column));
      head.append(button);
    });
  }

  // -- label trees ------------------------------------------------------------------------------------------
  const AT_ONCE = 100;
  const counted = (count, one, many) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

  class Tree {
    constructor(place) {
      this.place = place;
      this.data = JSON.parse(place.querySelector("script").textContent);
      this.depth = this.data.clusters.length;
      this.top = make("ul");
      this.place.append(this.search(), this.top);
      const nodes = this.depth ? this.data.clusters[0].title.length : this.data.labels.title.length;
      this.fill(this.top, 0, 0, nodes);
    }

    level(depth) { return depth < this.depth ? this.data.clusters[depth] : this.data.labels; }

    line(depth, node) {
      const level = this.level(depth);
      const [isTrue, found] = [level.true[node], level.found[node]];
      const share = isTrue ? (100 * found) / isTrue : 0;
      const bar = make("span", { className: "bar" }, make("i"));
      bar.firstChild.style.width = `${share}%`;
      bar.setAttribute("aria-hidden", "true");
      const size = depth < this.depth
        ? counted(level.labels[node], "label", "labels")
        : counted(level.trained[node], "training text", "training texts");
      return [
        make("span", { className: "name", textContent: level.title[node] }),
        make("span", { className: "count", textContent: `${size}, ${counted(isTrue, "test occurrence", "test occurrences")}` }),
        bar,
        make("span", {
          className: "share",
          textContent: isTrue ? `${share.toFixed(1)} %` : "–",
          title: `${found} of ${isTrue} found among the first ${this.data.k}`,
        }),
      ];
    }

    item(depth, node) {
      if (depth === this.depth) {
        return make("li", {}, make("div", { className: "leaf" }, ...this.line(depth, node)));
      }
      const inner = make("ul");
      const details = make("details", {}, make("summary", {}, ...this.line(depth, node)), inner);
      details.open_ = () => {
        details.open = true;
        if (inner.childElementCount) return inner;
        const level = this.level(depth);
        this.fill(inner, depth + 1, level.first[node], level.first[node + 1]);
        if (depth + 1 === this.depth) {
          const more = level.labels[node] - (level.first[node + 1] - level.first[node]);
          if (more) inner.append(make("li", { className: "quiet", textContent: `… and ${counted(more, "rarer label", "rarer labels")}` }));
        }
        return inner;
      };
      details.addEventListener("toggle", () => { if (details.open) details.open_(); });
      return make("li", {}, details);
    }

    // Nodes from `next` on, a batch at a time; `upTo` is a node that must be included.
    fill(list, depth, first, last) {
      list.first_ = first;
      let next = first;
      const button = make("button", { type: "button" });
      const more = make("li", {}, button);
      list.show_ = (upTo) => {
        while (next < last && next <= upTo) {
          const stop = Math.min(next + AT_ONCE, last);
          const items = [];
          for (; next < stop; next += 1) items.push(this.item(depth, next));
          more.before(...items);
        }
        more.hidden = next === last;
        button.textContent = `${(last - next).toLocaleString("en")} more`;
      };
      list.append(more);
      button.addEventListener("click", () => list.show_(next));
      list.show_(first);
    }

    // The nodes on the path to a label, from the top.
    path(leaf) {
      const nodes = [leaf];
      for (let depth = this.depth - 1; depth >= 0; depth -= 1) {
        const { first } = this.data.clusters[depth];
        let [low, high] = [0, first.length - 1];
        while (low + 1 < high) {
          const middle = (low + high) >> 1;
          if (first[middle] <= nodes[0]) low = middle; else high = middle;
        }
        nodes.unshift(low);
      }
      return nodes;
    }

    reveal(leaf) {
      let list = this.top;
      for (const [depth, node] of this.path(leaf).entries()) {
        list.show_(node);
        const item = list.children[node - list.first_];
        if (depth < this.depth) { list = item.firstChild.open_(); continue; }
        this.place.querySelectorAll(".found").forEach((old) => old.classList.remove("found"));
        item.firstChild.classList.add("found");
        item.scrollIntoView({ block: "center" });
      }
    }

    search() {
      const input = make("input", { type: "search", placeholder: "Label name" });
      const matches = make("ul", { className: "matches" });
      const form = make("form", {}, make("label", {}, "Find ", input), make("button", { textContent: "Find" }));
      const count = make("span", { className: "quiet" });
      count.setAttribute("role", "status");
      form.append(count);
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        const wanted = input.value.trim().toLowerCase();
        const found = [];
        if (wanted) {
          this.data.labels.title.forEach((title, at) => { if (title.toLowerCase().includes(wanted)) found.push(at); });
        }
        const shown = found.slice(0, 20).map((at) => {
          const button = make("button", { type: "button", textContent: this.data.labels.title[at] });
          button.addEventListener("click", () => this.reveal(at));
          return make("li", {}, button);
        });
        matches.replaceChildren(...shown);
        count.textContent = wanted ? counted(found.length, "label", "labels") + (found.length > 20 ? ", the first 20" : "") : "";
        if (found.length === 1) this.reveal(found[0]);
      });
      return make("div", {}, form, matches);
    }
  }
  for (const place of document.querySelectorAll(".tree")) new Tree(place);
})();
