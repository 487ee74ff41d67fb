// Puts the page together. `page.counters` is for tests: how often and how long was drawn, never what.

const page = { panels: [], stackBy: "role", ownScale: false, evenTime: false, colours: {}, counters: { redraws: 0, drawing: 0, longest: 0, rectangles: 0, ready: null } };

const CHARTS = { curve: drawCurve, gaps: drawGaps, layout: drawLayout };
let pending = null;

// Draws charts with the next frame, each once however often it is asked for.
function requestDraw(panel, kind) {
  if (!pending) {
    pending = new Map();
    requestAnimationFrame(drawPending);
  }
  const kinds = pending.get(panel) ?? new Set();
  (kind ? [kind] : Object.keys(CHARTS)).forEach((one) => kinds.add(one));
  pending.set(panel, kinds);
}

function drawPending() {
  const wanted = pending;
  pending = null;
  const began = performance.now();
  for (const [panel, kinds] of wanted) {
    for (const kind of kinds) {
      CHARTS[kind](panel);
      if (panel.brush?.kind === kind) drawBrush(panel, kind);
    }
  }
  const took = performance.now() - began;
  page.counters.redraws++;
  page.counters.drawing += took;
  page.counters.longest = Math.max(page.counters.longest, took);
}

function drawBrush(panel, kind) {
  const { from, to } = panel.brush;
  const frame = panel.frames[kind];
  const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
  const flat = kind !== "layout" || Math.abs(from.y - to.y) < 12;
  const [top, bottom] = flat ? [frame.top, frame.bottom] : [Math.min(from.y, to.y), Math.max(from.y, to.y)];
  frame.context.fillStyle = "rgb(128 128 128 / .3)";
  frame.context.fillRect(left, top, right - left, bottom - top);
  frame.context.strokeStyle = page.colours.ink;
  frame.context.lineWidth = 1;
  frame.context.strokeRect(left, top, right - left, bottom - top);
}

function drawAll() {
  page.panels.forEach((panel) => requestDraw(panel));
}

function readColours() {
  page.colours = { ink: styleColour("--ink"), soft: styleColour("--soft"), paper: styleColour("--paper"), grid: styleColour("--grid"), alarm: styleColour("--alarm"), empty: styleColour("--raised") };
}

// What is reserved is taken, whoever uses it; addresses that others lie between are not.
const takenBy = ({ exhibit }) => Math.max(exhibit.raw.reported ?? exhibit.raw.peak, exhibit.reserved);

// One scale of bytes for all, or one for each.
function setScales() {
  const groups = page.ownScale ? page.panels.map((panel) => [panel]) : [page.panels];
  for (const group of groups) {
    const scales = scalesOf(group);
    group.forEach((panel) => Object.assign(panel, scales));
  }
}

// A limit far above the peak would flatten the curves and is only named.
function scalesOf(panels) {
  const raws = panels.map((panel) => panel.exhibit.raw);
  const taken = Math.max(1, ...panels.map(takenBy));
  const limits = raws.map((raw) => raw.limit ?? 0).filter((limit) => limit <= 1.5 * taken);
  // What is reserved and never used would only leave a layout less room.
  const used = Math.max(1, ...raws.map((raw) => raw.peak));
  let gap = 1;
  for (const { exhibit } of panels) exhibit.top().forEach((top, tick) => { gap = Math.max(gap, top - exhibit.live()[tick]); });
  return {
    scale: Math.max(taken, ...limits) * 1.04,
    layoutScale: Math.max(used, ...limits.filter((limit) => limit <= 1.5 * used)) * 1.04,
    gapScale: gap * 1.08,
  };
}

// Time is shared where all count the same thing and none is so short that nothing of it would be seen.
function setTimes() {
  for (const panel of page.panels) {
    const { ticks, raw } = panel.exhibit;
    panel.time = makeTime(ticks, page.evenTime ? [] : raw.quiet, DATA.quietShare);
  }
  const raws = page.panels.map((panel) => panel.exhibit.raw);
  const longest = Math.max(1, ...page.panels.map((panel) => panel.time.length));
  const isShared = raws.every((raw) => raw.unit === raws[0].unit) && page.panels.every((panel) => 1.6 * panel.time.length >= longest);
  for (const panel of page.panels) panel.domain = isShared ? longest : Math.max(1, panel.time.length);
}

// Offers what makes a difference here: scales where there are several panels, even time where some is drawn narrow.
function offerChoices() {
  const choice = (id, isOffered) => { document.getElementById(id).parentElement.hidden = !isOffered; };
  choice("scale", page.panels.length > 1);
  choice("time", page.panels.some(({ exhibit }) => exhibit.raw.quiet.length > 0));
  // A panel that takes less than an eighth of the scale would be a line at the bottom.
  const taken = page.panels.map(takenBy);
  page.ownScale = 8 * Math.min(...taken) < Math.max(...taken);
  document.getElementById("scale").value = page.ownScale ? "own" : "one";
}

function showRange() {
  const [panel] = page.panels;
  const { exhibit } = panel;
  const time = (share) => count(exhibit.time(Math.max(0, Math.min(exhibit.ticks - 1, Math.floor(panel.time.tickAt(share * panel.domain))))));
  const all = view.from <= 0 && view.to >= 1 && view.high - view.low >= 1;
  const space = view.high - view.low >= 1 ? "" : ", " + size(view.low * panel.layoutScale) + " to " + size(view.high * panel.layoutScale);
  document.getElementById("range").textContent = all ? "" : exhibit.raw.unit + " " + time(view.from) + " to " + time(view.to - 1e-9) + space;
}

function start() {
  readColours();
  page.panels = DATA.exhibits.map(makePanel);
  document.getElementById("panels").append(...page.panels.map((panel) => panel.root));
  if (page.panels.length === 0) return;
  // Where no layer is known, a stack by layer says nothing.
  const hasLayers = page.panels.some(({ exhibit }) => !exhibit.layers().byOp);
  document.querySelector("#stack-by option[value=layer]").disabled = !hasLayers;
  offerChoices();
  setScales();
  setTimes();
  fillComparison();
  page.panels.forEach((panel) => { fillLegend(panel); fillLive(panel); fillAgain(panel); });
  fillLayers();
  wire();
  drawAll();
  requestAnimationFrame(() => { page.counters.ready = performance.now(); });
}

function wire() {
  const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
  on("stack-by", "change", (event) => {
    page.stackBy = event.target.value;
    page.panels.forEach((panel) => { fillLegend(panel); fillLive(panel); });
    drawAll();
  });
  on("scale", "change", (event) => {
    page.ownScale = event.target.value === "own";
    setScales();
    page.panels.forEach(fillLegend);
    drawAll();
  });
  on("time", "change", (event) => {
    page.evenTime = event.target.value === "even";
    setTimes();
    page.panels.forEach(fillLegend);
    showAll();
  });
  on("zoom-in", "click", () => zoom(0.5));
  on("zoom-out", "click", () => zoom(2));
  on("zoom-all", "click", showAll);
  on("zoom-peak", "click", () => showPeak(page.panels[0]));
  on("layer-search", "input", fillLayers);
  view.listeners.push(drawAll, showRange, hideTip);
  document.addEventListener("themechange", () => { readColours(); drawAll(); });
  new ResizeObserver(drawAll).observe(document.getElementById("panels"));
}

start();
