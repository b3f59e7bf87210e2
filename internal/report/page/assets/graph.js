// The graph: a column for each wave, the longest chain marked. A list (foreach) is one node. How much a node shows
// depends on how many there are. graph.of has the node of each task.
const graph = { nodes: [], of: [], at: -1, scale: 1 };

const sizes = [
  { most: 48, w: 178, h: 42, gap: 12, rows: 12, between: 64, full: true },
  { most: 160, w: 86, h: 24, gap: 8, rows: 16, between: 38 },
  { most: Infinity, w: 17, h: 17, gap: 5, rows: 25, between: 52, dot: true },
];

// What the nodes stand for, in plan order: a task, or a list with its tasks. Lists that are not known come last.
function graphItems() {
  const items = [], of = [], at = new Map();
  run.tasks.forEach((t, i) => {
    const l = listOf(i);
    if (l && at.has(l)) { of[i] = at.get(l); return; }
    of[i] = items.length;
    if (l) at.set(l, items.length);
    items.push(l ? { list: l, tasks: l.tasks, id: l.id, subject: listText(l), status: listStatus(l), wave: t.wave, on: new Set() }
      : { task: i, tasks: [i], id: t.id, subject: t.subject || "", status: t.status, wave: t.wave, on: new Set() });
  });
  run.tasks.forEach((t, i) => (t.on || []).forEach((b) => { if (of[b] !== of[i]) items[of[i]].on.add(of[b]); }));
  for (const l of lists().values()) {
    if (!l.known) items.push({ list: l, tasks: [], id: l.id, subject: listText(l), status: listStatus(l), wave: l.wave, on: new Set((l.on || []).map((b) => of[b])) });
  }
  graph.of = of;
  return items;
}

// Positions: within a wave nodes stand near what they wait for, so that fewer lines cross.
function layout(items) {
  const size = sizes.find((z) => items.length <= z.most), last = items.reduce((n, x) => Math.max(n, x.wave), run.waves);
  const waves = Array.from({ length: last + 1 }, () => []);
  items.forEach((x, i) => waves[x.wave].push(i));
  const place = new Float64Array(items.length), spots = [];
  let x = 22, deepest = 0;
  const columns = [];
  for (let w = 1; w <= last; w++) {
    const list = waves[w];
    if (!list.length) continue;
    const pull = new Map(list.map((i, k) => {
      const on = [...items[i].on];
      return [i, on.length ? on.reduce((a, b) => a + place[b], 0) / on.length : k / list.length];
    }));
    list.sort((a, b) => pull.get(a) - pull.get(b) || a - b);
    list.forEach((i, k) => { place[i] = k / list.length; });
    const rows = Math.max(size.rows, Math.ceil(Math.sqrt(list.length * 1.5)));
    const across = Math.ceil(list.length / rows), down = Math.ceil(list.length / across);
    list.forEach((i, k) => {
      spots[i] = { x: x + Math.floor(k / down) * (size.w + size.gap), y: 58 + (k % down) * (size.h + size.gap) };
    });
    const width = across * (size.w + size.gap) - size.gap;
    columns.push({ wave: w, x, width, list });
    deepest = Math.max(deepest, down);
    x += width + size.between;
  }
  // Where there is room left, the columns move apart.
  const spare = Math.min(($("graph").clientWidth - 54 - (x - size.between + 22)) / Math.max(columns.length - 1, 1), size.full ? 90 : 130);
  if (spare > 0) {
    columns.forEach((c, k) => { c.x += k * spare; for (const i of c.list) spots[i].x += k * spare; });
    x += (columns.length - 1) * spare;
  }
  return { size, spots, columns, width: Math.max(x - size.between + 22, 60), height: 58 + deepest * (size.h + size.gap) + 10 };
}

function curve(a, b, size) {
  const x1 = a.x + size.w, y1 = a.y + size.h / 2, x2 = b.x, y2 = b.y + size.h / 2, d = Math.max(22, (x2 - x1) / 2);
  return `M${x1} ${y1}C${x1 + d} ${y1} ${x2 - d} ${y2} ${x2} ${y2}`;
}

function drawGraph() {
  const root = $("graph"), old = root.querySelector(".scroll");
  const scroll = old ? [old.scrollLeft, old.scrollTop] : [0, 0];
  const items = graphItems(), l = layout(items), { size, spots } = l;
  const onPath = new Map([...new Set(run.critical.map((i) => graph.of[i]))].map((i, k) => [i, k]));
  let plain = "", marked = "", edges = 0;
  items.forEach((t, i) => t.on.forEach((b) => {
    edges++;
    const d = curve(spots[b], spots[i], size);
    if (onPath.has(i) && onPath.get(b) === onPath.get(i) - 1) marked += d; else plain += d;
  }));
  const next = items.map(() => []);
  items.forEach((t, i) => t.on.forEach((b) => next[b].push(i)));
  const lit = s("path", { class: "edges lit" });
  const board = s("svg", { width: l.width * graph.scale, height: l.height * graph.scale, viewBox: `0 0 ${l.width} ${l.height}`, role: "group", "aria-label": "Task graph; arrow keys move between tasks, Enter opens one. The table of tasks has the same." });
  for (const c of l.columns) {
    const tasks = c.list.flatMap((i) => items[i].tasks);
    const ready = tasks.filter((i) => ["completed", "failed", "blocked"].includes(run.tasks[i].status)).length;
    board.append(s("rect", { class: "waveband", x: c.x - 12, y: 8, width: c.width + 24, height: l.height - 16, rx: 10 }),
      s("text", { class: "wavehead", x: c.x, y: 29 }, c.width > 46 ? "Wave " + c.wave : "W" + c.wave),
      s("text", { class: "wavesub", x: c.x, y: 45 }, ready + "/" + tasks.length + (c.width > 90 ? " settled" : "")));
  }
  board.append(s("path", { class: "edges" + (edges > 220 ? " many" : ""), d: plain }), s("path", { class: "edges crit", d: marked }), lit);
  graph.nodes = items.map((t, i) => {
    const p = spots[i], [word, mark] = statuses[t.status] || [t.status, "·"];
    const g = s("g", { class: `node ${size.dot ? "dot " : ""}${t.list ? "list " : ""}${cls(t.status)}${onPath.has(i) ? " crit" : ""}`, transform: `translate(${p.x} ${p.y})`,
      role: "button", tabindex: i === Math.max(graph.at, 0) ? 0 : -1, "data-i": i,
      "aria-label": `${t.list ? "list " : ""}${t.id} ${t.subject}, ${word}, wave ${t.wave}${onPath.has(i) ? ", on the longest chain" : ""}` });
    if (t.list && !size.dot) g.append(s("rect", { class: "box", x: 3, y: 3, width: size.w, height: size.h, rx: 8 }));
    g.append(s("rect", { class: "box", width: size.w, height: size.h, rx: size.dot ? 4 : 8 }));
    if (!size.dot) {
      g.append(s("rect", { class: "bar", x: 0.5, y: 6, width: 3.5, height: size.h - 12, rx: 1.75 }),
        s("text", { class: "glyph", x: size.w - 17, y: size.full ? 17 : 16 }, mark),
        s("text", { class: "id", x: 13, y: size.full ? 17 : 16 }, fit(t.id, size.w - 36, "600 11.5px monospace") + " ")); // the space parts it from the subject
    }
    if (size.dot && ["failed", "blocked", "in_progress", "advising"].includes(t.status)) g.append(s("text", { class: "glyph", x: size.w / 2, y: 12.5 }, mark));
    if (size.full) g.append(s("text", { class: "sub", x: 13, y: 33 }, fit(t.subject, size.w - 22, "11px sans-serif").replace(/ \S*…$/, " …")));
    return tip(g, () => tipOf(t));
  });
  board.append(...graph.nodes);
  const light = (i) => {
    board.classList.toggle("faded", i >= 0);
    for (const n of graph.nodes) n.classList.remove("lit");
    let d = "";
    if (i >= 0) {
      graph.nodes[i].classList.add("lit");
      for (const b of items[i].on) { graph.nodes[b].classList.add("lit"); d += curve(spots[b], spots[i], size); }
      for (const n of next[i]) { graph.nodes[n].classList.add("lit"); d += curve(spots[i], spots[n], size); }
    }
    lit.setAttribute("d", d);
  };
  const nodeOf = (e) => { const n = e.target.closest && e.target.closest(".node"); return n ? +n.getAttribute("data-i") : -1; };
  board.addEventListener("pointerover", (e) => light(nodeOf(e)));
  board.addEventListener("pointerleave", () => light(-1));
  board.addEventListener("click", (e) => { const i = nodeOf(e); if (i >= 0) choose(items[i]); });
  board.addEventListener("focusin", (e) => light(nodeOf(e)));
  board.addEventListener("focusout", () => light(-1));
  board.addEventListener("keydown", (e) => {
    const i = nodeOf(e);
    if (i < 0) return;
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(items[i]); return; }
    const to = step(e.key, i, spots);
    if (to < 0) return;
    e.preventDefault();
    graph.nodes[i].setAttribute("tabindex", -1);
    graph.nodes[to].setAttribute("tabindex", 0);
    graph.at = to;
    graph.nodes[to].focus();
  });
  const chain = run.weighed === "time" ? ` Longest chain so far: ${plural(run.critical.length, "task")}, ${took(run.chain)}.` : ` Longest chain: ${plural(run.critical.length, "task")}.`;
  const box = h("div", { class: "scroll", tabindex: -1 }, board);
  const zoomTo = (scale) => { graph.scale = Math.min(4, Math.max(0.1, scale)); drawGraph(); };
  const button = (text, name, scale) => h("button", { class: "small", type: "button", "aria-label": name, title: name, on: { click: () => zoomTo(scale()) } }, text);
  const zooms = h("span", { class: "zoom" }, h("span", { class: "muted", id: "graph-scale" }, Math.round(100 * graph.scale) + "%"),
    button("−", "Zoom out of the graph", () => graph.scale / 1.5), button("+", "Zoom into the graph", () => graph.scale * 1.5),
    button("Fit", "Fit the graph to the window", () => Math.min(1, (root.clientWidth - 54) / l.width, (innerHeight - 180) / l.height)),
    graph.scale === 1 ? null : button("1:1", "Show the graph in its own size", () => 1));
  root.replaceChildren(heading("graph", "Graph", `${plural(run.tasks.length, "task")} in ${plural(run.waves, "wave")}, ${plural(edges, "dependency", "dependencies")}.` + chain, zooms), box, graphKey());
  box.scrollTo(...scroll);
  dim();
}

// Tasks that the search or a filter leaves out are faint in the graph too.
function dim() {
  const shown = new Set(view.shown.map((i) => graph.of[i])), all = !view.shown.length || view.shown.length === run.tasks.length;
  graph.nodes.forEach((n, k) => n.classList.toggle("off", !all && !shown.has(k)));
}

// The nearest node in the direction of an arrow key.
function step(key, from, spots) {
  const dir = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (!dir) return -1;
  let best = -1, least = Infinity;
  spots.forEach((p, i) => {
    const dx = p.x - spots[from].x, dy = p.y - spots[from].y, along = dx * dir[0] + dy * dir[1], aside = Math.abs(dx * dir[1]) + Math.abs(dy * dir[0]);
    if (along > 1 && along + 3 * aside < least) { least = along + 3 * aside; best = i; }
  });
  return best;
}

function graphKey() {
  const here = new Set(run.tasks.map((t) => t.status));
  return h("div", { class: "key" }, Object.entries(statuses).filter(([k]) => here.has(k)).map(([k, [word]]) => h("span", { class: cls(k) }, h("i"), word)),
    h("span", {}, h("i", { class: "line" }), run.weighed === "time" ? "longest chain, by the time its tasks took" : "longest chain, by its number of tasks"));
}

const choose = (item) => item.list ? showList(item.list) : open(item.task);

function tipOf(item) {
  if (item.list) return [h("b", {}, item.id), " " + item.subject, h("div", {}, [item.list.from, item.list.cost ? money(item.list.cost) : ""].filter(Boolean).join(" · "))];
  const t = run.tasks[item.task], [word] = statuses[t.status] || [t.status];
  return [h("b", {}, t.id), " " + (t.subject || ""),
    h("div", {}, [word, t.attempts ? plural(t.attempts, "attempt") : "", t.took ? took(t.took) : "", t.cost ? money(t.cost) : ""].filter(Boolean).join(" · ")),
    t.reason && h("div", {}, t.reason)].filter(Boolean);
}
