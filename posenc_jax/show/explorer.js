// The state of the page: read from the fragment and the controls, written to the fragment, the numbers and the figures.
// The words stand in the document; which of them are shown, and the numbers in them, depend on the state.

const LIMITS = data.limits, USED = data.used;  // the settings that an encoding has; only these stand in its links
const $ = (id) => document.getElementById(id);

const used = (state) => USED[state.encoding].filter((key) => key !== "base" || !data.designs[state.frequencies]);

const fragmentOf = (state) => "encoding=" + state.encoding + used(state).map((key) => `&${key}=${state[key]}`).join("");

/** The nearest possible state, and a note for everything that had to change. */
function possible(wanted) {
  const state = {...data.start, ...wanted}, notes = [];
  const put = (key, value, same) => {
    if (!same) notes.push(`${key} “${String(state[key]).slice(0, 40)}” becomes ${value}`);
    state[key] = value;
  };
  const choose = (key, known) => {
    const same = known.includes(state[key]);
    put(key, same ? state[key] : data.start[key], same);
  };
  const clamp = (key, low, high) => {
    const given = String(state[key]).trim(), value = given === "" ? NaN : Number(given);
    let next = Number.isNaN(value) ? data.start[key] : key === "base" ? value : Math.round(value);
    next = Math.min(Math.max(next, low), high);
    if (key === "d") next -= next % 2;
    put(key, next, next === value);
  };
  choose("encoding", Object.keys(USED));
  choose("frequencies", [...$("frequencies").options].map((option) => option.value));
  for (const key of ["d", "base", "head", "seed", "length"]) clamp(key, ...LIMITS[key]);
  const design = data.designs[state.frequencies];
  if (design && used(state).includes("d") && !design[state.d]) {
    put("d", Object.keys(design).map(Number).reduce((x, y) => Math.abs(y - state.d) < Math.abs(x - state.d) ? y : x), false);
  }
  for (const key of ["a", "b"]) clamp(key, 0, state.length - 1);
  return {state, notes};
}

function fromFragment(fragment) {
  const settings = ["encoding", ...Object.values(USED).flat()];
  return possible(Object.fromEntries([...new URLSearchParams(fragment.replace(/^#/, ""))].filter(([key]) => settings.includes(key))));
}

// Sliders: indices 0, 1, 2, ... that stand for values.
const SCALES = {
  d: [...Array(32).keys()].map((i) => 2 * i + 2).concat([...Array(8).keys()].map((i) => 72 + 8 * i), [...Array(12).keys()].map((i) => 160 + 32 * i)),
  base: [...Array(161).keys()].map((i) => Number(Math.pow(10, 2 + i / 40).toPrecision(3))),
  length: [...Array(57).keys()].map((i) => Math.round(16 * Math.pow(2, i / 8))),
};

function sliderRange(key, state) {
  if (SCALES[key]) return [0, SCALES[key].length - 1];
  return key === "a" || key === "b" ? [0, state.length - 1] : LIMITS[key];
}

function sliderPlace(key, value) {
  const scale = SCALES[key];
  if (!scale) return value;
  return scale.reduce((best, v, i) => Math.abs(Math.log(v / value)) < Math.abs(Math.log(scale[best] / value)) ? i : best, 0);
}

let state, committed;

function showControls() {
  const keys = ["encoding", ...used(state)];
  for (const control of document.querySelectorAll("[data-for]")) control.hidden = !keys.includes(control.dataset.for);
  for (const key of ["encoding", ...new Set(Object.values(USED).flat())]) {
    const field = $(key), slider = $(key + "-slider"), [low, high] = key === "a" || key === "b" ? [0, state.length - 1] : LIMITS[key] || [];
    if (slider) {
      [slider.min, slider.max] = sliderRange(key, state);
      slider.step = 1;
      slider.value = sliderPlace(key, state[key]);
      slider.setAttribute("aria-valuetext", plain(state[key]));
      [field.min, field.max] = [low, high];
    }
    if (!(document.activeElement === field && Number(field.value) === state[key])) field.value = state[key];
  }
  for (const link of document.querySelectorAll(".presets a")) {
    if (link.hash === "#" + fragmentOf(state)) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

/** The numbers that stand in sentences and tiles, by their names there. */
function facts(numbers) {
  const {a, b, length: n} = state, best = numbers.aliases[0], beside = a > b ? a - 1 : a + 1;
  return {
    a, b, beside, nearer: numbers.nearer, nearest: numbers.nearest, pair: text(numbers.pair), apart: Math.abs(b - a),
    best: text(numbers.values[numbers.nearest]), neighbour: a === b ? "" : text(numbers.values[beside]),
    rank: a === b ? "–" : `${numbers.nearer + 1} of ${n - 1}` + (numbers.tied ? ` (${numbers.tied + 1} share it)` : ""),
    cosine: numbers.isBias ? "" : text(numbers.cosine), distance: numbers.isBias ? "" : text(numbers.distance),
    lobe: numbers.mainLobe ?? "never", alias: best ? `${plain(best.offset)} (${text(best.similarity, 3)})` : "none",
    alike: best ? `${a + best.offset} (${text(best.similarity, 3)})` : "",
  };
}

function words(numbers) {
  const {a, b} = state, shift = Boolean(numbers.kernel), found = facts(numbers);
  const say = a === b ? "same" : numbers.isBias ? "bias" : numbers.nearer ? "other" : Math.abs(a - b) > 1 ? "far" : "nearest";
  for (const part of document.querySelectorAll("[data-fact]")) part.textContent = found[part.dataset.fact];
  for (const part of document.querySelectorAll("[data-say]")) part.hidden = !part.dataset.say.split(" ").includes(say);
  for (const part of document.querySelectorAll("[data-of]")) part.hidden = !part.dataset.of.split(" ").includes(state.encoding);
  $("stored").hidden = !(shift && data.designs[state.frequencies]);
  const alias = shift && numbers.mainLobe !== null && Math.abs(a - b) >= numbers.mainLobe && numbers.pair > numbers.kernel[1];
  $("result").classList.toggle("alias", alias);
  const rows = aliasRows(numbers);
  $("aliases").tBodies[0].innerHTML = rows.map(({cells, pair}) =>
    `<tr${pair ? ' class="pair"' : ""}>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`).join("");
  $("aliases").hidden = $("some").hidden = !rows.length;
  $("none").hidden = rows.length > 0;
}

/** The cells of the table of aliases, or of offsets that T5 cannot tell apart; whether a row is that of the pair. */
function aliasRows(numbers) {
  const {a, b, length: n} = state, apart = Math.abs(b - a);
  if (numbers.groups) {
    return numbers.groups.map((g) => ({
      cells: [`${text(g.sign * g.first, 0)} to ${text(g.sign * g.last, 0)}`, g.bucket, text(g.bias)], pair: apart >= g.first && apart <= g.last}));
  }
  return numbers.aliases.map(({offset, similarity}) => {
    const other = a + offset < n ? a + offset : a - offset, there = other >= 0 && other < n;
    const nearer = numbers.kernel ? [similarity > numbers.kernel[1] + TIE ? "yes" : "no"] : [];
    const button = there ? `<button type="button" data-b="${other}">${a} and ${other}</button>` : "";
    return {cells: [text(offset, 0), text(similarity), ...nearer, button], pair: offset === (numbers.kernel ? apart : b - a)};
  });
}

/** The numbers, for whoever reads the document. */
function expose(numbers) {
  const exact = (x) => x === null || x === undefined ? "" : String(x);
  Object.assign($("result").dataset, {
    fragment: fragmentOf(state), pair: exact(numbers.pair), cosine: exact(numbers.cosine), distance: exact(numbers.distance),
    nearer: numbers.nearer, tied: numbers.tied, nearest: exact(numbers.nearest), mainLobe: exact(numbers.mainLobe),
    aliases: JSON.stringify(numbers.aliases.map(({offset, similarity}) => [offset, similarity])),
  });
}

function draw() {
  const numbers = numbersOf(state);
  words(numbers);
  drawKernel(state, numbers);
  drawHeat(state, numbers);
  drawLines(state, numbers);
  expose(numbers);
  return numbers;
}

let frameRequest = 0, commitTimer = 0;

function later() {
  if (!frameRequest) frameRequest = requestAnimationFrame(() => { frameRequest = 0; draw(); });
}

/** The state goes into the address when the hand rests: one step of history for one movement. */
function commit() {
  clearTimeout(commitTimer);
  commitTimer = setTimeout(() => {
    const fragment = fragmentOf(state);
    if (fragment === committed) return;
    committed = fragment;
    history.pushState(null, "", "#" + fragment);
  }, 250);
}

function note(notes) {
  $("note").hidden = !notes.length;
  $("note").textContent = notes.length ? `Adjusted to valid values: ${notes.join("; ")}.` : "";
}

function load() {
  clearTimeout(commitTimer);
  const read = fromFragment(location.hash);
  state = read.state;
  committed = fragmentOf(state);
  if (location.hash !== "#" + committed) history.replaceState(null, "", "#" + committed);
  note(read.notes);
  showControls();
  later();
}

function change(key, value) {
  const changed = possible({...state, [key]: value});
  state = changed.state;
  note(changed.notes);
  showControls();
  later();
  commit();
}

$("controls").addEventListener("submit", (event) => event.preventDefault());
$("controls").addEventListener("input", ({target}) => {
  const key = target.id.replace("-slider", "");
  if (target.type === "range") change(key, SCALES[key] ? SCALES[key][target.value] : Number(target.value));
  else if (target.type === "number") {  // while it is typed, only what is possible; the rest waits for the end
    if (target.value !== "" && !possible({...state, [key]: target.value}).notes.length) change(key, target.value);
  } else change(key, target.value);
});
$("controls").addEventListener("change", ({target}) => {
  if (target.type === "number" && Number(target.value) !== state[target.id] || target.value === "") change(target.id, target.value);
});
$("aliases").addEventListener("click", ({target}) => {
  if (target.dataset.b) change("b", Number(target.dataset.b));
});
$("kernel").addEventListener("click", ({clientX}) => {
  const {left, w, first, n} = kernelAxis, x = clientX - $("kernel").getBoundingClientRect().left;
  const offset = first + Math.round((x - left) / w * (n - 1)), other = state.a + offset < n ? state.a + offset : state.a - offset;
  if (other >= 0 && other < n) change("b", other);
});
addEventListener("hashchange", load);
load();
let seenWidth = widthOf("kernel");
new ResizeObserver(() => {
  if (widthOf("kernel") === seenWidth) return;
  seenWidth = widthOf("kernel");
  later();
}).observe($("kernel"));
