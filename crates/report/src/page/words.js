// Names, sizes and colours.

// The page's data; the roles come with the colours that the terminal uses, too.
const DATA = JSON.parse(document.getElementById("data").textContent);
const ROLES = DATA.roles;
// For layers, ops and the roles of other programs.
const OTHERS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#7a5195", "#88a12c", "#a6761d"];
const REST = "#9aa0a8";

// Three significant digits in the largest binary unit that leaves at least 1, as the command line prints them.
function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1023.5 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return value.toFixed(digits) + " " + units[unit];
}

// Shorter, for an axis: `200 MiB`, not `200.00 MiB`.
function roundSize(bytes) {
  return size(bytes).replace(/\.0+ /, " ");
}

function count(number) {
  return Math.round(number).toLocaleString("en-US");
}

function percent(part, whole) {
  return whole > 0 ? (100 * part / whole).toFixed(1) + " %" : "-";
}

function roleName(role) {
  const known = ROLES.find((one) => one.role === role);
  return known ? known.name : role || "role unknown";
}

// Steps of an axis: about `wanted` of them, powers of two for bytes, 1, 2 or 5 times a power of ten for counts.
function stepsOfBytes(low, high, wanted) {
  let step = 1;
  while ((high - low) / step > wanted) step *= 2;
  return steps(low, high, step);
}

function stepsOfCount(low, high, wanted) {
  let step = 1;
  const factors = [2, 2.5, 2];
  for (let i = 0; (high - low) / step > wanted; i++) step *= factors[i % 3];
  return steps(low, high, Math.max(1, Math.round(step)));
}

function steps(low, high, step) {
  const list = [];
  for (let at = Math.ceil(low / step) * step; at <= high; at += step) list.push(at);
  return list;
}

// An element with a class and text.
function element(kind, className, text) {
  const made = document.createElement(kind);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// What a variable of the style is now, as a colour that a canvas takes.
function styleColour(name) {
  const probe = element("span");
  probe.style.color = "var(" + name + ")";
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
