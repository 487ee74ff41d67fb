// What part of time and space is shown: the same share of every panel, and how pointer and keys change it.

const view = { from: 0, to: 1, low: 0, high: 1, chosen: null, listeners: [] };

// Never so close that less than about four ticks are left of the longest panel.
function narrowest() {
  return Math.min(1, 4 / Math.max(4, ...page.panels.map((panel) => panel.domain)));
}

function setView(from, to, low = view.low, high = view.high) {
  const span = Math.min(1, Math.max(narrowest(), to - from));
  const height = Math.min(1, Math.max(1e-6, high - low));
  view.from = Math.min(1 - span, Math.max(0, from));
  view.to = view.from + span;
  view.low = Math.min(1 - height, Math.max(0, low));
  view.high = view.low + height;
  viewChanged();
}

function viewChanged() {
  view.listeners.forEach((listener) => listener());
}

function zoom(factor, centre = (view.from + view.to) / 2) {
  setView(centre - (centre - view.from) * factor, centre + (view.to - centre) * factor);
}

function pan(time, space = 0) {
  const [across, up] = [time * (view.to - view.from), space * (view.high - view.low)];
  setView(view.from + across, view.to + across, view.low + up, view.high + up);
}

function showAll() {
  setView(0, 1, 0, 1);
}

// A tenth of the time around the peak of a panel.
function showPeak(panel) {
  const centre = panel.time.place(panel.exhibit.raw.floorTick + 0.5) / panel.domain;
  const half = Math.max(narrowest(), Math.min(0.05, (view.to - view.from) / 4));
  setView(centre - half, centre + half);
}

// Keys that mean the same on every chart of a panel; says whether the key was one.
function keyPressed(panel, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const acts = {
    ArrowLeft: () => pan(-0.2),
    ArrowRight: () => pan(0.2),
    ArrowUp: () => pan(0, 0.2),
    ArrowDown: () => pan(0, -0.2),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: showAll,
    p: () => showPeak(panel),
    n: () => panel.walk(1),
    b: () => panel.walk(-1),
    Escape: () => panel.choose(null),
  };
  const act = acts[event.key];
  // Up and down scroll the page unless there is something to move.
  const idle = view.high - view.low >= 1 && (event.key === "ArrowUp" || event.key === "ArrowDown");
  if (!act || idle) return false;
  act();
  return true;
}

// Pointer and wheel on a canvas. `place` gives the shares of time and space under a point; `acts` are hover, leave and click.
function watchPointer(canvas, place, acts) {
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { from: place(event), last: place(event), moved: false, pan: event.shiftKey || event.pointerType === "touch" };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    if (!drag) return acts.hover(event, now);
    drag.moved ||= Math.hypot(now.x - drag.from.x, now.y - drag.from.y) > 4;
    if (!drag.moved) return undefined;
    if (drag.pan) setView(view.from + drag.last.time - now.time, view.to + drag.last.time - now.time);
    else acts.brush(drag.from, now);
    if (!drag.pan) drag.last = now;
    return undefined;
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) acts.click(place(event));
    else if (drag && !drag.pan) acts.select(drag.from, place(event));
    drag = null;
    acts.brush(null, null);
  });
  canvas.addEventListener("pointercancel", () => { drag = null; acts.brush(null, null); });
  canvas.addEventListener("pointerleave", acts.leave);
  canvas.addEventListener("dblclick", showAll);
  canvas.addEventListener("wheel", (event) => {
    // The plain wheel scrolls the page.
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
    event.preventDefault();
    const turn = event.deltaY || event.deltaX;
    if (event.shiftKey) pan(Math.sign(turn) * 0.1);
    else zoom(Math.exp(Math.max(-1, Math.min(1, turn / 200))), place(event).time);
  }, { passive: false });
}
