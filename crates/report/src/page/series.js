// An exhibit and what is computed from it, each when it is first needed.

function makeExhibit(raw) {
  const exhibit = { raw, ticks: raw.ticks, texts: raw.texts };
  exhibit.buffers = lazily(() => decodeBuffers(raw.buffers));
  exhibit.times = lazily(() => decodeColumn(raw.times));
  exhibit.ops = lazily(() => ({ op: decodeColumn(raw.ops.op), layer: decodeColumn(raw.ops.layer) }));
  exhibit.live = lazily(() => liveBytes(exhibit, () => true));
  exhibit.top = lazily(() => highestEnds(exhibit));
  exhibit.again = lazily(() => computedAgain(exhibit));
  exhibit.layers = lazily(() => layerSums(exhibit));
  const stacks = {};
  exhibit.stack = (key) => (stacks[key] ??= makeStack(exhibit, key));
  exhibit.time = (tick) => exhibit.times()[tick] ?? tick;
  exhibit.reserved = raw.reserved.reduce((most, [, bytes]) => Math.max(most, bytes), 0);
  return exhibit;
}

function decodeBuffers(columns) {
  const buffers = {};
  for (const name in columns) buffers[name] = decodeColumn(columns[name]);
  buffers.count = buffers.start.length;
  buffers.end = buffers.start.map((start, i) => start + buffers.life[i]);
  return buffers;
}

// The bytes of some buffers during each tick.
function liveBytes(exhibit, belongs) {
  const { start, end, bytes, count } = exhibit.buffers();
  const live = new Float64Array(exhibit.ticks + 1);
  for (let i = 0; i < count; i++) {
    if (!belongs(i)) continue;
    live[start[i]] += bytes[i];
    live[end[i]] -= bytes[i];
  }
  for (let tick = 1; tick < live.length; tick++) live[tick] += live[tick - 1];
  return live.subarray(0, exhibit.ticks);
}

// The highest end of a live buffer during each tick: from the top down, each buffer fills the ticks that none above it has filled.
function highestEnds(exhibit) {
  const { start, end, offset, bytes, count } = exhibit.buffers();
  const ends = offset.map((at, i) => at + bytes[i]);
  const order = new Uint32Array(count).map((_, i) => i).sort((a, b) => ends[b] - ends[a]);
  const top = new Float64Array(exhibit.ticks);
  const next = new Uint32Array(exhibit.ticks + 1).map((_, i) => i);
  const unfilled = (tick) => {
    while (next[tick] !== tick) tick = next[tick] = next[next[tick]];
    return tick;
  };
  for (const i of order) {
    for (let tick = unfilled(start[i]); tick < end[i]; tick = unfilled(tick + 1)) {
      top[tick] = ends[i];
      next[tick] = tick + 1;
    }
  }
  return top;
}

// Bytes during each tick by role, layer or op: the keys with their colours, and for each buffer the number of its key.
function makeStack(exhibit, key) {
  const ids = exhibit.buffers()[key];
  const keys = key === "role" ? roleKeys(exhibit, ids) : largestKeys(exhibit, ids);
  const numbers = new Map();
  keys.forEach((one, number) => one.ids.forEach((id) => numbers.set(id, number)));
  const of = Uint8Array.from(ids, (id) => numbers.get(id) ?? keys.length - 1);
  const series = keys.map((_, number) => liveBytes(exhibit, (i) => of[i] === number));
  return { keys, of, series };
}

function roleKeys(exhibit, ids) {
  const present = [...new Set(ids)];
  const known = ROLES.map((role) => ({ ...role, ids: present.filter((id) => exhibit.texts[id] === role.role) }));
  const foreign = present.filter((id) => !ROLES.some((role) => role.role === exhibit.texts[id]));
  // Region types of other programs; more than there are colours are one key.
  const named = foreign.slice(0, 8).map((id, i) => ({
    name: roleName(exhibit.texts[id]), colour: exhibit.texts[id] ? OTHERS[(i + 7) % OTHERS.length] : REST, ids: [id],
  }));
  const rest = foreign.length > 8 ? [{ name: "other roles", colour: REST, ids: foreign.slice(8) }] : [];
  const keys = known.filter((one) => one.ids.length > 0).concat(named, rest);
  return keys.length > 0 ? keys : [{ name: "nothing", colour: REST, ids: [] }];
}

// The ten that hold most while the most is live, and one for the rest.
function largestKeys(exhibit, ids) {
  const { start, end, bytes, count } = exhibit.buffers();
  const held = new Map();
  for (let i = 0; i < count; i++) {
    const there = start[i] <= exhibit.raw.floorTick && exhibit.raw.floorTick < end[i];
    held.set(ids[i], (held.get(ids[i]) ?? 0) + (there ? bytes[i] : 0));
  }
  const largest = [...held].filter(([id]) => exhibit.texts[id]).sort((a, b) => b[1] - a[1]).slice(0, OTHERS.length);
  const keys = largest.map(([id], i) => ({ name: exhibit.texts[id], colour: OTHERS[i], ids: [id] }));
  return keys.concat([{ name: "all others", colour: REST, ids: [] }]);
}

// The name of a buffer's value; what is computed again says so.
function nameOf(exhibit, buffer) {
  const { value, again } = exhibit.buffers();
  const name = exhibit.texts[value[buffer]];
  return name && again[buffer] ? name + " (again)" : name;
}

// Values that are computed a second time, with their first life.
function computedAgain(exhibit) {
  const { value, bytes, start, end, again, count } = exhibit.buffers();
  const first = new Map();
  for (let i = 0; i < count; i++) if (!again[i] && !first.has(value[i])) first.set(value[i], i);
  const rows = [];
  for (let i = 0; i < count; i++) {
    if (!again[i]) continue;
    const original = first.get(value[i]);
    const gap = original === undefined ? 0 : Math.max(0, start[i] - end[original]);
    rows.push({ buffer: i, original, gap, bytes: bytes[i] });
  }
  return rows.sort((a, b) => b.bytes - a.bytes);
}

// For each layer, or each op where no layer is known: bytes at the peak, the most at once, bytes in all and how many buffers.
function layerSums(exhibit) {
  const { layer, op, start, end, bytes, count } = exhibit.buffers();
  const byOp = !layer.some((id) => id !== 0);
  const key = byOp ? op : layer;
  const list = new Array(exhibit.texts.length);
  const sumOf = (i) => (list[key[i]] ??= { atPeak: 0, total: 0, buffers: 0, most: 0, live: 0 });
  const ending = orderedByEnd(exhibit);
  let freed = 0;
  for (let i = 0; i < count; i++) {
    // Buffers stand in the order in which they begin; those that have ended by then are freed first.
    for (; freed < count && end[ending[freed]] <= start[i]; freed++) sumOf(ending[freed]).live -= bytes[ending[freed]];
    const sum = sumOf(i);
    sum.buffers++;
    sum.total += bytes[i];
    sum.live += bytes[i];
    sum.most = Math.max(sum.most, sum.live);
    if (start[i] <= exhibit.raw.floorTick && exhibit.raw.floorTick < end[i]) sum.atPeak += bytes[i];
  }
  const sums = new Map();
  list.forEach((sum, id) => sums.set(exhibit.texts[id] || (byOp ? "(no op)" : "(no layer)"), sum));
  return { byOp, sums };
}

// The buffers in the order in which they end, by counting how many end with each tick.
function orderedByEnd(exhibit) {
  const { end, count } = exhibit.buffers();
  const place = new Uint32Array(exhibit.ticks + 2);
  for (let i = 0; i < count; i++) place[end[i] + 1]++;
  for (let tick = 1; tick < place.length; tick++) place[tick] += place[tick - 1];
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i++) order[place[end[i]]++] = i;
  return order;
}
