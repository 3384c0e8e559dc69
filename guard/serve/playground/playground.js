// The playground: reads the server's own events, shows sentences as they are judged, and asks nobody else.
"use strict";

const $ = (id) => document.getElementById(id);
const state = {
  sentences: [], rest: "", selected: -1, threshold: 0.5, running: null, points: [], writing: false, examples: [],
};
const WORDS = {
  supported: "Supported", known: "Known to the app", unsupported: "Refused", no_claim: "Nothing to check",
  no_source: "No source", error: "Could not be checked", timeout: "Not judged in time",
};

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// What a score is compared with: the slider, or the second scorer's own threshold where that was asked.
const thresholdOf = (sentence) => (sentence.first_score === null ? state.threshold : sentence.threshold);

// A verdict at that threshold: only scores are judged anew.
function verdictOf(sentence) {
  const scored = sentence.score !== null && ["supported", "unsupported"].includes(sentence.verdict);
  return scored ? (sentence.score >= thresholdOf(sentence) ? "supported" : "unsupported") : sentence.verdict;
}
const lookOf = (verdict) => (["supported", "known", "unsupported", "no_claim"].includes(verdict) ? verdict : "unchecked");
const isReleased = (sentence) => ["supported", "known", "no_claim"].includes(verdictOf(sentence));

// The exchanged detail, if the server corrects and the corrected sentence reaches the threshold.
const correctionOf = (sentence) => {
  const change = isReleased(sentence) ? null : sentence.corrected;
  return change && change.score >= thresholdOf(sentence) ? change : null;
};

// ---------------------------------------------------------------- showing

// The text with its wrong marks, quotations and speakers struck out, and what stands in their place.
function drawn(sentence) {
  const points = Array.from(sentence.text.trimEnd()), parts = []; // offsets count code points
  const wrong = [
    ...sentence.marks.filter((mark) => mark.elsewhere),
    ...sentence.findings.filter((finding) => ["quotation", "speaker"].includes(finding.kind)).map((finding) => ({ ...finding, now: finding.given?.text })),
  ].sort((a, b) => a.start - b.start);
  let at = 0;
  for (const { start, end, now } of wrong) {
    if (start < at) continue;
    parts.push(points.slice(at, start).join(""), make("del", { className: "slip", textContent: points.slice(start, end).join("") }));
    if (now) parts.push(make("ins", { className: "swap", textContent: now }));
    at = end;
  }
  return [...parts, points.slice(at).join("")];
}

function drawSentences() {
  const box = $("sentences");
  box.replaceChildren();
  box.classList.toggle("reading", $("reader").checked);
  state.sentences.forEach((sentence, index) => {
    const verdict = verdictOf(sentence), look = lookOf(verdict);
    const text = sentence.text.trimEnd(), gap = sentence.text.slice(text.length);
    const span = make("span", { className: `s ${look}`, tabIndex: 0 }, ...drawn(sentence));
    span.setAttribute("role", "button");
    span.setAttribute("aria-pressed", String(index === state.selected));
    span.setAttribute("aria-label", `${WORDS[verdict]}: ${text}`);
    span.dataset.index = index;
    box.append(span);
    const change = correctionOf(sentence);
    if (change) box.append(make("ins", { className: "corrected", textContent: ` ${sentence.replacement.trimEnd()}` }));
    else if (!isReleased(sentence)) box.append(make("span", { className: `why ${look === "unchecked" ? "odd" : ""}`, textContent: shortReason(sentence, verdict) }));
    box.append(make("span", { className: isReleased(sentence) || change ? "" : "gone", textContent: gap || " " }));
  });
  if (state.rest) box.append(make("span", { className: "rest", textContent: state.rest }));
  if (state.writing) box.append(make("span", { className: "caret" }));
  if (!state.writing && $("reader").checked && !state.sentences.some((each) => isReleased(each) || correctionOf(each))) {
    box.append(make("span", { className: "nothing", textContent: "Nothing is released." }));
  }
  const released = state.sentences.filter(isReleased).length;
  $("tally").textContent = state.sentences.length ? `${released} of ${state.sentences.length} released` : "";
}

function shortReason(sentence, verdict) {
  if (verdict === "unsupported") return sentence.score === null ? "refused" : `scores ${sentence.score.toFixed(2)}`;
  return WORDS[verdict].toLowerCase();
}

function drawSource() {
  const view = $("source-view"), places = new Map();
  state.sentences.forEach((sentence, index) => {
    const cited = verdictOf(sentence) === "supported" ? sentence.citations : [];
    for (const place of cited) places.set(`${place.start}-${place.end}`, { ...place, look: "" });
    if (index === state.selected) {
      for (const place of sentence.conflict ? [] : sentence.citations) places.set(`${place.start}-${place.end}`, { ...place, look: verdictOf(sentence) === "supported" ? "now" : "against" });
      if (sentence.conflict) places.set(`${sentence.conflict.start}-${sentence.conflict.end}`, { ...sentence.conflict, look: "against" });
    }
  });
  const ordered = [...places.values()].sort((a, b) => a.start - b.start || b.end - a.end);
  view.replaceChildren();
  let at = 0, target = null;
  for (const place of ordered) {
    if (place.start < at) continue; // a place inside another is marked with it
    view.append(slice(at, place.start));
    const mark = make("mark", { className: place.look, textContent: slice(place.start, place.end) });
    view.append(mark);
    if (place.look && !target) target = mark;
    at = place.end;
  }
  view.append(slice(at, state.points.length));
  return target;
}

// Offsets count code points, which JavaScript's own strings do not.
const slice = (start, end) => state.points.slice(start, end).join("");

function drawCard() {
  const card = $("card"), sentence = state.sentences[state.selected];
  card.hidden = !sentence;
  $("legend").hidden = false;
  if (!sentence) return;
  const verdict = verdictOf(sentence);
  card.className = `card ${lookOf(verdict)}`;
  const head = make("p", { className: "head" }, make("b", { textContent: WORDS[verdict] }));
  card.replaceChildren(head);
  if (sentence.score !== null) {
    const threshold = thresholdOf(sentence);
    head.append(make("span", { textContent: `score ${sentence.score.toFixed(2)}, threshold ${threshold.toFixed(2)}` }));
    const bar = make("i"), mark = make("u");
    bar.style.width = `${100 * Math.min(1, Math.max(0, sentence.score))}%`;
    mark.style.left = `${100 * threshold}%`;
    card.append(make("div", { className: "meter", ariaHidden: "true" }, bar, mark));
  }
  if (verdict === sentence.verdict && sentence.reason && sentence.score === null) head.append(make("span", { textContent: sentence.reason }));
  const otherwise = verdict === "supported" ? null : sentence.conflict;
  if (sentence.citations.length && !otherwise) {
    card.append(make("h3", { textContent: verdict === "supported" ? "The source says" : "The nearest that the source says" }));
    for (const citation of sentence.citations) card.append(make("blockquote", { textContent: citation.text }));
  }
  if (otherwise) card.append(make("h3", { textContent: "The source says otherwise" }), make("blockquote", { textContent: otherwise.text }));
  const change = correctionOf(sentence);
  if (change) {
    card.append(make("h3", { textContent: "Corrected" }), make("blockquote", {}, make("del", { textContent: change.was }), " ", make("ins", { textContent: change.now })));
  }
  const earlier = sentence.attempts.slice(0, -1);
  if (earlier.length) {
    card.append(make("h3", { textContent: "Refused before it" }));
    for (const attempt of earlier) card.append(make("blockquote", {}, make("del", { textContent: attempt.text.trim() })));
  }
}

function draw() {
  const focused = document.activeElement?.dataset?.index;
  drawSentences();
  drawSource();
  drawCard();
  if (focused !== undefined) $("sentences").querySelector(`[data-index="${focused}"]`)?.focus({ preventScroll: true });
}

function select(index, focus = true) {
  if (index < 0 || index >= state.sentences.length) return;
  state.selected = index;
  draw();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  $("source-view").querySelector("mark.now, mark.against")?.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  if (!focus) return;
  const chosen = $("sentences").querySelector(`[data-index="${index}"]`);
  chosen?.focus({ preventScroll: true });
  chosen?.scrollIntoView({ block: "nearest", behavior: calm ? "auto" : "smooth" });
}

function showSource(viewing) {
  $("source").hidden = viewing;
  $("source-view").hidden = !viewing;
  $("edit-source").hidden = !viewing;
  $("source-pane").classList.toggle("viewing", viewing);
}

function say(text, failed = false) {
  $("status").textContent = text;
  $("status").classList.toggle("failed", failed);
}

// ---------------------------------------------------------------- asking the server

function headers() {
  const given = { "content-type": "application/json", "x-groundrail-details": "full" };
  if ($("key").value) given["x-api-key"] = $("key").value;
  return given;
}

async function* eventsOf(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (held + value).split("\n");
    held = lines.pop();
    for (const line of lines) if (line.startsWith("data: {")) yield JSON.parse(line.slice(6));
  }
}

async function run(path, body, onEvent, rest) {
  state.running?.abort();
  const running = (state.running = new AbortController());
  Object.assign(state, { sentences: [], rest, selected: -1, writing: true, points: Array.from($("source").value) });
  showSource(true);
  $("result").hidden = false;
  $("stop").hidden = false;
  say(rest ? "Checking …" : "Writing and checking …");
  draw();
  const started = performance.now();
  try {
    const response = await fetch(path, { method: "POST", headers: headers(), body: JSON.stringify(body), signal: running.signal });
    if (response.status === 401) $("key-line").hidden = false;
    if (!response.ok) throw new Error((await response.json()).error.message);
    for await (const event of eventsOf(response)) {
      if (event.error) throw new Error(event.error.message);
      onEvent(event);
      draw();
    }
    say(`${state.sentences.length} ${state.sentences.length === 1 ? "sentence" : "sentences"} in ${((performance.now() - started) / 1000).toFixed(1)} seconds`);
  } catch (error) {
    if (state.running !== running) return;
    if (running.signal.aborted) say("Stopped");
    else say(error.message || "The server cannot be reached", true);
  }
  if (state.running !== running) return;
  Object.assign(state, { running: null, writing: false });
  $("stop").hidden = true;
  draw();
  if (state.selected < 0) select(telling(), false);
}

// The sentence to look at first: a refused one, else a supported one.
function telling() {
  const verdicts = state.sentences.map(verdictOf);
  return verdicts.includes("unsupported") ? verdicts.indexOf("unsupported") : verdicts.indexOf("supported");
}

function check() {
  const answer = $("answer").value;
  if (!answer.trim() || !$("source").value.trim()) return $(answer.trim() ? "source" : "answer").focus();
  const points = Array.from(answer);
  $("check-form").hidden = true;
  $("edit-answer").hidden = false;
  return run("v1/check", { answer, source: $("source").value, stream: true }, (event) => {
    if (event.sentence) {
      state.sentences.push(event.sentence);
      state.rest = points.slice(event.sentence.end).join("");
    } else if (event.result) state.rest = "";
  }, answer);
}

function ask() {
  const question = $("question").value;
  if (!question.trim()) return $("question").focus();
  const body = {
    model: $("model").value, stream: true, documents: [$("source").value],
    messages: [{ role: "user", content: question }],
  };
  return run("v1/chat/completions", body, (event) => {
    if (event.groundrail?.sentence) state.sentences.push(event.groundrail.sentence);
  }, "");
}

// ---------------------------------------------------------------- the page's own affairs

function choose(tab) {
  for (const name of ["check", "ask"]) {
    const chosen = name === tab;
    $(`tab-${name}`).setAttribute("aria-selected", String(chosen));
    $(`tab-${name}`).tabIndex = chosen ? 0 : -1;
    $(`${name}-form`).hidden = !chosen;
  }
  state.running?.abort();
  $("result").hidden = true;
  $("edit-answer").hidden = true;
}

function load(example) {
  choose($("tab-ask").getAttribute("aria-selected") === "true" ? "ask" : "check");
  showSource(false);
  $("source").value = example.source;
  $("answer").value = example.answer;
  $("question").value = "";
  $("source").scrollTop = 0;
  $("questions").replaceChildren(...example.questions.map((question) => make("button", {
    type: "button", textContent: question, onclick: () => { $("question").value = question; ask(); },
  })));
  for (const button of $("examples").children) button.setAttribute("aria-pressed", String(button.textContent === example.title));
}

async function start() {
  try {
    const stored = localStorage.getItem("groundrail-theme");
    if (stored) document.documentElement.dataset.theme = stored;
  } catch { /* a browser that keeps nothing shows the system's theme */ }
  const [health, examples] = await Promise.all([fetch("healthz"), fetch("examples.json")]);
  setThreshold((await health.json()).threshold);
  state.examples = await examples.json();
  $("examples").append(...state.examples.map((example) => make("button", {
    type: "button", className: "quiet", textContent: example.title,
    onclick: () => { load(example); if ($("tab-check").getAttribute("aria-selected") === "true") check(); },
  })));
  await models();
  if (state.examples.length) {
    load(state.examples[0]);
    if (location.hash === "#ask") choose("ask");
    else if (location.hash !== "#empty") check();
  }
}

async function models() {
  const response = await fetch("v1/models", { headers: headers() });
  if (response.status === 401) $("key-line").hidden = false;
  const known = response.ok ? (await response.json()).data ?? [] : [];
  $("model").replaceChildren(...known.map((model) => make("option", { value: model.id, textContent: model.id })));
  $("no-writer").hidden = known.length > 0 || response.status === 401;
  $("model-line").hidden = known.length === 0;
  for (const part of [$("question"), $("ask-form").querySelector(".go")]) part.disabled = known.length === 0;
  $("questions").hidden = known.length === 0;
}

function setThreshold(value) {
  state.threshold = value;
  $("threshold").value = value;
  $("threshold-value").textContent = value.toFixed(2);
}

$("check-form").addEventListener("submit", (event) => { event.preventDefault(); check(); });
$("ask-form").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
$("stop").addEventListener("click", () => state.running?.abort());
$("edit-source").addEventListener("click", () => { showSource(false); $("source").focus(); });
$("edit-answer").addEventListener("click", () => { choose("check"); $("answer").focus(); });
$("key-line").addEventListener("submit", (event) => { event.preventDefault(); models(); });
$("key").addEventListener("change", models);
$("threshold").addEventListener("input", () => { setThreshold(Number($("threshold").value)); draw(); });
$("reader").addEventListener("change", draw);
for (const name of ["check", "ask"]) $(`tab-${name}`).addEventListener("click", () => choose(name));
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  const other = $("tab-check").tabIndex === 0 ? "ask" : "check";
  choose(other);
  $(`tab-${other}`).focus();
});
$("sentences").addEventListener("click", (event) => {
  const index = event.target.closest("[data-index]")?.dataset.index;
  if (index !== undefined) select(Number(index));
});
$("theme").addEventListener("click", () => {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try { localStorage.setItem("groundrail-theme", root.dataset.theme); } catch { /* it lasts until the page is left */ }
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    return $("ask-form").hidden ? check() : ask();
  }
  if (event.key === "Escape") { state.selected = -1; return $("result").hidden ? undefined : draw(); }
  if (event.target.matches("input, textarea, select, [role=tab]") || $("result").hidden) return;
  if (["Enter", " "].includes(event.key) && event.target.dataset?.index !== undefined) {
    event.preventDefault();
    return select(Number(event.target.dataset.index));
  }
  const step = { ArrowRight: 1, j: 1, ArrowLeft: -1, k: -1 }[event.key];
  if (step && state.sentences.length) {
    event.preventDefault();
    select(state.selected < 0 && step < 0 ? state.sentences.length - 1 : Math.min(state.sentences.length - 1, Math.max(0, state.selected + step)));
  }
});
start().catch(() => { $("result").hidden = false; say("The server cannot be reached", true); });
