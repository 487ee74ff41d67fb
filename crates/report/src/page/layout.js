// Space against time, every buffer a rectangle. Pixels are written directly, so that a hundred thousand buffers cost little more than the canvas is
// large; the same pass notes which buffer each pixel shows, which is how a pointer finds it.

function drawLayout(panel) {
  const frame = frameOf(panel, panel.layout, true);
  const [low, high] = [view.low * panel.layoutScale, view.high * panel.layoutScale];
  scaleBytes(frame, low, high);
  const { ratio } = frame;
  const grid = { width: Math.max(1, Math.round(frame.width * ratio)), height: Math.max(1, Math.round(frame.height * ratio)) };
  grid.across = grid.width / (frame.to - frame.from);
  grid.up = grid.height / (high - low);
  const who = paintBuffers(panel, frame, grid, low);
  const stack = panel.exhibit.stack(page.stackBy);
  const image = colourPixels(panel, who, grid, stack);
  frame.context.putImageData(image, Math.round(frame.left * ratio), Math.round(frame.top * ratio));
  nameBuffers(panel, frame, stack);
  drawLimit(panel, frame);
  drawMoment(panel, frame);
  outline(panel, frame, view.chosen && view.chosen.panel === panel ? view.chosen.buffer : panel.hovered);
  scaleTime(panel, frame);
  panel.frames.layout = frame;
  panel.picked = { who, grid };
}

// The number of the buffer that each pixel shows, plus one. What is thinner than a pixel is painted first, so that it hides nothing.
function paintBuffers(panel, frame, grid, low) {
  const { start, end, offset, bytes, count } = panel.exhibit.buffers();
  const { at } = panel.time;
  const who = reuse(panel, grid.width * grid.height);
  const { width, height } = grid;
  // Five numbers for each buffer that is painted later; kept, because making it anew costs as much as filling it.
  const visible = (panel.visible ??= new Int32Array(5 * count));
  let length = 0;
  for (let i = 0; i < count; i++) {
    const [begins, ends] = [at[start[i]], at[end[i]]];
    if (ends <= frame.from || begins >= frame.to) continue;
    const left = Math.max(0, Math.round((begins - frame.from) * grid.across));
    const right = Math.min(width, Math.round((ends - frame.from) * grid.across));
    const bottom = Math.min(height, height - Math.round((offset[i] - low) * grid.up));
    const top = Math.max(0, height - Math.round((offset[i] + bytes[i] - low) * grid.up));
    if (bottom < 0 || top > height) continue;
    if (right > left && bottom > top) {
      visible[length] = i;
      visible[length + 1] = left;
      visible[length + 2] = right;
      visible[length + 3] = top;
      visible[length + 4] = bottom;
      length += 5;
    } else paint(who, width, i, Math.min(left, width - 1), Math.max(left + 1, right), Math.min(top, height - 1), Math.max(top + 1, bottom));
  }
  for (let at = 0; at < length; at += 5) {
    paint(who, width, visible[at], visible[at + 1], visible[at + 2], visible[at + 3], visible[at + 4]);
  }
  page.counters.rectangles = length / 5;
  return who;
}

function paint(who, width, buffer, left, right, top, bottom) {
  const last = bottom * width;
  for (let row = top * width; row < last; row += width) {
    // A call for a few pixels costs more than the pixels.
    if (right - left > 16) who.fill(buffer + 1, row + left, row + right);
    else for (let at = row + left; at < row + right; at++) who[at] = buffer + 1;
  }
}

// A cleared grid; the one of the last drawing where it has the right size.
function reuse(panel, pixels) {
  if (panel.grid?.length === pixels) return panel.grid.fill(0);
  panel.grid = new Uint32Array(pixels);
  return panel.grid;
}

// The colour of every pixel; where two buffers that are not tiny meet, a darker line.
function colourPixels(panel, who, grid, stack) {
  const isSame = panel.image?.width === grid.width && panel.image.height === grid.height;
  const image = isSame ? panel.image : new ImageData(grid.width, grid.height);
  panel.image = image;
  const pixels = new Uint32Array(image.data.buffer);
  const { start, end, bytes } = panel.exhibit.buffers();
  const { at: place } = panel.time;
  const plain = stack.keys.map((key) => packed(key.colour, 1));
  const dark = stack.keys.map((key) => packed(key.colour, 0.72));
  const empty = packed(page.colours.empty, 1);
  const { width } = grid;
  let [last, colour] = [0, empty];
  for (let at = 0; at < who.length; at++) {
    const now = who[at];
    // Most pixels show what their left neighbour shows.
    if (now !== last) {
      last = now;
      colour = now === 0 ? empty : plain[stack.of[now - 1]];
    }
    pixels[at] = colour;
    if (now === 0 || (who[at - 1] === now && who[at - width] === now)) continue;
    const buffer = now - 1;
    if ((place[end[buffer]] - place[start[buffer]]) * grid.across >= 4 && bytes[buffer] * grid.up >= 4) pixels[at] = dark[stack.of[buffer]];
  }
  return image;
}

// A colour such as #0072b2 or rgb(0, 114, 178) as a pixel.
function packed(colour, shade) {
  const parts = colour.startsWith("#")
    ? [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16))
    : colour.match(/\d+/g).slice(0, 3).map(Number);
  const [red, green, blue] = parts.map((part) => Math.round(part * shade));
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

// The rectangle of a buffer, cut to the frame.
function rectangleOf(panel, frame, buffer) {
  const { start, end, offset, bytes } = panel.exhibit.buffers();
  const left = Math.max(frame.left, frame.x(start[buffer]));
  const right = Math.min(frame.right, frame.x(end[buffer]));
  const top = Math.max(frame.top, frame.y(offset[buffer] + bytes[buffer]));
  const bottom = Math.min(frame.bottom, frame.y(offset[buffer]));
  return { left, top, width: right - left, height: bottom - top };
}

// Names inside the rectangles that have room for one.
function nameBuffers(panel, frame, stack) {
  const { count, start, end, bytes } = panel.exhibit.buffers();
  const { at } = panel.time;
  const { context } = frame;
  context.textAlign = "left";
  context.textBaseline = "middle";
  const across = frame.width / (frame.to - frame.from);
  const up = frame.height / ((view.high - view.low) * panel.layoutScale);
  for (let i = 0; i < count; i++) {
    if ((at[end[i]] - at[start[i]]) * across < 60 || bytes[i] * up < 14) continue;
    const { left, top, width, height } = rectangleOf(panel, frame, i);
    if (width < 60 || height < 14) continue;
    const text = shortened(context, nameOf(panel.exhibit, i), width - 8);
    context.fillStyle = inkOn(stack.keys[stack.of[i]].colour);
    context.fillText(text, left + 4, top + height / 2);
  }
}

function shortened(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  const letters = Math.floor(text.length * room / context.measureText(text).width) - 1;
  return letters < 3 ? "" : text.slice(0, letters) + "…";
}

// Black or white, whichever is read better on a colour.
function inkOn(colour) {
  const [red, green, blue] = [1, 3, 5].map((at) => (parseInt(colour.slice(at, at + 2), 16) / 255) ** 2.2);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.25 ? "#000" : "#fff";
}

function drawLimit(panel, frame) {
  const { limit } = panel.exhibit.raw;
  if (limit === null || frame.y(limit) < frame.top || frame.y(limit) > frame.bottom) return;
  frame.context.strokeStyle = page.colours.alarm;
  frame.context.lineWidth = 1.5;
  frame.context.setLineDash([7, 4]);
  frame.context.beginPath();
  frame.context.moveTo(frame.left, frame.y(limit));
  frame.context.lineTo(frame.right, frame.y(limit));
  frame.context.stroke();
  frame.context.setLineDash([]);
}

function outline(panel, frame, buffer) {
  if (buffer === null || buffer === undefined) return;
  const { left, top, width, height } = rectangleOf(panel, frame, buffer);
  if (width < -1 || height < -1) return;
  frame.context.lineWidth = 4;
  frame.context.strokeStyle = page.colours.paper;
  frame.context.strokeRect(left, top, Math.max(1, width), Math.max(1, height));
  frame.context.lineWidth = 2;
  frame.context.strokeStyle = page.colours.ink;
  frame.context.strokeRect(left, top, Math.max(1, width), Math.max(1, height));
}

// The buffer under a point of the canvas, or null.
function bufferAt(panel, x, y) {
  const [frame, picked] = [panel.frames.layout, panel.picked];
  const column = Math.floor((x - frame.left) * frame.ratio);
  const row = Math.floor((y - frame.top) * frame.ratio);
  if (column < 0 || row < 0 || column >= picked.grid.width || row >= picked.grid.height) return null;
  const buffer = picked.who[row * picked.grid.width + column] - 1;
  return buffer < 0 ? null : buffer;
}
