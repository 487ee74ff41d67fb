// Curves over time: memory stacked by role, layer or op with the lines it is compared with, and below it what a layout leaves unused.

const GUTTER = 62; // room for the labels of the vertical axis
const AXIS = 18; // room for those of the horizontal one

// A canvas made as large as it is shown, with the frame that charts draw in.
function frameOf(panel, canvas, hasAxis) {
  const ratio = window.devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  const frame = { context, ratio, left: GUTTER, right: width - 1, top: 6, bottom: height - (hasAxis ? AXIS : 4) };
  frame.width = Math.max(1, frame.right - frame.left);
  frame.height = Math.max(1, frame.bottom - frame.top);
  frame.from = view.from * panel.domain;
  frame.to = view.to * panel.domain;
  frame.x = (tick) => frame.left + (panel.time.place(tick) - frame.from) / (frame.to - frame.from) * frame.width;
  return frame;
}

// The vertical axis from `low` to `high` bytes.
function scaleBytes(frame, low, high) {
  frame.y = (bytes) => frame.bottom - (bytes - low) / (high - low || 1) * frame.height;
  const { context } = frame;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const wanted = Math.max(2, Math.floor(frame.height / 34));
  for (const bytes of stepsOfBytes(low, high, wanted)) {
    const y = Math.round(frame.y(bytes)) + 0.5;
    context.fillStyle = page.colours.grid;
    context.fillRect(frame.left, y - 0.5, frame.width, 1);
    context.fillStyle = page.colours.soft;
    if (y > frame.top + 4 || bytes === high) context.fillText(roundSize(bytes), frame.left - 6, Math.min(y, frame.bottom - 2));
  }
}

function scaleTime(panel, frame) {
  const { context } = frame;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.fillStyle = page.colours.soft;
  const { exhibit } = panel;
  const end = frame.right - context.measureText(exhibit.raw.unit).width - 8;
  let free = frame.left;
  for (const time of timesToName(panel, frame)) {
    const text = count(time);
    const half = context.measureText(text).width / 2;
    const x = Math.max(frame.left + half, frame.x(tickOf(exhibit, time)));
    // Labels that would touch the one before or the unit are left out.
    if (x - half < free || x + half > end) continue;
    context.fillText(text, x, frame.bottom + 4);
    free = x + half + 12;
  }
  context.textAlign = "right";
  context.fillText(exhibit.raw.unit, frame.right, frame.bottom + 4);
  drawQuiet(panel, frame);
}

// Round times, as dense as there is room for in each stretch of even time.
function timesToName({ exhibit, time }, frame) {
  const [first, last] = [frame.from, frame.to].map((place) => Math.max(0, Math.min(exhibit.ticks - 1, Math.floor(time.tickAt(place)))));
  return evenStretches(time, first, last).flatMap(([from, until]) => {
    const wanted = Math.floor((frame.x(until) - frame.x(from)) / 90);
    return stepsOfCount(exhibit.time(from), exhibit.time(until), Math.max(time.quiet.length > 0 ? 1 : 2, wanted));
  });
}

// A broken line along the axis where time is drawn narrow.
function drawQuiet({ time }, frame) {
  const { context } = frame;
  context.strokeStyle = page.colours.ink;
  context.lineWidth = 2;
  context.setLineDash([3, 2]);
  for (const [from, to] of time.quiet) {
    const [left, right] = [Math.max(frame.left, frame.x(from)), Math.min(frame.right, frame.x(to))];
    if (right <= left) continue;
    context.beginPath();
    context.moveTo(left, frame.bottom + 2);
    context.lineTo(right, frame.bottom + 2);
    context.stroke();
  }
  context.setLineDash([]);
}

// The first tick that begins at a time or later.
function tickOf(exhibit, time) {
  const times = exhibit.times();
  if (times.length === 0) return time;
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

// For each tick, or all that share a pixel: where it begins and ends, and the tick with the highest total in it.
function columnsOf(panel, frame, total) {
  const [first, end] = [frame.from, frame.to].map((place) => panel.time.tickAt(place));
  const columns = [];
  let last = null;
  let x = frame.x(Math.floor(first));
  for (let tick = Math.floor(first); tick < Math.min(panel.exhibit.ticks, Math.ceil(end)); tick++) {
    const until = frame.x(tick + 1);
    if (last && until - last.x <= 1) {
      last.until = until;
      if (total[tick] > total[last.tick]) last.tick = tick;
    } else columns.push(last = { x, until, tick });
    x = until;
  }
  return columns;
}

// The area between two curves, both given for each column.
function fillBetween(frame, columns, low, high, colour) {
  const { context } = frame;
  context.beginPath();
  for (let i = 0; i < columns.length; i++) {
    const y = frame.y(high[i]);
    context.lineTo(columns[i].x, y);
    context.lineTo(columns[i].until, y);
  }
  for (let i = columns.length - 1; i >= 0; i--) {
    const y = frame.y(low[i]);
    context.lineTo(columns[i].until, y);
    context.lineTo(columns[i].x, y);
  }
  context.closePath();
  context.fillStyle = colour;
  context.fill();
}

function drawCurve(panel) {
  const frame = frameOf(panel, panel.curve, true);
  // Room above the curve for the names of lines and marks.
  scaleBytes(frame, 0, panel.scale * 1.12);
  const stack = panel.exhibit.stack(page.stackBy);
  const columns = columnsOf(panel, frame, panel.exhibit.live());
  clipped(frame, () => {
    let low = new Float64Array(columns.length);
    stack.series.forEach((series, number) => {
      const high = low.map((bytes, i) => bytes + series[columns[i].tick]);
      fillBetween(frame, columns, low, high, stack.keys[number].colour);
      low = high;
    });
    drawMarks(panel, frame);
  });
  drawLines(panel, frame);
  drawMoment(panel, frame);
  scaleTime(panel, frame);
  panel.frames.curve = frame;
}

function clipped(frame, draw) {
  frame.context.save();
  frame.context.beginPath();
  frame.context.rect(frame.left, frame.top - 2, frame.width, frame.height + 2);
  frame.context.clip();
  draw();
  frame.context.restore();
}

function drawMarks(panel, frame) {
  const { context } = frame;
  context.textBaseline = "top";
  context.textAlign = "left";
  let free = -Infinity;
  for (const [tick, name] of panel.exhibit.raw.marks) {
    const x = frame.x(tick);
    if (x < frame.left || x > frame.right) continue;
    context.fillStyle = page.colours.soft;
    context.fillRect(x, frame.top, 1, frame.height);
    const width = context.measureText(name).width;
    // Right of the mark or left of it, where neither the moment nor another label is; otherwise it has none.
    const moment = frame.x(panel.moment + 0.5);
    const fits = (left) => left >= Math.max(free, frame.left) && left + width <= frame.right && (moment < left - 6 || moment > left + width + 6);
    const left = [x + 4, x - 4 - width].find(fits);
    if (left === undefined) continue;
    writeOver(context, name, left, frame.top + 1);
    free = Math.max(x, left + width) + 6;
  }
}

// Text on whatever is below it.
function writeOver(context, text, x, y) {
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeStyle = page.colours.paper;
  context.strokeText(text, x, y);
  context.fillStyle = page.colours.ink;
  context.fillText(text, x, y);
}

// Limit, floor and what is reserved, with labels that keep apart.
function drawLines(panel, frame) {
  const { raw, reserved } = panel.exhibit;
  const { context } = frame;
  const labels = [];
  const level = (bytes, colour, dash, name) => {
    const y = frame.y(bytes);
    if (y < frame.top - 3) return;
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.setLineDash(dash);
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(frame.right, y);
    context.stroke();
    context.setLineDash([]);
    labels.push({ y, text: name + " " + size(bytes) });
  };
  if (raw.limit !== null) level(raw.limit, page.colours.alarm, [7, 4], "limit");
  if (reserved > 0) {
    clipped(frame, () => drawReserved(panel, frame));
    labels.push({ y: frame.y(reserved), text: "reserved " + size(reserved) });
  }
  if (raw.reported !== null) level(raw.reported, page.colours.soft, [7, 4], "peak in use");
  level(raw.floor, page.colours.ink, [2, 3], "floor");
  // Lines that lie on each other share a label; one that would lie over the next above it goes below its line.
  const joined = [];
  for (const label of labels.sort((a, b) => a.y - b.y)) {
    const before = joined.at(-1);
    if (before && label.y - before.y < 13) before.text = before.text + " · " + label.text;
    else joined.push(label);
  }
  context.textAlign = "right";
  context.textBaseline = "bottom";
  for (const label of joined) writeOver(context, label.text, frame.right - 4, label.y - 2);
}

function drawReserved(panel, frame) {
  const { context } = frame;
  context.strokeStyle = page.colours.ink;
  context.lineWidth = 1.5;
  context.beginPath();
  const points = panel.exhibit.raw.reserved;
  points.forEach(([tick, bytes], i) => {
    const until = i + 1 < points.length ? points[i + 1][0] : panel.exhibit.ticks;
    context.lineTo(frame.x(tick), frame.y(bytes));
    context.lineTo(frame.x(until), frame.y(bytes));
  });
  context.stroke();
}

// The moment whose buffers are listed.
function drawMoment(panel, frame) {
  const x = frame.x(panel.moment + 0.5);
  if (x < frame.left || x > frame.right) return;
  frame.context.fillStyle = page.colours.ink;
  frame.context.fillRect(Math.round(x) - 0.5, frame.top, 1, frame.height);
  frame.context.beginPath();
  frame.context.moveTo(x - 5, frame.top - 5);
  frame.context.lineTo(x + 5, frame.top - 5);
  frame.context.lineTo(x, frame.top + 3);
  frame.context.fill();
}

// What lies unused below the highest live byte.
function drawGaps(panel) {
  const frame = frameOf(panel, panel.gaps, false);
  const [top, live] = [panel.exhibit.top(), panel.exhibit.live()];
  scaleBytes(frame, 0, panel.gapScale);
  const gap = panel.gapSeries ??= top.map((bytes, tick) => Math.max(0, bytes - live[tick]));
  const columns = columnsOf(panel, frame, gap);
  const high = Float64Array.from(columns, ({ tick }) => gap[tick]);
  clipped(frame, () => fillBetween(frame, columns, new Float64Array(columns.length), high, page.colours.soft));
  panel.frames.gaps = frame;
}
