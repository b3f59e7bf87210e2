// The timeline: a lane for what ran side by side, by kind. The time between two
// sessions of the run is folded away.
let zoom = 1;
const laneNames = { attempt: "Attempts", counsel: "Counsel", review: "Reviews", criteria: "Criteria", integration: "Integration", delivery: "Delivery", wait: "Waits" };

// A scale from time to pixels, over the sessions.
function scale(left, right) {
  const fold = 30, parts = [];
  let all = 0;
  for (const [a, b] of run.sessions) {
    const last = parts[parts.length - 1];
    if (last && a - last.b < 60000) { all += b - last.b; last.b = b; continue; }
    parts.push({ a, b });
    all += b - a;
  }
  all = Math.max(all, 1);
  const room = right - left - fold * Math.max(parts.length - 1, 0);
  let x = left;
  for (const p of parts) { p.x = x; p.w = ((p.b - p.a) / all) * room; x += p.w + fold; }
  const at = (t) => {
    for (const p of parts) {
      if (t <= p.b) return t <= p.a ? p.x : p.x + (p.b > p.a ? ((t - p.a) / (p.b - p.a)) * p.w : 0);
    }
    const end = parts[parts.length - 1];
    return end ? end.x + end.w : left;
  };
  return { at, parts, fold, all, room };
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400];

// Ticks of the axis: lines and the time since the session began.
function axis(sc, top, bottom, every) {
  const out = [];
  const unit = steps.find((u) => (u * 1000 / sc.all) * sc.room >= every) || 86400;
  sc.parts.forEach((p, k) => {
    if (k) {
      out.push(s("rect", { class: "gap", x: p.x - sc.fold + 4, y: top, width: sc.fold - 8, height: bottom - top, rx: 4 }),
        s("text", { class: "axistext", x: p.x - sc.fold / 2, y: bottom + 30, "text-anchor": "middle" }, round(p.a - sc.parts[k - 1].b) + " pause"));
    }
    for (let t = 0; t <= p.b - p.a; t += unit * 1000) {
      const x = sc.at(p.a + t), tight = x - p.x > p.w - 22 && k === sc.parts.length - 1;
      out.push(s("line", { class: "axis", x1: x, x2: x, y1: top, y2: bottom }),
        s("text", { class: "axistext", x: x + (t ? 0 : 1), y: bottom + 15, "text-anchor": !t ? "start" : tight ? "end" : "middle" }, t ? "+" + round(t) : clock(p.a)));
    }
  });
  return out;
}

// A round time without its zeros: "5m", "1h30m".
const round = (ms) => took(ms).replace(/^(\d+m)00s$/, "$1").replace(/^(\d+h)00m$/, "$1");

// Rows in which no two spans overlap.
function pack(list) {
  const ends = [];
  return list.slice().sort((p, q) => p.a - q.a || q.b - p.b).map((p) => {
    let row = ends.findIndex((e) => e <= p.a);
    if (row < 0) row = ends.length;
    ends[row] = Math.max(p.b, p.a + 1);
    return [p, row];
  });
}

function drawTimeline() {
  const root = $("timeline"), old = root.querySelector(".scroll"), was = old ? old.scrollLeft : 0;
  const sum = run.sessions.reduce((n, [a, b]) => n + b - a, 0);
  const words = run.spans.length ? `${took(sum)} in ${plural(run.sessions.length, "session")}, from ${local(run.sessions[0][0])}.` : "Nothing has run yet.";
  const zooms = h("span", { class: "zoom" }, h("span", { class: "muted", id: "zoomed" }, zoom + "×"),
    h("button", { class: "small", type: "button", "aria-label": "Zoom out", on: { click: () => { zoom = Math.max(1, zoom / 2); drawTimeline(); } } }, "−"),
    h("button", { class: "small", type: "button", "aria-label": "Zoom in", on: { click: () => { zoom = Math.min(64, zoom * 2); drawTimeline(); } } }, "+"));
  root.replaceChildren(heading("timeline", "Timeline", words, zooms));
  if (!run.spans.length) return;
  const left = 92, wide = Math.max(680, root.clientWidth - 52) * zoom, row = 19;
  const sc = scale(left, wide - 36);
  const board = s("svg", { width: wide, role: "img", "aria-label": "Timeline of attempts, counsel, integrations and waits; the table below it has the same." });
  let y = 12;
  const bars = [], labels = [];
  for (const kind of Object.keys(laneNames)) {
    const packed = pack(run.spans.filter((p) => p.k === kind));
    if (!packed.length) continue;
    let rows = 0;
    for (const [p, r] of packed) {
      rows = Math.max(rows, r + 1);
      const x = sc.at(p.a), w = Math.max(2, sc.at(p.b) - x), t = run.tasks[p.t];
      const g = s("g", { class: `span ${kind === "wait" ? "wait st-wait" : kind === "attempt" ? cls(p.r || "running") : kind === "counsel" ? "st-counsel" : cls(p.r === "wrong" || p.r === "broken" ? p.r : kind)}${p.o ? " open" : ""}${p.t >= 0 ? " of-" + p.t : ""}` },
        s("rect", { x, y: y + r * row, width: w, height: row - 4, rx: Math.min(3, w / 2) }));
      const label = t ? t.id : p.x;
      if (w > 34 && label) g.append(s("text", { x: x + 5, y: y + r * row + 11 }, fit(label, w - 9, "600 10px monospace")));
      if (t) g.addEventListener("click", () => open(p.t));
      bars.push(tip(g, () => [h("b", {}, t ? t.id : laneNames[kind]), " " + (t ? t.subject || "" : ""),
        h("div", {}, [kind + (p.n ? " " + p.n : ""), p.o ? "not ended" : p.r, took(p.b - p.a), p.c ? money(p.c) : ""].filter(Boolean).join(" · ")), p.x && h("div", {}, p.x)].filter(Boolean)));
    }
    labels.push(s("text", { class: "lanetext", x: 12, y: y + 12 }, laneNames[kind]));
    y += rows * row + 12;
  }
  board.setAttribute("height", y + 38);
  board.append(...axis(sc, 6, y, 84), ...labels, ...bars);
  const box = h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Timeline" }, board);
  root.append(box, h("div", { class: "key" }, spanKey().map(([k, w]) => h("span", { class: cls(k) }, h("i"), w))), timeTable());
  box.scrollLeft = was;
}

// What the colours of the spans mean, of those that are there.
function spanKey() {
  const stuck = ["wrong", "over-turns", "timed-out", "stalled"], attempts = run.spans.filter((p) => p.k === "attempt");
  const has = (kind) => run.spans.some((p) => p.k === kind);
  return [["done", "done", attempts.some((p) => p.r === "done")], ["running", "not ended", attempts.some((p) => !p.r)], ["wrong", "went wrong", attempts.some((p) => stuck.includes(p.r))],
    ["denied", "stopped, refused or throttled", attempts.some((p) => p.r && p.r !== "done" && p.r !== "interrupted" && !stuck.includes(p.r))], ["interrupted", "interrupted", attempts.some((p) => p.r === "interrupted")],
    ["counsel", "counsel", has("counsel")], ["review", "review, criteria, integration", has("review") || has("criteria") || has("integration")], ["wait", "waiting", has("wait")]].filter(([, , there]) => there);
}

// The same as a table, made on demand.
function timeTable() {
  const alt = h("details", { class: "alt" }, h("summary", {}, "The timeline as a table"));
  alt.addEventListener("toggle", () => {
    if (!alt.open || alt.querySelector("table")) return;
    alt.append(h("div", { class: "scroll", tabindex: 0 }, h("table", {}, h("thead", {}, h("tr", {}, [`From (${zone(run.now)})`, "Took", "What", "Task", "End"].map((x) => h("th", { scope: "col" }, x)))),
      h("tbody", {}, run.spans.slice().sort((p, q) => p.a - q.a).map((p) => h("tr", {}, h("td", {}, clock(p.a)), h("td", {}, took(p.b - p.a)), h("td", {}, p.k + (p.n ? " " + p.n : "")),
        h("td", {}, p.t >= 0 ? run.tasks[p.t].id : ""), h("td", {}, [p.o ? "not ended" : p.r, p.x].filter(Boolean).join(": "))))))));
  });
  return alt;
}
