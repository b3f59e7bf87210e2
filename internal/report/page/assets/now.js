// The running attempts with the end of their logs, the questions about tool calls, and the buttons that end the run.
// Nodes stay while their data stay, so that news take no focus away.
const asked = new Map(), doing = new Map();

async function act(path, words) {
  $("told").textContent = words;
  try {
    const r = await fetch(path, { method: "POST" });
    $("told").textContent = await r.text();
  } catch { $("told").textContent = "The server does not answer."; }
}

const runningTasks = () => run.live && run.status === "running" ? run.tasks.filter((t) => t.now && !t.now.counsel) : [];

// Stop interrupts work, so it asks first. The focus is on the answer that changes nothing.
function askStop() {
  const n = runningTasks().length, dialog = $("stop");
  const words = n === 1 ? "1 running attempt is interrupted. It counts" : n ? `${n} running attempts are interrupted. They count` : "";
  const button = (word, f, more) => h("button", { type: "button", class: "small", ...more, on: { click: () => { dialog.close(); f(); } } }, word);
  fill(dialog, { "aria-labelledby": "stop-title", "aria-describedby": "stop-text" }, []);
  dialog.replaceChildren(h("h2", { id: "stop-title" }, "Stop the run?"),
    h("p", { id: "stop-text" }, words ? words + " as no failure, and wavex resume goes on." : "No attempt is running. wavex resume goes on."),
    h("p", { class: "chips" }, button("Keep running", () => {}, { autofocus: true }), button("Stop the run", () => act("stop", "Asking …"))));
  dialog.showModal();
}

function makeNow() {
  const button = (word, path, title, click) => h("button", { type: "button", class: "small", id: path + "-button", title, on: { click } }, word);
  $("now").replaceChildren(heading("now", "Now", "",
    button("Drain", "drain", "Start nothing more; running attempts may finish", () => act("drain", "Asking …")),
    button("Stop", "stop", "Interrupt the running attempts", askStop)),
    h("p", { id: "told", class: "muted", role: "status" }), h("div", { id: "asked", role: "region", "aria-label": "Questions" }), h("div", { id: "doing" }));
}

function askedNode(q) {
  const choices = [["once", "Allow once"], ["run", "Allow in this run"], ["always", "Allow always"], ["no", "Deny"]];
  return h("article", { class: "failure st-paused", "aria-labelledby": "ask-" + q.id },
    h("h3", { id: "ask-" + q.id }, `Task ${q.task} asks for a call of ${q.tool}`), h("pre", { class: "wrap", tabindex: 0 }, q.target),
    h("p", { class: "muted" }, `The policy asks about ${q.pattern} until ${clock(q.until)}.`),
    h("p", { class: "chips" }, choices.map(([c, word]) => h("button", { type: "button", class: "small", "data-choice": c, on: { click: () => act(`answer/${q.id}/${c}`, "Answering …") } }, word))));
}

// keep keeps the nodes of items that are still there, adds new ones at the end, and removes the others.
function keep(nodes, parent, items, key, make) {
  const keys = new Set(items.map(key));
  for (const [k, n] of nodes) if (!keys.has(k)) { n.remove(); nodes.delete(k); }
  for (const x of items) if (!nodes.has(key(x))) { const n = make(x); nodes.set(key(x), n); parent.append(n); }
}

function drawNow() {
  const going = run.live && run.status === "running", now = runningTasks();
  $("now").hidden = $("nav-now").hidden = !going;
  if (!$("told")) makeNow();
  if (!going) $("stop").close();
  for (const b of ["drain", "stop"]) $(b + "-button").hidden = !run.controls;
  keep(asked, $("asked"), going && run.controls ? run.questions || [] : [], (q) => q.id, askedNode);
  const name = (t) => t.id + " " + t.now.n;
  keep(doing, $("doing"), now, name, (t) => h("details", { class: "alt", open: true }, h("summary", {}, h("span", { class: "mono" }, t.id), " ", t.subject || "", h("span", { class: "muted" })), h("pre", { class: "wrap", tabindex: 0 })));
  for (const t of now) {
    const node = doing.get(name(t));
    node.querySelector("summary .muted").textContent = t.now.worker ? " on " + t.now.worker : "";
    node.querySelector("pre").textContent = t.now.log || (t.now.worker && t.now.last) || "no output yet";
  }
}
