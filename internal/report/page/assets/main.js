// The whole page: verdict, notes, theme, keys, and news while a run goes on.
let run = JSON.parse($("run").textContent);

function lead() {
  const c = {};
  for (const t of run.tasks) c[t.status] = (c[t.status] || 0) + 1;
  const n = run.tasks.length, ok = c.completed || 0;
  if (run.status === "complete" && ok === n) return n === 1 ? "The task is done and verified." : `All ${n} tasks are done and verified.`;
  if (run.status === "complete") return `${ok} of ${plural(n, "task")} are done and verified, and ${n - ok} failed, as the plan allows.`;
  const rest = ["failed", "blocked", "in_progress", "advising", "verified", "pending"].filter((k) => c[k]).map((k) => `${c[k]} ${statuses[k][0]}`);
  return `${ok} of ${plural(n, "task")} completed` + (rest.length ? ", " + rest.join(", ") : "") + ".";
}

function drawVerdict() {
  const [word, mark] = verdicts[run.status] || [run.status, "·"];
  const time = run.sessions.reduce((n, [a, b]) => n + b - a, 0);
  const tile = (name, value, small) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value, small && h("small", {}, small)));
  const copy = h("button", { type: "button", on: { click: () => navigator.clipboard && navigator.clipboard.writeText(run.resume).then(() => { copy.textContent = "Copied"; }) } }, "Copy");
  const c = {};
  for (const t of run.tasks) c[t.status] = (c[t.status] || 0) + 1;
  const present = Object.keys(statuses).filter((k) => c[k]);
  const onTokens = total(run.tokens);
  $("crumb").textContent = run.name || run.run;
  document.title = `${word}: ${run.name || run.run} · wavex`;
  $("verdict").className = cls(run.status);
  $("verdict").replaceChildren(
    h("div", { class: "hero" },
      h("div", {},
        h("p", { class: "eyebrow" }, h("span", {}, "Run ", h("span", { class: "mono" }, run.run)), run.plan && h("span", {}, run.plan), h("span", {}, run.agent === "rehearse" ? "rehearsal: costs and tokens are made up" : run.agent)),
        h("h1", { id: "verdict-title", class: (run.name || "").length > 36 ? "long" : "" }, sign(mark), h("span", { class: "word" }, word), run.name ? ": " + run.name : ""),
        h("p", { class: "lead" }, lead()),
        run.verdict && h("p", { class: "lead" }, "Verdict: " + run.verdict),
        run.risks && h("ul", { class: "lead risks", "aria-label": "What speaks against more trust" }, run.risks.map((x) => h("li", {}, x))),
        run.reason && h("p", { class: "lead" }, run.reason), run.advice && h("p", { class: "lead" }, run.advice),
        run.hold ? h("p", { class: "lead" }, "Nothing starts before " + local(run.hold) + ".") : null,
        run.resume_at ? h("p", { class: "lead" }, "Can go on at " + local(run.resume_at) + ".") : null,
        run.resume && h("p", { class: "next" }, h("span", {}, "Continue with"), h("code", {}, run.resume), copy)),
      h("dl", { class: "tiles" },
        tile("Cost" + (run.notional ? " (notional)" : ""), spentOf(run.cost, run.budget), run.budget === null ? "no budget" : "of " + limitOf(run.budget)),
        tile("Tasks", `${c.completed || 0}/${run.tasks.length}`, plural(run.waves, "wave")),
        tile("Time", took(time), run.sessions.length > 1 ? plural(run.sessions.length, "session") : run.sessions.length ? `${local(run.sessions[0][0]).slice(0, 16)} ${zone(run.sessions[0][0])}` : ""),
        tile("Iterations", String(run.iterations), run.max_iterations === null ? "no limit" : "of " + run.max_iterations),
        tile("Tokens", count(onTokens), onTokens ? count(run.tokens.output || 0) + " written" : ""),
        tile("Counsel", money(run.counsel_cost || 0), plural(run.tasks.reduce((n, t) => n + (t.panels || 0), 0), "panel")))),
    h("div", { class: "share", "aria-hidden": "true" }, present.map((k) => h("i", { class: cls(k), css: { "flex-grow": c[k] } }))),
    h("div", { class: "chips", role: "group", "aria-label": "Tasks by status; each filters the table" }, present.map((k) => {
      const b = chip(k, c[k]);
      b.addEventListener("click", () => $("tasks").scrollIntoView());
      return b;
    })),
    h("ul", { class: "criteria", "aria-label": "Criteria of completion" }, run.criteria.map((x) => h("li", {}, h("span", { class: "badge " + (x.met ? "st-done" : "st-pending") }, sign(x.met ? "✓" : "○"), h("span", { class: "sr" }, x.met ? "met: " : "not met: ")), h("span", {}, x.text, x.by ? h("span", { class: "muted" }, "  " + x.by) : null,
      x.evidence ? h("details", {}, h("summary", {}, x.check || "what shows it"), h("pre", { class: "wrap", tabindex: 0 }, x.evidence)) : null)))));
}

// The failed tasks, the first ones with the end of their output.
function drawFailures() {
  const failed = run.tasks.map((t, i) => [t, i]).filter(([t]) => t.status === "failed"), shown = failed.slice(0, 5);
  $("failures").hidden = $("nav-failures").hidden = !failed.length;
  $("failures").replaceChildren(heading("failures", "Failures", `${plural(failed.length, "task")} failed.`), ...shown.map(([t, i]) => h("article", { class: "failure st-failed" },
    h("h3", {}, h("button", { type: "button", class: "linkish mono", on: { click: () => open(i) } }, t.id), " ", t.subject),
    t.reason && h("p", { class: "prose" }, t.reason),
    t.tail && h("pre", { tabindex: 0 }, t.tail),
    h("p", { class: "muted" }, "All of it: ", h("code", {}, "wavex logs " + (/^[\w.-]+$/.test(t.id) ? t.id : `'${t.id.replaceAll("'", "'\\''")}'`))))),
    failed.length > shown.length ? h("p", { class: "muted" }, `and ${failed.length - shown.length} more: `, h("a", { href: "#tasks" }, "all tasks")) : "");
}

function drawReviews() {
  const list = run.reviews || [], word = { BLOCKER: ["✕", "st-failed"], WARNING: ["!", "st-blocked"], SUGGESTION: ["·", "st-pending"] };
  $("reviews").hidden = $("nav-reviews").hidden = !list.length;
  $("reviews").replaceChildren(heading("reviews", "Reviews", ""), ...list.map((r) => h("div", { class: "review" },
    h("h3", {}, r.mode + (r.wave ? ", wave " + r.wave : "") + ": ", h("span", { class: "badge " + (r.passed ? "st-done" : "st-failed") }, sign(r.passed ? "✓" : "✕"), r.passed ? "passed" : "not passed"),
      h("span", { class: "muted" }, (r.review.score ? `  score ${r.review.score.toFixed(1)} of 10` : "") + (r.review.cost ? "  " + money(r.review.cost) : "") + (r.review.experts ? "  " + r.review.experts.join(", ") : ""))),
    (r.review.error || r.review.nothing) && h("p", { class: "muted" }, r.review.error || r.review.nothing),
    (r.findings || []).map((f) => { const [m, c] = word[f.severity] || ["·", "st-pending"]; return h("div", { class: "finding " + c },
      h("p", {}, h("span", { class: "badge" }, sign(m), f.severity.toLowerCase()), h("span", { class: "muted" }, "  " + [f.place, f.expert, f.blocks ? "keeps the run from completing" : "", f.state].filter(Boolean).join(" · "))),
      h("p", { class: "prose" }, f.text), f.fix && h("p", { class: "prose" }, h("b", {}, "Fix: "), f.fix), f.evidence && h("details", { class: "fold" }, h("summary", {}, "Evidence"), h("pre", { class: "wrap", tabindex: 0 }, f.evidence))); }))));
}

function drawNotes() {
  const notes = run.notes || [];
  $("notes").hidden = $("nav-notes").hidden = !notes.length;
  const marks = { warning: ["!", "st-blocked"], stop: ["■", "st-failed"] };
  $("notes").replaceChildren(heading("notes", "Notes", ""), h("ol", { class: "notes" }, notes.map((n) => {
    const [m, c] = marks[n.level] || ["·", "st-pending"];
    return h("li", {}, h("time", { datetime: new Date(n.at).toISOString(), title: local(n.at) }, clock(n.at)), h("span", { class: "badge " + c }, sign(m), h("span", { class: "sr" }, n.level)),
      h("span", {}, n.task !== undefined ? h("button", { type: "button", class: "linkish", on: { click: () => open(n.task) } }, run.tasks[n.task].id) : null, n.text));
  })));
  $("foot").textContent = `wavex ${run.wavex || ""} · made ${local(run.now)} · times are ${zone(run.now)}${run.live ? "" : " · this file loads nothing from anywhere"}`;
}

function draw() {
  drawVerdict(); drawNow(); drawFailures(); drawGraph(); drawTimeline(); drawMoney(); drawReviews(); drawNotes(); mark();
}

// Theme: as the system has it, until the user chooses.
function remember(key, value) { try { if (value === undefined) return localStorage.getItem(key); localStorage.setItem(key, value); } catch { /* a file may have no storage */ } return null; }
function theme() {
  const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember("wavex-theme", root.dataset.theme);
}
{ const t = remember("wavex-theme"); if (t === "light" || t === "dark") document.documentElement.dataset.theme = t; }

$("help").append(h("h2", { id: "help-title" }, "Keys"), h("dl", {}, [["/", "search"], ["j  k", "next, previous task"], ["Enter", "open the first match"], ["Esc", "close"], ["arrows", "move in the graph"], ["t", "light or dark"], ["?", "this list"]].map(([k, w]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, w)])),
  h("form", { method: "dialog" }, h("button", { class: "small" }, "Close")));
$("help").querySelector("form").addEventListener("submit", (e) => { e.preventDefault(); $("help").close(); });
$("theme").addEventListener("click", theme);
$("help-button").addEventListener("click", () => $("help").showModal());
document.addEventListener("keydown", (e) => {
  if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
  const typing = e.target.matches && e.target.matches("input, select, textarea");
  if (e.key === "Escape") {
    if (typing && e.target.id === "search" && e.target.value) { view.text = e.target.value = ""; drawRows(); } else if (typing) e.target.blur(); else shut();
    return;
  }
  if (typing) return;
  const keys = { "/": () => { $("search").focus(); $("search").select(); }, j: () => neighbour(1), k: () => neighbour(-1), t: theme, "?": () => $("help").showModal() };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});
let resized = 0;
addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(() => { drawGraph(); drawTimeline(); drawMoney(); mark(); }, 120); });

function follow() {
  const m = /^#task=(.*)$/.exec(location.hash);
  if (!m) return;
  let id = m[1];
  try { id = decodeURIComponent(id); } catch { /* as it is */ }
  const i = run.tasks.findIndex((t) => t.id === id);
  if (i >= 0) open(i, true);
}
addEventListener("hashchange", follow);

// News: the server sends the whole of it when something happened.
function listen() {
  const news = new EventSource("events"), pulse = $("pulse");
  const say = (on, words) => { pulse.className = on ? "on" : "off"; pulse.textContent = words; };
  const ended = () => !["running", "cut off"].includes(run.status);
  news.addEventListener("open", () => say(true, ended() ? "ended" : "live"));
  news.addEventListener("error", () => say(false, "not connected"));
  news.addEventListener("run", (e) => {
    const tasks = run.tasks.length, next = JSON.parse(e.data);
    run = next;
    say(!ended(), ended() ? "ended" : "live");
    draw();
    if (tasks !== run.tasks.length) { shut(); drawTasks(); return; }
    refreshTasks();
    if (selected >= 0) open(selected, true);
  });
  news.addEventListener("bye", () => { news.close(); say(false, "the server has ended"); });
}

// The table anew, without a change to what the user types or chooses.
function refreshTasks() {
  const active = document.activeElement;
  if (active && active.closest && active.closest("#tasks .bar")) drawRows(); else drawTasks();
}

draw();
drawTasks();
follow();
if (run.live) listen();
document.documentElement.dataset.ready = "yes";
