// One exhibit on the page: its figures, its charts and what happens when somebody points at them.

const HINT = "Point at a rectangle, click it, or press n on the layout, to see what it is and why it is kept.";

function makePanel(raw, number) {
  const exhibit = makeExhibit(raw);
  const panel = { exhibit, number, frames: {}, moment: raw.floorTick, hovered: null };
  panel.root = element("article", "panel");
  panel.root.setAttribute("aria-label", raw.name);
  const notes = element("div", "notes soft");
  raw.notes.forEach((note) => notes.append(element("p", "", note)));
  panel.root.append(element("h2", "", raw.name), element("p", "headline soft", raw.headline), figuresOf(exhibit), notes);
  panel.legend = element("ul", "legend");
  panel.root.append(element("h3", "", "Memory over time"), panel.legend);
  panel.curve = addChart(panel, "curve");
  // A recording that begins in the middle does not know who else lies there.
  const gaps = raw.reported === null ? "Unused below the highest live byte" : "Unused or unknown below the highest live byte";
  panel.root.append(element("h3", "", gaps));
  panel.gaps = addChart(panel, "gaps");
  panel.root.append(element("h3", "", "Layout: space against time"));
  panel.layout = addChart(panel, "layout");
  panel.facts = element("p", "facts soft", HINT);
  panel.facts.setAttribute("aria-live", "polite");
  panel.root.append(panel.facts);
  addLists(panel);
  panel.point = (buffer) => { panel.hovered = buffer; requestDraw(panel, "layout"); };
  panel.choose = (buffer) => chooseBuffer(panel, buffer);
  panel.walk = (direction) => walkBuffers(panel, direction);
  panel.setMoment = (tick) => {
    panel.moment = Math.max(0, Math.min(exhibit.ticks - 1, Math.floor(tick)));
    fillLive(panel);
    requestDraw(panel);
  };
  return panel;
}

function figuresOf(exhibit) {
  const { raw } = exhibit;
  const list = element("dl", "figures");
  const add = (name, text, more) => {
    const group = element("div");
    const value = element("dd", "", text);
    if (more) value.append(element("small", "", more));
    group.append(element("dt", "", name), value);
    list.append(group);
  };
  if (raw.reported === null) {
    add("peak", size(raw.peak), count(raw.peak) + " bytes");
    add("floor", size(raw.floor), "most live at once");
    add("fragmentation", size(raw.peak - raw.floor), percent(raw.peak - raw.floor, raw.peak) + " of the peak");
  } else {
    add("peak in use", size(raw.reported), "as its allocator counts: whole chunks");
    add("floor", size(raw.floor), "most asked for at once");
    add("addresses", size(raw.peak), "from the lowest to the highest seen");
  }
  if (exhibit.reserved > 0 && exhibit.reserved !== raw.peak) add("reserved", size(exhibit.reserved), "at most");
  if (raw.limit !== null) add("limit", size(raw.limit), headroomOf(exhibit));
  add("buffers", count(raw.buffers.start.count), "over " + count(raw.length) + " " + raw.unit);
  return list;
}

// What a limit leaves; where that is nearly all of it, how little is taken says more.
function headroomOf(exhibit) {
  const { raw } = exhibit;
  const taken = takenBy({ exhibit });
  if (taken > raw.limit) return size(taken - raw.limit) + " too much";
  return 10 * taken < raw.limit ? percent(taken, raw.limit) + " of it taken" : "headroom " + size(raw.limit - taken);
}

// A canvas that can be pointed at, focused and read out.
function addChart(panel, kind) {
  const holder = element("div", "chart " + kind);
  const canvas = element("canvas");
  const summary = element("p", "hidden-text", summaryOf(panel.exhibit, kind));
  summary.id = "summary-" + kind + "-" + panel.number;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", { curve: "Memory over time", gaps: "Unused memory over time", layout: "Layout of buffers" }[kind] + ", " + panel.exhibit.raw.name);
  canvas.setAttribute("aria-describedby", summary.id);
  holder.append(canvas, summary);
  panel.root.append(holder);
  canvas.addEventListener("keydown", (event) => {
    if (keyPressed(panel, event)) event.preventDefault();
  });
  watchPointer(canvas, (event) => placeOf(panel, kind, canvas, event), {
    hover: (event, place) => hover(panel, kind, event, place),
    leave: () => { hideTip(); if (kind === "layout") panel.point(null); },
    click: (place) => {
      if (kind === "layout") panel.choose(bufferAt(panel, place.x, place.y));
      panel.setMoment(panel.time.tickAt(place.time * panel.domain));
    },
    brush: (from, to) => { panel.brush = from && { kind, from, to }; requestDraw(panel, kind); },
    select: (from, to) => selectRange(kind, from, to),
  });
  return canvas;
}

function summaryOf({ raw, time }, kind) {
  const when = raw.unit.slice(0, -1) + " " + count(time(raw.floorTick));
  const texts = {
    curve: "The most that is live at once is " + size(raw.floor) + " at " + when + " of " + count(raw.length) + ". The table below lists who is live then.",
    gaps: "The layout takes " + size(raw.peak) + " at its peak, " + size(raw.peak - raw.floor) + " more than is live at most.",
    layout: count(raw.buffers.start.count) + " buffers as rectangles; n and b walk through those that are shown, the largest first.",
  };
  return texts[kind];
}

function addLists(panel) {
  panel.liveTitle = element("h3");
  panel.doing = element("p", "soft");
  panel.liveTable = element("table");
  const live = element("div", "live");
  live.append(panel.liveTitle, panel.doing, panel.liveTable);
  panel.againSection = element("div", "again");
  panel.againTitle = element("h3");
  panel.againTable = element("table", "cards");
  panel.againSection.append(panel.againTitle, panel.againTable);
  panel.root.append(live, panel.againSection);
}

// Where a pointer is: pixels of the canvas, shares of time and space.
function placeOf(panel, kind, canvas, event) {
  const box = canvas.getBoundingClientRect();
  const [x, y] = [event.clientX - box.left, event.clientY - box.top];
  const frame = panel.frames[kind];
  const time = view.from + Math.max(0, Math.min(1, (x - frame.left) / frame.width)) * (view.to - view.from);
  const space = view.low + Math.max(0, Math.min(1, (frame.bottom - y) / frame.height)) * (view.high - view.low);
  return { x, y, time, space };
}

function selectRange(kind, a, b) {
  const [from, to] = [Math.min(a.time, b.time), Math.max(a.time, b.time)];
  if (kind !== "layout") return setView(from, to);
  // A flat stroke means time only.
  const flat = Math.abs(a.y - b.y) < 12;
  return flat ? setView(from, to) : setView(from, to, Math.min(a.space, b.space), Math.max(a.space, b.space));
}

function hover(panel, kind, event, place) {
  const { exhibit } = panel;
  const tick = Math.min(exhibit.ticks - 1, Math.floor(panel.time.tickAt(place.time * panel.domain)));
  if (place.x < panel.frames[kind].left || tick < 0) return hideTip();
  if (kind === "layout") {
    const buffer = bufferAt(panel, place.x, place.y);
    if (buffer !== panel.hovered) panel.point(buffer);
    return buffer === null ? hideTip() : showTip(event, factsOf(exhibit, buffer));
  }
  const lines = [[exhibit.raw.unit.slice(0, -1) + " " + count(exhibit.time(tick)) + " " + doingAt(exhibit, tick), true]];
  if (kind === "gaps") {
    lines.push([size(exhibit.top()[tick] - exhibit.live()[tick]) + (exhibit.raw.reported === null ? " unused below " : " unused or unknown below ") + size(exhibit.top()[tick])]);
    return showTip(event, lines);
  }
  lines.push([size(exhibit.live()[tick]) + " live"]);
  const stack = exhibit.stack(page.stackBy);
  stack.keys.forEach((key, i) => { if (stack.series[i][tick] > 0) lines.push([key.name + " " + size(stack.series[i][tick])]); });
  return showTip(event, lines);
}

// What is known about a buffer, in lines; the first is its name.
function factsOf(exhibit, buffer) {
  const { role, layer, op, bytes, offset, start, end } = exhibit.buffers();
  const text = (column) => exhibit.texts[column[buffer]];
  const unit = exhibit.raw.unit;
  const lines = [[nameOf(exhibit, buffer) || text(op) || "(no name)", true]];
  const made = text(op) ? "made by " + text(op) + (text(layer) ? " of " + text(layer) : "") : text(layer) ? "of " + text(layer) : "";
  lines.push([[roleName(text(role)), made].filter(Boolean).join(", ")]);
  lines.push([size(bytes[buffer]) + " (" + count(bytes[buffer]) + " bytes) at +" + size(offset[buffer])]);
  lines.push(["live in " + unit + " " + count(exhibit.time(start[buffer])) + " to " + count(exhibit.time(end[buffer] - 1)) + " (" + count(end[buffer] - start[buffer]) + (exhibit.times().length ? " moments)" : ")")]);
  lines.push([whyKept(exhibit, buffer)]);
  return lines;
}

function whyKept(exhibit, buffer) {
  const { why, last, end } = exhibit.buffers();
  const unit = exhibit.raw.unit.slice(0, -1);
  const at = (tick) => unit + " " + count(exhibit.time(tick)) + doingAt(exhibit, tick).replace("during", ",");
  if (why[buffer] === 1) return "kept because it lives across steps";
  if (why[buffer] === 2) return "kept because the caller reads it after the step";
  if (why[buffer] === 3) return "scratch: needed only while its op runs";
  if (why[buffer] > 4) return "kept until " + at(last[buffer]).replace(" ,", ",") + " reads it, the last of " + count(why[buffer] - 4);
  if (why[buffer] === 4) return "nothing reads it: it is a by-product of its op";
  const freed = end[buffer] >= exhibit.ticks ? "never freed in this trace" : "freed after " + at(end[buffer] - 1).replace(" ,", ",");
  return freed + "; a trace does not say who reads it";
}

function showTip(event, lines) {
  const tip = document.getElementById("tip");
  tip.replaceChildren(...lines.map(([text, isName]) => element(isName ? "b" : "div", "", text)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
  const top = event.clientY + 16 + box.height > innerHeight ? event.clientY - 16 - box.height : event.clientY + 16;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = Math.max(4, top) + "px";
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

function chooseBuffer(panel, buffer) {
  view.chosen = buffer === null ? null : { panel, buffer };
  panel.facts.textContent = buffer === null ? HINT : factsOf(panel.exhibit, buffer).map(([text]) => text).join(" · ");
  requestDraw(panel, "layout");
}

// The next of the buffers that are shown, from the largest to the smallest.
function walkBuffers(panel, direction) {
  const { start, end, bytes, count: all } = panel.exhibit.buffers();
  const [from, to] = [view.from, view.to].map((share) => panel.time.tickAt(share * panel.domain));
  const key = from + " " + to;
  if (panel.walked?.key !== key) {
    const list = [];
    for (let i = 0; i < all; i++) if (end[i] > from && start[i] < to) list.push(i);
    list.sort((a, b) => bytes[b] - bytes[a] || a - b);
    panel.walked = { key, list };
  }
  const { list } = panel.walked;
  const now = view.chosen?.panel === panel ? list.indexOf(view.chosen.buffer) : -1;
  const next = now < 0 ? (direction > 0 ? 0 : list.length - 1) : (now + direction + list.length) % list.length;
  if (list.length > 0) chooseBuffer(panel, list[next]);
}

function fillLegend(panel) {
  const { keys } = panel.exhibit.stack(page.stackBy);
  const { raw, reserved } = panel.exhibit;
  const item = (className, colour, name) => {
    const li = element("li");
    const mark = element("i", className);
    mark.style[className ? "borderColor" : "background"] = colour;
    li.append(mark, name);
    return li;
  };
  const items = keys.map((key) => item("", key.colour, key.name));
  if (raw.limit !== null) items.push(item("dash", "var(--alarm)", "limit" + (raw.limit > panel.scale ? " (" + size(raw.limit) + ", above the chart)" : "")));
  items.push(item("dots", "var(--ink)", "floor"));
  if (raw.reported !== null) items.push(item("dash", "var(--soft)", "peak in use"));
  if (reserved > 0) items.push(item("solid", "var(--ink)", "reserved"));
  if (panel.time.quiet.length > 0) items.push(item("dash", "var(--ink)", "little happens: drawn " + count(1 / panel.time.narrow) + " times narrower"));
  panel.legend.replaceChildren(...items);
}
