// Tables: who is live at a moment, what is computed again, layers, and exhibits beside each other.

const ROWS = 15; // shown at first

// A cell; `title` is what it is of, for narrow screens, which have no room for columns.
function cell(row, text, className, title) {
  const made = element("td", className, text);
  if (title) made.dataset.title = title;
  row.append(made);
}

function barCell(row, share, colour) {
  const bar = element("span", "bar");
  bar.style.width = Math.max(0, Math.min(100, 100 * share)) + "%";
  if (colour) bar.style.background = colour;
  const holder = element("td", "bars");
  holder.append(bar);
  row.append(holder);
}

function headOf(names) {
  const [head, row] = [element("thead"), element("tr")];
  for (const [name, className] of names) {
    const made = element("th", className, name);
    made.scope = "col";
    row.append(made);
  }
  head.append(row);
  return head;
}

// Rows up to a number, and a button for the others.
function fillRows(table, list, rowOf, shown = ROWS) {
  const body = element("tbody");
  list.slice(0, shown).forEach((one) => body.append(rowOf(one)));
  table.append(body);
  table.parentElement.querySelector(".more")?.remove();
  if (list.length <= shown) return;
  const more = element("button", "more", "Show more (" + count(list.length - shown) + " left)");
  more.type = "button";
  more.addEventListener("click", () => {
    body.remove();
    fillRows(table, list, rowOf, shown * 4);
  });
  table.after(more);
}

// The buffers of the chosen moment, the largest first.
function fillLive(panel) {
  const { exhibit, moment } = panel;
  const { start, end, bytes, count: all, layer } = exhibit.buffers();
  const live = [];
  for (let i = 0; i < all; i++) if (start[i] <= moment && moment < end[i]) live.push(i);
  live.sort((a, b) => bytes[b] - bytes[a]);
  const total = exhibit.live()[moment] ?? 0;
  const isPeak = moment === exhibit.raw.floorTick;
  const when = exhibit.raw.unit.slice(0, -1) + " " + count(exhibit.time(moment));
  panel.liveTitle.textContent = (isPeak ? "Most live at once: " : "Live at " + when + ": ") + size(total) + " in " + count(live.length) + " buffers";
  panel.doing.textContent = [isPeak ? "at " + when : "", doingAt(exhibit, moment)].filter(Boolean).join(", ");
  const stack = exhibit.stack(page.stackBy);
  const hasLayers = !exhibit.layers().byOp;
  const head = [["value"], ["layer", "layer"], ["", "bars"], ["bytes", "number"], ["share", "number"]];
  panel.liveTable.replaceChildren(headOf(head.filter(([name]) => hasLayers || name !== "layer")));
  fillRows(panel.liveTable, live, (i) => {
    const row = element("tr");
    const name = element("td", "name marked");
    const swatch = element("i", "swatch");
    swatch.style.background = stack.keys[stack.of[i]].colour;
    name.append(swatch, nameOf(exhibit, i) || "(no name)");
    row.append(name);
    if (hasLayers) cell(row, exhibit.texts[layer[i]], "name soft layer");
    barCell(row, bytes[i] / bytes[live[0]], stack.keys[stack.of[i]].colour);
    cell(row, size(bytes[i]), "number");
    cell(row, percent(bytes[i], total), "number");
    row.addEventListener("mouseenter", () => panel.point(i));
    row.addEventListener("mouseleave", () => panel.point(null));
    return row;
  });
}

function doingAt(exhibit, tick) {
  const ops = exhibit.ops();
  const [op, layer] = [exhibit.texts[ops.op[tick] ?? 0], exhibit.texts[ops.layer[tick] ?? 0]];
  return op ? "during " + op + (layer ? " of " + layer : "") : "";
}

function fillAgain(panel) {
  const { exhibit } = panel;
  const rows = exhibit.again();
  panel.againSection.hidden = rows.length === 0;
  if (rows.length === 0) return;
  const { value, op } = exhibit.buffers();
  const total = rows.reduce((sum, row) => sum + row.bytes, 0);
  const values = count(rows.length) + (rows.length === 1 ? " value, " : " values, ");
  panel.againTitle.textContent = "Recomputed (activation checkpointing): " + values + size(total);
  const unit = exhibit.raw.unit;
  panel.againTable.replaceChildren(headOf([["value"], ["op"], ["bytes", "number"], ["not held for", "number"]]));
  fillRows(panel.againTable, rows, ({ buffer, gap, bytes }) => {
    const row = element("tr");
    cell(row, exhibit.texts[value[buffer]], "name");
    cell(row, exhibit.texts[op[buffer]], "name soft");
    cell(row, size(bytes), "number", "bytes");
    cell(row, gap > 0 ? count(gap) + " " + unit : "-", "number", "not held for");
    row.addEventListener("mouseenter", () => panel.point(buffer));
    row.addEventListener("mouseleave", () => panel.point(null));
    return row;
  }, 8);
}

const layerOrder = { column: 1, down: true };

// Every layer with its figures in each exhibit; columns sort, the search filters.
function fillLayers() {
  const byOp = page.panels.every((panel) => panel.exhibit.layers().byOp);
  // Where one knows layers, those who do not have nothing to say.
  const panels = page.panels.filter((panel) => byOp || !panel.exhibit.layers().byOp);
  const sums = panels.map((panel) => panel.exhibit.layers());
  document.getElementById("layers-title").textContent = byOp ? "Ops" : "Layers";
  const silent = page.panels.filter((panel) => !panels.includes(panel)).map((panel) => panel.exhibit.raw.name);
  const note = silent.length > 0 ? " (" + silent.join(" and ") + ": no layers known)" : "";
  const names = [...new Set(sums.flatMap((sum) => [...sum.sums.keys()]))];
  const columns = layerColumns(panels, sums, byOp);
  const wanted = document.getElementById("layer-search").value.trim().toLowerCase();
  const found = names.filter((name) => name.toLowerCase().includes(wanted));
  const value = columns[layerOrder.column].of;
  const sign = layerOrder.down ? -1 : 1;
  found.sort((a, b) => sign * (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : 0) || (a < b ? -1 : 1));
  const table = document.getElementById("layer-table");
  table.replaceChildren(layerHead(columns));
  const most = Math.max(1, ...found.map((name) => columns[1].of(name)));
  fillRows(table, found, (name) => {
    const row = element("tr");
    columns.forEach((column, number) => {
      if (number === 0) cell(row, name, "name");
      else cell(row, column.text(column.of(name)), "number", column.title);
      if (number === 0) barCell(row, columns[1].of(name) / most);
    });
    return row;
  }, 60);
  document.getElementById("layer-count").textContent = count(found.length) + " of " + count(names.length) + note;
}

function layerColumns(panels, sums, byOp) {
  const figure = (number, key) => (name) => sums[number].sums.get(name)?.[key] ?? 0;
  const column = (title, number, key, text = size) => ({ title, of: figure(number, key), text });
  const first = { title: byOp ? "op" : "layer", of: (name) => name.toLowerCase(), text: (name) => name };
  if (sums.length === 1) {
    return [first, column("when most is live", 0, "atPeak"), column("most at once", 0, "most"), column("taken in all", 0, "total"), column("buffers", 0, "buffers", count)];
  }
  const each = sums.map((_, number) => column(panels[number].exhibit.raw.name + ", when most is live", number, "atPeak"));
  const last = sums.length - 1;
  const change = (name) => figure(last, "atPeak")(name) - figure(0, "atPeak")(name);
  const signed = (bytes) => (bytes > 0 ? "+" : bytes < 0 ? "−" : "") + size(Math.abs(bytes));
  return [first, ...each, { title: "last − first", of: change, text: signed }];
}

function layerHead(columns) {
  const [head, row] = [element("thead"), element("tr")];
  columns.forEach((column, number) => {
    const th = element("th", number === 0 ? "" : "number");
    const isSorted = layerOrder.column === number;
    th.scope = "col";
    th.setAttribute("aria-sort", isSorted ? (layerOrder.down ? "descending" : "ascending") : "none");
    const button = element("button", "sort", column.title + (isSorted ? (layerOrder.down ? " ▾" : " ▴") : ""));
    button.type = "button";
    button.addEventListener("click", () => {
      layerOrder.down = isSorted ? !layerOrder.down : number !== 0;
      layerOrder.column = number;
      fillLayers();
      document.querySelectorAll("#layer-table .sort")[number].focus();
    });
    th.append(button);
    row.append(th);
    if (number === 0) row.append(element("th", "bars"));
  });
  head.append(row);
  return head;
}

// The figures of several exhibits, with bars on one scale.
function fillComparison() {
  const section = document.getElementById("comparison");
  section.hidden = page.panels.length < 2;
  if (section.hidden) return;
  const table = element("table", "cards");
  const [taken, floor, beyond, against] = ["taken at most", "floor", "beyond the floor", "against the first"];
  table.append(headOf([[""], [taken, "number"], ["", "bars"], [floor, "number"], [beyond, "number"], [against, "number"]]));
  const body = element("tbody");
  const most = Math.max(1, ...page.panels.map(takenBy));
  const first = takenBy(page.panels[0]);
  for (const panel of page.panels) {
    const { raw } = panel.exhibit;
    const row = element("tr");
    cell(row, raw.name, "name");
    cell(row, size(takenBy(panel)), "number", taken);
    barCell(row, takenBy(panel) / most);
    cell(row, size(raw.floor), "number", floor);
    cell(row, size(Math.max(0, takenBy(panel) - raw.floor)), "number", beyond);
    cell(row, panel === page.panels[0] || !first ? "-" : (takenBy(panel) / first).toFixed(2) + " ×", "number", against);
    body.append(row);
  }
  table.append(body);
  const holder = element("div", "scroll");
  holder.append(table);
  section.replaceChildren(element("h2", "", "Side by side"), holder);
}
