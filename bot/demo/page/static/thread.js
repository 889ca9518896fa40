// The live thread: writes as the chosen person, follows changes, shows what the bot saw.

const { repo, number, sees } = document.body.dataset;
const base = `/_demo/${repo}/issues/${number}`;
const timeline = document.querySelector("#timeline");
const composer = document.querySelector("#composer");
const editor = document.querySelector("#editor");
const remembered = "threadsmith-demo-as";

const persona = () => composer.elements.as.value;
const role = () => composer.querySelector("input[name=as]:checked").dataset.role;
const writes = () => ["write", "maintain", "admin"].includes(role());

function tell(message) {
  const toast = document.querySelector("#toast");
  toast.textContent = message;
  toast.hidden = false;
  clearTimeout(tell.timer);
  tell.timer = setTimeout(() => (toast.hidden = true), 6000);
}

async function send(method, path, fields = {}) {
  try {
    const answer = await fetch(path, {
      method,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ as: persona(), ...fields }),
    });
    const body = await answer.json();
    if (answer.ok) return body;
    tell(body.message);
  } catch {
    tell("The demo does not answer. Is it still running?");
  }
  return null;
}

// ---- the timeline: boxes are replaced only where they changed -------------------------------------------------------

const known = new Map();

function remember(root) {
  for (const box of root.querySelectorAll(":scope > [data-key]")) known.set(box.dataset.key, box.outerHTML);
}

function ago(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const words = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
  if (seconds > -45) return "just now";
  if (seconds > -3600) return words.format(Math.round(seconds / 60), "minute");
  if (seconds > -86400) return words.format(Math.round(seconds / 3600), "hour");
  return words.format(Math.round(seconds / 86400), "day");
}

function dress() {
  for (const time of timeline.querySelectorAll("time")) {
    time.title ||= time.textContent;
    time.textContent = ago(time.dateTime);
  }
}

// those of texts that people edit here
const BOXES = "[data-text] .task-list-item-checkbox";

// commands that do something now
function suggest() {
  const now = timeline.querySelector(".head").dataset.offers.split(" ");
  for (const button of composer.querySelectorAll("[data-offer]")) button.hidden = !now.includes(button.dataset.offer);
}

// only what the chosen person may do: their own words, or everything with write access
function offer() {
  for (const box of timeline.querySelectorAll(BOXES)) {
    box.disabled = !writes() && box.closest("[data-text]").dataset.author !== persona();
  }
  for (const button of timeline.querySelectorAll("[data-least]")) {
    const own = "own" in button.dataset && button.closest("article").dataset.author === persona();
    button.hidden = !writes() && !own;
  }
}

// What is there becomes what came in, in place: focus, selection and what somebody unfolded stay where they are.
function morph(old, fresh) {
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !KEPT.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !KEPT.has(name)) old.setAttribute(name, value);
  }
  // what somebody ticked counts more for a browser than what the text says
  if (old.type === "checkbox") old.checked = fresh.hasAttribute("checked");
  weave(old, [...old.childNodes], [...fresh.childNodes]);
}

// the longest sequence of nodes of the same names stays, so that a new paragraph moves the others instead of being them
function weave(parent, olds, news) {
  const same = (i, j) => olds[i].nodeName === news[j].nodeName;
  const kept = Array.from({ length: olds.length + 1 }, () => new Array(news.length + 1).fill(0));
  for (let i = olds.length - 1; i >= 0; i--) {
    for (let j = news.length - 1; j >= 0; j--) {
      kept[i][j] = same(i, j) ? kept[i + 1][j + 1] + 1 : Math.max(kept[i + 1][j], kept[i][j + 1]);
    }
  }
  let i = 0;
  let j = 0;
  while (i < olds.length || j < news.length) {
    if (i < olds.length && j < news.length && same(i, j)) morph(olds[i++], news[j++]);
    else if (i === olds.length || (j < news.length && kept[i][j + 1] >= kept[i + 1][j])) parent.insertBefore(news[j++], olds[i] ?? null);
    else olds[i++].remove();
  }
}

// set by people and by this script, not by what is told: `offer` and `dress` see to them
const KEPT = new Set(["open", "disabled", "hidden", "tabindex"]);

function update(old, fresh) {
  const focused = old.contains(document.activeElement);
  if (old.classList.contains("fresh")) fresh.classList.add("fresh");
  morph(old, fresh);
  // what had the focus may be gone, as the boxes of a question that was answered
  if (focused && !old.contains(document.activeElement)) {
    old.tabIndex = -1;
    old.focus({ preventScroll: true });
  }
}

let asked = 0;

async function refresh() {
  const turn = ++asked;
  let answer;
  try {
    answer = await fetch(`${base}/timeline`);
  } catch {
    return;
  }
  if (answer.status === 410 || answer.status === 404) location.reload();
  if (!answer.ok) return;
  const told = await answer.text();
  // whoever asked later is told more, and may be told earlier
  if (turn !== asked) return;
  const fresh = new DOMParser().parseFromString(told, "text/html").body;
  const atEnd = innerHeight + scrollY > document.documentElement.scrollHeight - 160;
  let added = false;
  const before = new Map([...timeline.children].map((box) => [box.dataset.key, box]));
  let place = null;
  for (const box of [...fresh.children]) {
    const key = box.dataset.key;
    const old = before.get(key);
    const html = box.outerHTML;
    before.delete(key);
    const current = old ?? box;
    if (!old) {
      box.classList.add("fresh");
      added = true;
      known.set(key, html);
    } else if (known.get(key) !== html && !old.classList.contains("editing") && !ticking.has(key)) {
      update(old, box);
      known.set(key, html);
    }
    const expected = place ? place.nextElementSibling : timeline.firstElementChild;
    if (current !== expected) timeline.insertBefore(current, expected);
    place = current;
  }
  for (const [key, box] of before) {
    box.remove();
    known.delete(key);
  }
  dress();
  offer();
  suggest();
  mark();
  if (added && atEnd) scrollTo({ top: document.documentElement.scrollHeight, behavior: "smooth" });
}

// ---- following: server-sent events, polling where they fail ---------------------------------------------------------

const live = document.querySelector("#live");
let polling = null;

function state(word) {
  live.dataset.state = word;
  live.querySelector("b").textContent = word;
}

function poll(on) {
  if (on && polling === null) polling = setInterval(refresh, 2000);
  if (!on && polling !== null) {
    clearInterval(polling);
    polling = null;
  }
}

function follow() {
  if (!("EventSource" in window)) {
    state("polling");
    poll(true);
    return;
  }
  const source = new EventSource(`${base}/events`);
  source.onopen = () => {
    state("live");
    poll(false);
    refresh();
  };
  source.onmessage = ({ data }) => {
    if (JSON.parse(data).kind === "push") reloadFile();
    refresh();
  };
  source.onerror = () => {
    state("polling");
    poll(true);
  };
}

// ---- writing --------------------------------------------------------------------------------------------------------

composer.addEventListener("submit", async (event) => {
  event.preventDefault();
  const box = composer.elements.body;
  if (await send("POST", `${base}/comments`, { body: box.value })) {
    box.value = "";
    refresh();
  }
});

composer.addEventListener("change", () => {
  localStorage.setItem(remembered, persona());
  offer();
  count();
});

composer.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) composer.requestSubmit();
});

const shortcuts = [...composer.querySelectorAll("[data-insert]")];
const snippets = new Set(shortcuts.map((button) => button.dataset.insert.trim()));

// one snippet stands at the beginning: another takes its place, and what was typed behind it stays
function insert(text) {
  const box = composer.elements.body;
  const begins = (snippet) => box.value === snippet || (box.value.startsWith(snippet) && /\s/.test(box.value[snippet.length]));
  const before = [...snippets].filter(begins).sort((one, two) => two.length - one.length)[0] ?? "";
  const typed = box.value.slice(before.length).trimStart();
  const head = text.trim();
  snippets.add(head);
  box.value = typed || text !== head ? `${head} ${typed}` : head;
  box.focus();
  box.setSelectionRange(box.value.length, box.value.length);
}

for (const button of shortcuts) button.addEventListener("click", () => insert(button.dataset.insert));

function edit(box) {
  if (box.classList.contains("editing")) return;
  box.classList.add("editing");
  const form = document.createElement("form");
  form.className = "inline-edit";
  const area = document.createElement("textarea");
  area.value = box.querySelector(".source").value;
  area.rows = Math.min(16, area.value.split("\n").length + 2);
  area.setAttribute("aria-label", "Text of the comment");
  const actions = document.createElement("div");
  actions.className = "actions";
  const cancel = Object.assign(document.createElement("button"), { type: "button", textContent: "Cancel", className: "quiet" });
  const save = Object.assign(document.createElement("button"), { textContent: "Save", className: "primary" });
  actions.append(cancel, save);
  form.append(area, actions);
  const done = () => {
    form.remove();
    box.classList.remove("editing");
    refresh();
  };
  cancel.addEventListener("click", done);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await send("PATCH", `/_demo/comments/${box.dataset.key}`, { body: area.value })) done();
  });
  box.querySelector(".markdown").after(form);
  area.focus();
}

// ---- task lists: a tick is an edit of the source that this page saw -------------------------------------------------

// how many ticks are on their way, by box of the thread: until they are through, what comes in does not undo them
const ticking = new Map();
let ticks = Promise.resolve();

function tick(box) {
  const place = box.closest("[data-text]");
  const { key } = box.closest("[data-key]").dataset;
  const { checked } = box;
  const as = persona();
  ticking.set(key, (ticking.get(key) ?? 0) + 1);
  // one after the other: each is made in the text that the one before it left
  ticks = ticks.then(async () => {
    const source = place.querySelector(".source");
    const told = await send("PATCH", `${place.dataset.text}/boxes/${box.dataset.box}`, { as, ticked: checked, source: source.value });
    if (told) source.textContent = told.source;
    else box.checked = !checked;
    ticking.set(key, ticking.get(key) - 1);
    if (!ticking.get(key)) ticking.delete(key);
    // also what was left aside meanwhile, and after a refusal the text as it is now
    known.delete(key);
    await refresh();
  });
}

timeline.addEventListener("change", ({ target }) => {
  if (target.matches(BOXES)) tick(target);
});

// a link to a place on this very page goes there, not into another tab
timeline.addEventListener("click", (event) => {
  const link = event.target.closest("a[target]");
  if (!link || !link.hash || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (link.href.split("#")[0] !== location.href.split("#")[0]) return;
  event.preventDefault();
  location.hash = link.hash;
});

const ACTS = {
  pin: ["PUT", "/pin"],
  unpin: ["DELETE", "/pin"],
  hide: ["PUT", "/minimized"],
  show: ["DELETE", "/minimized"],
  delete: ["DELETE", ""],
};

timeline.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-act]");
  if (!button) return;
  const box = button.closest("article");
  const { act } = button.dataset;
  if (act === "edit") edit(box);
  else if (act === "keep") insert(button.dataset.insert);
  else if (act === "saw") showSaw(box.dataset.key);
  else {
    const [method, path] = ACTS[act];
    if (await send(method, `/_demo/comments/${box.dataset.key}${path}`)) refresh();
  }
});

// ---- the side panel -------------------------------------------------------------------------------------------------

const tabs = [...document.querySelectorAll("[role=tab]")];

function choose(id) {
  for (const tab of tabs) {
    const on = tab.id === id;
    tab.setAttribute("aria-selected", String(on));
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !on;
  }
}

for (const tab of tabs) tab.addEventListener("click", () => choose(tab.id));

let shown = null;

function mark() {
  for (const box of timeline.querySelectorAll("article")) box.classList.toggle("seen", box.dataset.key === shown);
}

async function showSaw(comment, go = true) {
  const answer = await fetch(`/_demo/comments/${comment}/saw`);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").body;
  const panel = document.querySelector("#panel-saw");
  panel.replaceChildren(...fresh.childNodes);
  panel.scrollTop = 0;
  shown = comment;
  mark();
  choose("tab-saw");
  if (go && matchMedia("(max-width: 980px)").matches) document.querySelector(".side").scrollIntoView({ behavior: "smooth" });
}

const { path, text, message } = editor.elements;
const gutter = editor.querySelector(".gutter");
const commit = editor.querySelector("button.primary");
const committer = document.querySelector("#committer");
let saved = text.value;
let open = path.value;
// unsaved text of files that are not open now
const drafts = new Map();
let reads = 0;

function count() {
  const lines = text.value.split("\n").length;
  gutter.textContent = Array.from({ length: lines }, (_, index) => index + 1).join("\n");
  commit.disabled = text.value === saved || text.readOnly || !writes();
  committer.textContent = writes()
    ? `Committed as ${persona()}, who is chosen below the thread. The next mention runs with it.`
    : `${persona()} has the role ${role()}; to commit, write is needed. Choose somebody else below the thread.`;
  for (const option of path.options) {
    const unsaved = option.value === open ? text.value !== saved && !text.readOnly : drafts.has(option.value);
    option.textContent = unsaved ? `${option.value} (unsaved)` : option.value;
  }
}

async function fileText(name) {
  try {
    const answer = await fetch(`/_demo/${repo}/file?${new URLSearchParams({ path: name })}`);
    // as a text box gives it back
    if (answer.ok) return (await answer.json()).text.replace(/\r\n?/g, "\n");
  } catch {
    // told below
  }
  tell("The file cannot be read. Is the demo still running?");
  return null;
}

async function reloadFile() {
  const name = open;
  const turn = ++reads;
  const fresh = await fileText(name);
  // never an older answer over a newer one, nor over what somebody is typing
  if (turn !== reads || fresh === null || open !== name || text.readOnly || text.value !== saved) return;
  text.value = fresh;
  saved = fresh;
  count();
}

async function openFile(name) {
  if (text.value !== saved && !text.readOnly) drafts.set(open, text.value);
  text.readOnly = true;
  open = name;
  count();
  const fresh = await fileText(name);
  if (open !== name || fresh === null) return;
  text.value = drafts.get(name) ?? fresh;
  drafts.delete(name);
  saved = fresh;
  text.readOnly = false;
  count();
}

text.addEventListener("input", count);
text.addEventListener("scroll", () => (gutter.scrollTop = text.scrollTop));
text.addEventListener("keydown", (event) => {
  if (event.key === "Tab" && !event.shiftKey) {
    event.preventDefault();
    text.setRangeText("  ", text.selectionStart, text.selectionEnd, "end");
    count();
  }
});
path.addEventListener("change", () => openFile(path.value));
editor.addEventListener("submit", async (event) => {
  event.preventDefault();
  const content = text.value;
  const name = open;
  const fields = { path: name, text: content, message: message.value };
  if (await send("PUT", `/_demo/${repo}/file`, fields)) {
    if (open === name) saved = content;
    else if (drafts.get(name) === content) drafts.delete(name);
    message.value = "";
    count();
    tell(`Committed ${name} as ${persona()}.`);
  }
});

// ---- begin ----------------------------------------------------------------------------------------------------------

const last = composer.querySelector(`input[value="${CSS.escape(localStorage.getItem(remembered) ?? "")}"]`);
if (last) last.checked = true;
remember(timeline);
dress();
offer();
count();
if (sees === "1") {
  const answers = timeline.querySelectorAll(".saw");
  if (answers.length) showSaw(answers[answers.length - 1].closest("article").dataset.key, false);
}
setInterval(dress, 30000);
follow();
