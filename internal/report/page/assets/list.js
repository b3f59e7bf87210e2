// The tasks as a table: search, filters, order. Rows are made in portions.
const view = { text: "", status: new Set(), wave: 0, sort: "plan", shown: [], portion: 150 };
const orders = {
  plan: ["plan order", (a, b) => a - b],
  cost: ["cost", (a, b) => (run.tasks[b].cost || 0) - (run.tasks[a].cost || 0) || a - b],
  time: ["time", (a, b) => (run.tasks[b].took || 0) - (run.tasks[a].took || 0) || a - b],
  tokens: ["tokens", (a, b) => total(run.tasks[b].tokens) - total(run.tasks[a].tokens) || a - b],
  attempts: ["attempts", (a, b) => (run.tasks[b].attempts || 0) - (run.tasks[a].attempts || 0) || a - b],
  status: ["trouble first", (a, b) => trouble(a) - trouble(b) || a - b],
};
const trouble = (i) => ["failed", "blocked", "advising", "in_progress", "verified", "pending", "completed"].indexOf(run.tasks[i].status);

function haystack(t) {
  if (!t.hay) t.hay = [t.id, t.subject, t.reason, t.outcome, t.status, (statuses[t.status] || [""])[0], (t.files || []).join(" "), "wave " + t.wave].join("\n").toLowerCase();
  return t.hay;
}

function matching() {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const list = [];
  run.tasks.forEach((t, i) => {
    if (view.status.size && !view.status.has(t.status)) return;
    if (view.wave && t.wave !== view.wave) return;
    if (words.length && !words.every((w) => haystack(t).includes(w))) return;
    list.push(i);
  });
  return list.sort(orders[view.sort][1]);
}

function drawTasks() {
  const search = h("input", { type: "search", id: "search", placeholder: "Search id, subject, reason, file", "aria-label": "Search tasks", autocomplete: "off", spellcheck: "false", value: view.text,
    on: { input: (e) => { view.text = e.target.value; drawRows(); }, keydown: (e) => { if (e.key === "Enter" && view.shown.length) { e.preventDefault(); open(view.shown[0]); } } } });
  const counts = {};
  for (const t of run.tasks) counts[t.status] = (counts[t.status] || 0) + 1;
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Filter by status" }, Object.keys(statuses).filter((k) => counts[k]).map((k) => chip(k, counts[k])));
  const waves = h("select", { "aria-label": "Wave", on: { change: (e) => { view.wave = +e.target.value; drawRows(); } } }, h("option", { value: 0 }, "all waves"),
    Array.from({ length: run.waves }, (_, k) => h("option", { value: k + 1, selected: view.wave === k + 1 }, "wave " + (k + 1))));
  const sort = h("select", { "aria-label": "Order", on: { change: (e) => { view.sort = e.target.value; drawRows(); } } },
    Object.entries(orders).map(([k, [word]]) => h("option", { value: k, selected: view.sort === k }, "by " + word)));
  $("tasks").replaceChildren(heading("tasks", "Tasks", "", h("span", { class: "muted", id: "matches", role: "status" })),
    h("div", { class: "bar", role: "search" }, h("div", { class: "search" }, search, h("kbd", { "aria-hidden": "true" }, "/")), waves, sort), h("div", { class: "bar" }, chips), h("div", { id: "rows" }));
  drawRows();
}

function chip(status, n) {
  const [word, mark] = statuses[status];
  return h("button", { type: "button", class: "chip " + cls(status), "aria-pressed": String(view.status.has(status)), "data-status": status, on: { click: () => filter(status) } }, sign(mark), h("b", {}, n), word);
}

function filter(status) {
  if (view.status.has(status)) view.status.delete(status); else view.status.add(status);
  for (const c of document.querySelectorAll(".chip")) c.setAttribute("aria-pressed", String(view.status.has(c.dataset.status)));
  drawRows();
}

function drawRows() {
  view.shown = matching();
  dim();
  const some = view.shown.length < run.tasks.length;
  $("matches").textContent = some ? `${view.shown.length} of ${run.tasks.length}` : plural(run.tasks.length, "task");
  if (!view.shown.length) {
    $("rows").replaceChildren(h("p", { class: "none" }, "No task fits. ", h("button", { class: "small", type: "button", on: { click: clear } }, "Show all")));
    return;
  }
  const most = Math.max(...run.tasks.map((t) => t.cost || 0), 1);
  const body = h("tbody", {});
  const head = [["Status"], ["Task"], ["Subject"], ["Wave", "num opt"], ["Attempts", "num"], ["Counsel", "num opt"], ["Cost", "num"], ["Tokens", "num opt"], ["Time", "num opt"]];
  const rows = rowsOf(view.shown);
  const table = h("table", { "aria-rowcount": rows.length + 1 }, h("caption", { class: "sr" }, "Tasks"), h("thead", {}, h("tr", {}, head.map(([w, c]) => h("th", { scope: "col", class: c }, w)))), body);
  const more = h("button", { type: "button", class: "small more" });
  let made = 0;
  const add = () => {
    body.append(...rows.slice(made, made + view.portion).map((r) => typeof r === "number" ? taskRow(r, most) : listRow(r)));
    made = Math.min(made + view.portion, rows.length);
    more.hidden = made === rows.length;
    more.textContent = `Show ${Math.min(view.portion, rows.length - made)} more of ${rows.length - made}`;
  };
  more.addEventListener("click", add);
  add();
  $("rows").replaceChildren(table, more);
}

function taskRow(i, most) {
  const t = run.tasks[i], doing = t.now && run.live ? t.now : null;
  const row = h("tr", { "data-i": i, class: selected === i ? "sel" : "" },
    h("td", {}, badge(t.status)),
    h("td", {}, h("button", { type: "button", class: "open", "aria-expanded": String(selected === i), "aria-controls": "panel" }, marked(t.id))),
    h("td", { class: "subject" }, marked(t.subject || ""), t.reason && t.status !== "completed" ? h("span", { class: "why" }, marked(t.reason)) : null,
      t.known ? h("span", { class: "why" }, t.known) : null,
      doing && doing.counsel ? h("span", { class: "why" }, "counsel " + doing.n + ", since " + took(run.now - doing.since)) : null,
      doing && (doing.last || doing.worker) ? h("span", { class: "why" }, [doing.worker && "on " + doing.worker, doing.last, doing.at && took(run.now - doing.at) + " ago"].filter(Boolean).join(", ")) : null),
    h("td", { class: "num opt" }, t.wave), h("td", { class: "num" }, t.attempts || "–"), h("td", { class: "num opt" }, t.panels || "–"),
    h("td", { class: "num" }, money(t.cost), t.cost ? h("span", { class: "meter", "aria-hidden": "true", css: { width: (100 * t.cost) / most + "%" } }) : null),
    h("td", { class: "num opt" }, count(total(t.tokens))), h("td", { class: "num opt" }, doing ? took(run.now - doing.since) : t.took ? took(t.took) : "–"));
  row.addEventListener("click", (e) => { if (!getSelection().toString() || e.target.closest("button")) open(i); });
  return row;
}

// A text with what was searched for marked in it.
function marked(text) {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return text;
  const low = text.toLowerCase(), out = [];
  let at = 0;
  while (at < text.length) {
    let best = -1, len = 0;
    for (const w of words) {
      const k = low.indexOf(w, at);
      if (k >= 0 && (best < 0 || k < best)) { best = k; len = w.length; }
    }
    if (best < 0) break;
    out.push(text.slice(at, best), h("mark", {}, text.slice(best, best + len)));
    at = best + len;
  }
  return out.concat(text.slice(at));
}

function clear() {
  view.text = ""; view.wave = 0; view.status.clear();
  drawTasks();
}
