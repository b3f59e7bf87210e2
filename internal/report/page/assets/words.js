// Figures and words for people, as wavex writes them elsewhere.
function took(ms) {
  if (ms <= 0) return "0s";
  if (ms < 950) return Math.round(ms / 100) * 100 + "ms";
  if (ms < 9950) return (ms / 1000).toFixed(1).replace(".0", "") + "s";
  let sec = Math.round(ms / 1000);
  if (sec < 60) return sec + "s";
  if (sec < 3600) return Math.floor(sec / 60) + "m" + String(sec % 60).padStart(2, "0") + "s";
  const min = Math.round(sec / 60);
  return Math.floor(min / 60) + "h" + String(min % 60).padStart(2, "0") + "m";
}
function money(micro) {
  if (!micro) return "$0.00";
  return "$" + (micro / 1e6).toFixed(micro < 10000 ? 4 : 2);
}
const limitOf = (micro) => "$" + String(+(micro / 1e6).toFixed(4));
// Money beside its limit (null: none): it is not rounded to the limit.
const spentOf = (micro, limit) => micro && limit !== null && micro !== limit && Math.round(micro / 1e4) === Math.round(limit / 1e4) ? "$" + (micro / 1e6).toFixed(4) : money(micro);
const total = (tokens) => Object.values(tokens || {}).reduce((a, b) => a + b, 0);
function count(n) {
  if (n < 1000) return String(n);
  if (n < 999950) return (n / 1e3).toFixed(1).replace(".0", "") + "k";
  return (n / 1e6).toFixed(1).replace(".0", "") + "M";
}
const plural = (n, one, many) => n + " " + (n === 1 ? one : many || one + "s");
const two = (n) => String(n).padStart(2, "0");
// Times are those of the reader's zone, which is named: "UTC", "UTC+02:00".
function zone(ms) {
  const east = -new Date(ms).getTimezoneOffset(), n = Math.abs(east);
  return east ? `UTC${east < 0 ? "-" : "+"}${two(Math.floor(n / 60))}:${two(n % 60)}` : "UTC";
}
const clock = (ms) => ((d) => [d.getHours(), d.getMinutes(), d.getSeconds()].map(two).join(":"))(new Date(ms));
const date = (ms) => ((d) => [d.getFullYear(), two(d.getMonth() + 1), two(d.getDate())].join("-"))(new Date(ms));
const local = (ms) => `${date(ms)} ${clock(ms)} ${zone(ms)}`;

// Statuses in the order in which they are shown: word, sign.
const statuses = {
  completed: ["completed", "✓"], verified: ["verified", "✓"], in_progress: ["running", "▶"], advising: ["counsel", "◆"],
  failed: ["failed", "✕"], blocked: ["blocked", "⊘"], pending: ["pending", "○"],
};
const verdicts = {
  complete: ["Complete", "✓"], failed: ["Failed", "✕"], paused: ["Paused", "❚❚"], blocked: ["Needs a person", "!"], limited: ["Waiting for a limit", "◔"],
  interrupted: ["Interrupted", "■"], running: ["Running", "▶"], "cut off": ["Cut off", "■"],
};
const cls = (status) => "st-" + String(status).replace(/ /g, "-");
const sign = (text) => h("span", { class: "glyph", "aria-hidden": "true" }, text);
const badge = (status) => {
  const [word, mark] = statuses[status] || [status, "·"];
  return h("span", { class: "badge " + cls(status) }, sign(mark), word);
};
const outcomes = (o) => h("span", { class: "badge " + cls(o) }, sign(o === "done" ? "✓" : o ? "✕" : "▶"), o || "running");
