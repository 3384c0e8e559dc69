"use strict";
// Cards beside the sentences, jumps between answer and source, tabs and keys. Every text is in the page already.
(() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const byId = (id) => document.getElementById(id);
  const sentences = all(".s");
  const tabs = all("[role=tab]");
  const view = document.querySelector("#answer .view");
  const hasSource = document.body.classList.contains("with-source");
  const narrow = matchMedia("(max-width: 860px), (max-height: 479px)");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  document.documentElement.classList.add("script");

  let pinned = null; // the sentence whose card stays
  let shown = null; // the sentence whose card is open
  let timer = 0;

  const cardOf = (sentence) => byId(sentence.getAttribute("aria-describedby"));
  const barOf = (sentence) => document.querySelector(`.chart a[data-sentence="${sentence.id.slice(1)}"]`);

  function open(sentence) {
    clearTimeout(timer);
    if (shown === sentence || !hasSource) return;
    close();
    shown = sentence;
    sentence.classList.add("now");
    barOf(sentence)?.classList.add("now");
    cardOf(sentence).classList.add("open");
    place();
  }

  function close() {
    clearTimeout(timer);
    if (!shown) return;
    shown.classList.remove("now");
    barOf(shown)?.classList.remove("now");
    cardOf(shown).classList.remove("open");
    shown = null;
  }

  function place() {
    if (!shown || narrow.matches) return;
    const card = cardOf(shown);
    const boxes = [...shown.getClientRects()];
    const first = boxes[0];
    const last = boxes[boxes.length - 1];
    if (!first) return;
    const room = view.getBoundingClientRect();
    const left = Math.max(room.left + 8, Math.min(last.left, room.right - card.offsetWidth - 8));
    const below = innerHeight - last.bottom - 16;
    const above = first.top - 16;
    card.style.maxHeight = "";
    const under = card.offsetHeight <= below || below >= above;
    card.style.maxHeight = `${Math.max(120, Math.min(416, under ? below : above))}px`;
    card.style.left = `${left}px`;
    card.style.top = `${under ? last.bottom + 8 : Math.max(8, first.top - card.offsetHeight - 8)}px`;
  }

  function restore() {
    timer = setTimeout(() => (pinned ? open(pinned) : close()), 160);
  }

  function unpin() {
    pinned = null;
    close();
    for (const mark of all("mark.lit")) mark.className = mark.className.replace(/ lit\b.*/, "");
  }

  function select(tab) {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", chosen);
      other.tabIndex = chosen ? 0 : -1;
      byId(other.getAttribute("aria-controls")).hidden = !chosen;
    }
    tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 40;
  }

  // Lights up a place and brings its beginning into view; what was lit before goes out.
  function show(number, stance) {
    for (const mark of all("mark.lit")) mark.className = mark.className.replace(/ lit\b.*/, "");
    const marks = all(`mark[data-places~="${number}"]`);
    if (!marks.length) return false;
    for (const mark of marks) mark.classList.add("lit", `lit-${stance}`);
    const panel = marks[0].closest("[role=tabpanel]");
    if (panel.hidden) select(byId(panel.getAttribute("aria-labelledby")));
    const away = Math.abs(marks[0].getBoundingClientRect().top - innerHeight / 3);
    const near = away < 2 * innerHeight && !still.matches;
    marks[0].scrollIntoView({ block: "center", behavior: near ? "smooth" : "instant" });
    if (!near) settle(marks[0], panel, 10);
    return true;
  }

  // Blocks out of view have a guessed height; as they are laid out, the place moves. Bring it back until it stays.
  function settle(mark, panel, tries) {
    requestAnimationFrame(() => {
      if (!tries || !mark.classList.contains("lit")) return;
      const box = mark.getBoundingClientRect();
      const seen = panel.getBoundingClientRect();
      if (box.top < Math.max(0, seen.top) || box.bottom > Math.min(innerHeight, seen.bottom)) {
        mark.scrollIntoView({ block: "center", behavior: "instant" });
      }
      settle(mark, panel, tries - 1);
    });
  }

  function pin(sentence) {
    pinned = sentence;
    open(sentence);
    const number = sentence.dataset.places.trim().split(" ")[0];
    if (narrow.matches) {
      const box = sentence.getBoundingClientRect();
      if (box.bottom > innerHeight / 2) scrollBy({ top: box.top - 96, behavior: still.matches ? "instant" : "smooth" });
    } else if (number) show(number, sentence.dataset.stance);
  }

  function step(by, among = sentences) {
    const visible = among.filter((sentence) => sentence.getClientRects().length);
    const at = sentences.indexOf(document.activeElement?.closest?.(".s") ?? pinned);
    const next =
      by > 0
        ? visible.find((sentence) => sentences.indexOf(sentence) > at) ?? visible[0]
        : visible.findLast((sentence) => sentences.indexOf(sentence) < at) ?? visible.at(-1);
    if (!next) return;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    pin(next);
  }

  const wrong = sentences.filter((sentence) => /unsupported|no_source|error|timeout/.test(sentence.className));

  if (hasSource) {
    for (const sentence of sentences) {
      sentence.addEventListener("mouseenter", () => {
        clearTimeout(timer);
        if (!narrow.matches) timer = setTimeout(() => open(sentence), 90);
      });
      sentence.addEventListener("mouseleave", restore);
      sentence.addEventListener("focus", () => sentence.matches(":focus-visible") && open(sentence));
      sentence.addEventListener("blur", restore);
      sentence.addEventListener("click", (event) => {
        event.preventDefault();
        if (getSelection().toString()) return;
        pin(sentence);
      });
    }
    for (const card of all(".card")) {
      card.addEventListener("mouseenter", () => clearTimeout(timer));
      card.addEventListener("mouseleave", restore);
      card.addEventListener("focusin", () => clearTimeout(timer));
    }
  }
  for (const link of all(".go")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      if (show(link.dataset.place, link.dataset.stance) && narrow.matches) close();
    });
  }
  document.querySelector(".back")?.addEventListener("click", (event) => {
    if (!pinned) return;
    event.preventDefault();
    pinned.scrollIntoView({ block: "center" });
    pinned.focus({ preventScroll: true });
  });
  for (const bar of all(".chart a")) {
    bar.addEventListener("click", (event) => {
      const sentence = byId(`s${bar.dataset.sentence}`);
      if (!hasSource) return;
      event.preventDefault();
      sentence.scrollIntoView({ block: "center" });
      sentence.focus({ preventScroll: true });
      pin(sentence);
    });
  }
  byId("source")?.addEventListener("click", (event) => {
    const mark = event.target.closest("mark");
    if (!mark || getSelection().toString()) return;
    const numbers = mark.dataset.places.split(" ");
    const users = sentences.filter((s) => s.dataset.places.split(" ").some((number) => number && numbers.includes(number)));
    const sentence = users[(users.indexOf(pinned) + 1) % users.length];
    sentence.scrollIntoView({ block: "center" });
    sentence.focus({ preventScroll: true });
    pin(sentence);
  });
  for (const fold of all(".fold")) {
    fold.addEventListener("click", () => {
      const folded = fold.getAttribute("aria-expanded") === "true";
      fold.setAttribute("aria-expanded", !folded);
      byId(fold.getAttribute("aria-controls")).hidden = folded;
    });
  }
  const held = byId("held");
  if (held && document.querySelector(".s.held, .tries")) {
    held.hidden = false;
    held.addEventListener("click", () => {
      const off = document.body.classList.toggle("no-held");
      held.setAttribute("aria-pressed", !off);
      unpin();
    });
  }
  const next = byId("next");
  if (next && hasSource && wrong.length) {
    next.hidden = false;
    next.addEventListener("click", () => {
      if (document.body.classList.contains("no-held")) held.click();
      const at = pinned;
      unpin();
      at?.focus({ preventScroll: true });
      step(1, wrong);
    });
  }
  for (const tab of tabs) {
    tab.addEventListener("click", () => select(tab));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      const other = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
      select(other);
      other.focus();
      event.preventDefault();
    });
  }
  if (tabs.length) select(tabs[0]);

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("[role=tab], [role=tabpanel]")) return;
    const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && hasSource && (event.key.length === 1 || event.target.closest(".s"))) {
      event.preventDefault();
      step(by);
    } else if (event.key === "n" && hasSource) {
      step(1, wrong);
    } else if (event.key === "Escape") {
      unpin();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".s, .card, .chart a, mark, .tabs, .back, button")) unpin();
  });
  view.addEventListener("scroll", place, { passive: true });
  addEventListener("scroll", place, { passive: true });
  addEventListener("resize", place);
})();
