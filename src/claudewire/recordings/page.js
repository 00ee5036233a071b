"use strict";
(() => {
  const recording = JSON.parse(document.getElementById("recording").textContent);
  const { steps, exchanges } = recording;
  const MOST = 400; // lines and bars that are on the page at a time: browsers are slow with many more

  // Recorded texts are only shown: as text, with escapes for invisible characters.
  const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}]/gu;
  const escaped = (it) => {
    if (it === "\n" || it === "\t") return it;
    const code = it.codePointAt(0);
    if (code < 256) return "\\x" + code.toString(16).padStart(2, "0");
    return code < 65536 ? "\\u" + code.toString(16).padStart(4, "0") : "\\U" + code.toString(16).padStart(8, "0");
  };
  const shown = (text) => String(text).replace(HIDDEN, escaped);

  const make = (tag, className, ...inside) => {
    const element = document.createElement(tag);
    if (className) element.className = className;
    for (const it of inside) if (it !== null && it !== undefined) element.append(it instanceof Node ? it : shown(it));
    return element;
  };
  // Isolated, so that a text that is written from right to left moves nothing around it.
  const quoted = (text) => make("bdi", "", text);

  const duration = (seconds) => {
    if (seconds === null || seconds === undefined) return "never";
    if (seconds < 0.0995) return (seconds * 1000).toFixed(seconds < 0.00995 ? 1 : 0) + " ms";
    if (seconds < 60) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
    return Math.floor(seconds / 60) + " min " + Math.round(seconds % 60) + " s";
  };
  const SIDES = { ">": "application", "<": "CLI" };

  // --- the top -----------------------------------------------------------------------------------

  const header = make("header", "", make("h1", "", quoted(recording.title)));
  const count = (number, one, many) => number + " " + (number === 1 ? one : many);
  const turns = exchanges.filter((it) => it.kind === "turn").length;
  const findings = steps.reduce((sum, step) => sum + step.findings.length, 0);
  const facts = [
    recording.header.cli_version ? "CLI " + recording.header.cli_version : null,
    count(steps.length, "line", "lines"), count(turns, "turn", "turns"), duration(recording.seconds),
    findings ? count(findings, "finding", "findings") : "nothing found by the linter",
    recording.header.redacted ? "secrets removed" : null,
  ];
  header.append(make("p", "facts", quoted(facts.filter(Boolean).join(" · "))));
  if (Array.isArray(recording.header.argv)) header.append(make("p", "facts mono", quoted(recording.header.argv.join(" "))));

  const main = make("main", "");
  document.body.append(header, main);

  // --- where the time went -----------------------------------------------------------------------

  const reveal = (index) => {
    let place = passing.indexOf(index);
    if (place < 0) {
      place = passing.findIndex((it) => it > index);
      if (place < 0) place = passing.length;
      passing.splice(place, 0, index);
    }
    if (place < first || place >= last || !rows.has(index) || !rows.get(index).isConnected) draw(place);
    const row = rowOf(index);
    row.querySelector("details").open = true;
    row.scrollIntoView({ block: "center" });
    for (const other of document.querySelectorAll(".linked")) other.classList.remove("linked");
    row.classList.add("linked");
    row.querySelector("summary").focus({ preventScroll: true });
  };

  const whole = Math.max(recording.seconds, 1e-9);
  const start = steps.length ? steps[0].t : 0;
  const percent = (seconds) => Math.min(100, Math.max(0, (100 * seconds) / whole)) + "%";
  if (exchanges.length) {
    const bars = make("div", "bars");
    const longest = [...exchanges].sort((one, other) => (other.seconds ?? whole) - (one.seconds ?? whole)).slice(0, MOST);
    for (const it of longest.sort((one, other) => one.start - other.start)) {
      const fill = make("span", "fill" + (it.by === "<" ? " by-cli" : "") + (it.end === null ? " open" : ""));
      fill.style.left = percent(steps[it.start].t - start);
      fill.style.width = percent(it.end === null ? whole : it.seconds);
      const bar = make("button", "bar", quoted(it.kind === "turn" ? "turn" : it.kind + " " + it.name), make("span", "track", fill), make("span", "num", duration(it.seconds)));
      bar.type = "button";
      bar.addEventListener("click", () => reveal(it.start));
      bars.append(bar);
    }
    const left = exchanges.length - longest.length;
    main.append(make("h2", "", "Where the time went" + (left ? " (without the " + left + " shortest)" : "")), bars);

    const table = make("table", "");
    const head = make("tr", "");
    for (const it of ["", "name", "begun by", "times", "median", "longest", "unanswered"]) head.append(make("th", "", it));
    table.append(make("thead", "", head));
    const body = make("tbody", "");
    for (const it of recording.latencies) {
      const cells = [it.kind, quoted(it.name), SIDES[it.by], it.count, duration(it.median), duration(it.longest), it.unanswered || ""];
      body.append(make("tr", "", ...cells.map((cell, place) => make("td", place > 2 ? "num" : "", cell))));
    }
    table.append(body);
    main.append(make("h2", "", "Latencies"), make("div", "latencies", table));
  }

  // --- filters -----------------------------------------------------------------------------------

  const off = new Set();
  let wanted = "";
  let onlyFound = false;
  const tools = make("div", "tools");
  const search = make("input", "");
  search.type = "search";
  search.placeholder = "Filter by text (press /)";
  search.setAttribute("aria-label", "Filter by text");
  search.addEventListener("input", () => { wanted = search.value.toLowerCase(); filter(); });
  tools.append(search);

  const chip = (label, isOn, change, className) => {
    const button = make("button", "chip" + (className || ""), label);
    button.type = "button";
    button.setAttribute("aria-pressed", String(isOn));
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(on));
      change(on);
      filter();
    });
    tools.append(button);
  };
  const keysOf = (step) => {
    if (step.dir === null || step.kind === "end") return ["ends"];
    if (step.dir === "!") return ["stderr"];
    const streamed = step.name.startsWith("stream_event");
    return [step.dir === ">" ? "to the CLI" : "from the CLI", streamed ? "streaming" : step.kind === "message" ? "messages" : step.kind === "bad line" ? "bad lines" : "requests and answers"];
  };
  const keys = steps.map(keysOf);
  const counts = new Map();
  for (const it of ["to the CLI", "from the CLI", "messages", "requests and answers", "streaming", "stderr", "bad lines", "ends"]) counts.set(it, 0);
  for (const list of keys) for (const key of list) counts.set(key, counts.get(key) + 1);
  for (const [key, number] of counts) {
    if (number) chip(key + " " + number, true, (on) => { if (on) off.delete(key); else off.add(key); });
  }
  if (findings) chip("only with findings", false, (on) => { onlyFound = on; }, " only");
  const counter = make("span", "count");
  counter.setAttribute("role", "status");
  tools.append(counter);

  // --- the diagram -------------------------------------------------------------------------------

  const begun = new Map();
  const ended = new Map();
  const put = (map, index, it) => { if (!map.has(index)) map.set(index, []); map.get(index).push(it); };
  for (const it of exchanges) {
    put(begun, it.start, it);
    if (it.end !== null) put(ended, it.end, it);
  }

  const classOf = (step) => {
    const way = step.dir === ">" ? "to" : step.dir === "<" ? "from" : step.dir === "!" ? "stderr" : "aside";
    const kind = step.kind === "bad line" ? "bad" : step.kind;
    return "lane " + (step.kind === "end" || step.kind === "exit" ? "aside" : way + " " + kind);
  };
  const title = (step) => (["answer", "failure"].includes(step.kind) ? step.kind + " " : "") + step.name;

  const row = (step, index) => {
    const took = make("span", "took");
    const ends = ended.get(index) || [];
    if (ends.length) took.append(duration(Math.max(...ends.map((it) => it.seconds))));
    if (step.findings.length) took.append(make("span", "found", " ⚑" + step.findings.length));
    const words = make("span", "words", make("span", "name", quoted(title(step))), make("span", "says", quoted(step.summary)));
    const summary = make("summary", "", make("span", "t", (step.t - start).toFixed(3)), make("span", classOf(step), words), took);
    const details = make("details", "", summary);
    details.addEventListener("toggle", () => {
      if (details.open && !details.querySelector(".inside")) details.append(inside(step, index));
    });
    return make("li", "", details);
  };

  const link = (label, index) => {
    const button = make("button", "", label);
    button.type = "button";
    button.addEventListener("click", () => reveal(index));
    return button;
  };
  const inside = (step, index) => {
    const box = make("div", "inside");
    box.append(make("p", "", "Line " + step.number + (step.line === null ? "" : ", " + step.length + " characters") + (step.id ? ", request " + step.id : "")));
    for (const it of step.findings) box.append(make("p", "found", quoted(it.severity + ": " + it.message + " [" + it.code + "] " + it.advice)));
    const links = make("p", "");
    for (const it of begun.get(index) || []) {
      if (it.end === null) links.append(make("span", "found", it.kind + " " + it.name + " never ended "));
      else links.append(link("ended by line " + steps[it.end].number + " after " + duration(it.seconds), it.end));
    }
    for (const it of ended.get(index) || []) links.append(link("begun by line " + steps[it.start].number + ", " + duration(it.seconds) + " before", it.start));
    if (links.childNodes.length) box.append(links);
    if (step.line !== null) box.append(...content(step));
    return box;
  };
  const content = (step) => {
    const cut = step.length > step.line.length;
    let pretty = null;
    try { pretty = cut ? null : JSON.stringify(JSON.parse(step.line), null, 2); } catch { pretty = null; }
    const raw = step.line + (cut ? "… (the rest is in the file)" : "");
    const pre = make("pre", "", pretty === null ? raw : pretty);
    if (pretty === null) return [pre];
    const button = make("button", "", "Show the line as it is");
    button.type = "button";
    let isRaw = false;
    button.addEventListener("click", () => {
      isRaw = !isRaw;
      pre.replaceChildren(shown(isRaw ? raw : pretty));
      button.replaceChildren(isRaw ? "Show it formatted" : "Show the line as it is");
    });
    return [button, pre];
  };

  // Of the lines that pass the filters, those from `first` to `last` are on the page.
  const rows = new Map();
  let passing = [];
  let first = 0;
  let last = 0;
  const rowOf = (index) => {
    if (!rows.has(index)) rows.set(index, row(steps[index], index));
    return rows.get(index);
  };
  const list = make("ol", "");
  list.id = "steps";
  const step = (label, act) => {
    const button = make("button", "more", label);
    button.type = "button";
    button.addEventListener("click", act);
    return button;
  };
  const earlier = step("Show earlier lines", () => {
    const from = Math.max(0, first - MOST);
    list.prepend(...passing.slice(from, first).map(rowOf));
    first = from;
    mark();
  });
  const later = step("Show more lines", () => {
    const to = Math.min(passing.length, last + MOST);
    list.append(...passing.slice(last, to).map(rowOf));
    last = to;
    mark();
  });
  const mark = () => {
    earlier.hidden = first === 0;
    later.hidden = last === passing.length;
  };
  const draw = (place) => {
    first = Math.max(0, place - MOST / 2);
    last = Math.min(passing.length, first + MOST);
    list.replaceChildren(...passing.slice(first, last).map(rowOf));
    mark();
  };
  new IntersectionObserver((seen) => { if (seen.some((it) => it.isIntersecting)) later.click(); }).observe(later);

  const nothing = make("p", "none", "No line passes the filters.");
  const both = make("span", "", make("span", "", "application"), make("span", "", "CLI"));
  const head = make("div", "ends", make("span", "t", "seconds"), both, make("span", "took", "took"));
  main.append(tools, head, earlier, list, later, nothing);

  const texts = steps.map((it) => (title(it) + " " + it.summary + " " + (it.line || "")).toLowerCase());
  const passes = (index) => !keys[index].some((key) => off.has(key)) && (!onlyFound || steps[index].findings.length > 0) && (!wanted || texts[index].includes(wanted));
  const filter = () => {
    passing = [...steps.keys()].filter(passes);
    draw(0);
    nothing.hidden = passing.length > 0;
    counter.replaceChildren(passing.length === steps.length ? count(steps.length, "line", "lines") : passing.length + " of " + count(steps.length, "line", "lines"));
  };
  filter();

  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== search) { event.preventDefault(); search.focus(); }
    if (event.key === "Escape" && document.activeElement === search) { search.value = ""; wanted = ""; filter(); search.blur(); }
  });
})();
