// The state of the page: read from the fragment and the controls, written to the fragment, the words and the figures.

const LIMITS = data.limits;
const USED = {  // the settings that an encoding has; only these stand in its links
  sinusoidal: ["d", "base", "frequencies", "length", "a", "b"],
  rope: ["d", "base", "frequencies", "length", "a", "b"],
  alibi: ["head", "length", "a", "b"],
  t5: ["head", "length", "a", "b"],
  learned: ["d", "seed", "length", "a", "b"],
};
const CONVENTIONS = ["vaswani", "tensor2tensor", "resonance", ...Object.keys(data.designs)];
const $ = (id) => document.getElementById(id);

const used = (state) => USED[state.encoding].filter((key) => key !== "base" || !data.designs[state.frequencies]);

const fragmentOf = (state) => "encoding=" + state.encoding + used(state).map((key) => `&${key}=${state[key]}`).join("");

/** The nearest possible state, and a note for everything that had to change. */
function possible(wanted) {
  const state = {...data.start, ...wanted}, notes = [];
  const choose = (key, known) => {
    if (known.includes(state[key])) return;
    notes.push(`${key} “${String(state[key]).slice(0, 40)}” is not known; showing ${data.start[key]}`);
    state[key] = data.start[key];
  };
  choose("encoding", Object.keys(USED));
  choose("frequencies", CONVENTIONS);
  const clamp = (key, low, high, why = "") => {
    const given = String(state[key]).trim(), value = given === "" ? NaN : Number(given);
    const exact = key === "base" ? value : Math.round(value);
    let next = Number.isNaN(value) ? data.start[key] : exact;
    next = Math.min(Math.max(next, low), high);
    if (key === "d" && next % 2) next -= 1;
    if (next !== value) {
      notes.push(Number.isNaN(value) ? `${key} “${given.slice(0, 40)}” is not a number; showing ${next}`
        : `${key} ${given.slice(0, 40)} becomes ${next} (${key === "d" && exact === value && value >= low && value <= high ? "even numbers only" : `${low} to ${high}${why}`})`);
    }
    state[key] = next;
  };
  for (const key of ["d", "base", "head", "seed", "length"]) clamp(key, ...LIMITS[key]);
  const design = data.designs[state.frequencies];
  if (design && used(state).includes("d") && !design[state.d]) {
    const sizes = Object.keys(design).map(Number), near = sizes.reduce((x, y) => Math.abs(y - state.d) < Math.abs(x - state.d) ? y : x);
    notes.push(`these frequencies are stored for d ${sizes.join(", ")}; showing ${near}`);
    state.d = near;
  }
  for (const key of ["a", "b"]) clamp(key, 0, state.length - 1, `, at length ${state.length}`);
  return {state, notes};
}

function fromFragment(fragment) {
  const given = {}, notes = [];
  for (const [key, value] of new URLSearchParams(fragment.replace(/^#/, ""))) {
    if (key === "encoding" || Object.values(USED).some((keys) => keys.includes(key))) given[key] = value;
    else notes.push(`“${key.slice(0, 40)}” is not a setting and was ignored`);
  }
  const result = possible(given);
  return {state: result.state, notes: [...notes, ...result.notes]};
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
  $("d-label").textContent = state.encoding === "rope" ? "Dimensions (d of a head)" : "Dimensions (d_model)";
  $("head-label").textContent = `Head (1 to ${LIMITS.head[1]})`;
  for (const key of ["encoding", ...USED.sinusoidal, "head", "seed"]) {
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

const count = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

/** The result in one sentence or two. */
function sentence(numbers) {
  const {a, b} = state, value = text(numbers.pair);
  if (a === b) return `a and b are the same position, ${a}: choose two.`;
  const equal = numbers.tied ? ` (${count(numbers.tied, "other")} equally near)` : "";
  if (numbers.isBias) {
    const kind = state.encoding === "t5" ? "Untrained, a" : "A";
    const better = numbers.nearer ? `${count(numbers.nearer, "other key")} ${numbers.nearer === 1 ? "has" : "have"} a larger bias` : "no other key has a larger bias";
    return `${kind} query at position ${a} gets ${value} added to its logit for the key at ${b}: ${better}${numbers.tied ? `, ${numbers.tied} an equal one` : ""}.`;
  }
  const measure = state.encoding === "rope" ? "logit of equal contents" : "cosine";
  const beside = a > b ? a - 1 : a + 1;
  if (!numbers.nearer) {
    const over = Math.abs(a - b) > 1 ? ` Its neighbour ${beside} has ${text(numbers.values[beside])}.` : "";
    return `Position ${b} is the nearest to position ${a}${equal}: ${measure} ${value}.${over}`;
  }
  return `Position ${b} has ${measure} ${value} with position ${a}; ${count(numbers.nearer, "position")} ${numbers.nearer === 1 ? "is" : "are"} nearer` +
    `${equal}. The nearest is ${numbers.nearest}, with ${text(numbers.values[numbers.nearest])}.`;
}

function facts(numbers) {
  const rank = state.a === state.b ? "–" : `${numbers.nearer + 1} of ${state.length - 1}`, best = numbers.aliases[0];
  if (numbers.isBias) {
    return [["bias", text(numbers.pair)], ["rank of b", rank], ["distance a to b", String(Math.abs(state.b - state.a))],
      ["cosine", "none: no vectors"]];
  }
  const found = [["cosine", text(numbers.cosine)], ["distance", text(numbers.distance)], ["rank of b", rank]];
  if (numbers.kernel) {
    found.push(["main lobe ends at", numbers.mainLobe === null ? "never" : String(numbers.mainLobe)]);
    found.push(["strongest alias", best ? `${plain(best.offset)} (${text(best.similarity, 3)})` : "none"]);
  } else found.push(["most like a", `${state.a + best.offset} (${text(best.similarity, 3)})`]);
  return found;
}

const ABOUT = {
  sinusoidal: "",
  rope: "RoPE has no position vectors: it rotates queries and keys. This page shows the logit of two equal contents of length 1, spread evenly over the planes, as a fraction of the logit at equal positions; real contents weight the planes, and a trained model chooses those weights.",
  alibi: "ALiBi adds −slope × distance to the logits, with a fixed slope for each head. The bias always falls with distance, so no far position can be mistaken for a near one: there are no aliases.",
  t5: `In T5’s bias, only the assignment of distances to buckets is fixed: near ones have their own, far ones share, from ${-data.t5.starts[1] + 1} on all share one. The value of each bucket and head is learned. This page shows initial values, drawn at random from the distribution that posenc_jax uses: the steps are meaningful, their heights are not. (Both directions, as in an encoder.)`,
  learned: "A learned table starts as random rows and learns everything, so nothing here holds in general: this page shows initial rows (normal, one seed), whose similarity is chance. In few dimensions, chance similarity is large; it shrinks as 1/√d.",
};

function words(numbers) {
  const shift = state.encoding === "sinusoidal" || state.encoding === "rope", n = state.length;
  $("line").textContent = sentence(numbers);
  $("facts").innerHTML = facts(numbers).map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("");
  const alias = shift && numbers.mainLobe !== null && Math.abs(state.a - state.b) >= numbers.mainLobe && numbers.pair > numbers.kernel[1];
  $("result").classList.toggle("alias", alias);
  const stored = shift && data.designs[state.frequencies] ? "These frequencies are stored values of a design of this project, not of a published method: side lobes are lower, but all far positions are about equally dissimilar. " : "";
  $("about").textContent = stored + ABOUT[state.encoding];
  $("about").hidden = !$("about").textContent;

  $("kernel-title").textContent = shift ? "Similarity by offset (the kernel)" : numbers.isBias ? `Bias of head ${state.head}, seen from position ${state.a}` : `Similarity to position ${state.a}`;
  $("kernel-caption").textContent = shift
    ? "Mean of cos(offset × frequency), the same wherever the pair lies. Shaded: the main lobe, up to where the curve first rises. Dotted: the similarity of the next position; an offset whose similarity lies above it looks nearer than that position. Orange: the strongest aliases. Ring: the pair; click to move b."
    : numbers.isBias ? "The value added to the logit of a key, by its offset from the query. Ring: the pair; click to move b." : "Cosine of row a with every other row. Orange: the strongest chance similarities. Ring: the pair; click to move b.";

  $("heat-title").textContent = numbers.isBias ? `Heat map of the bias, head ${state.head}` : state.encoding === "rope" ? "Heat map of the logits" : "Heat map of the encoding";
  $("heat-caption").textContent = (state.encoding === "sinusoidal"
    ? "One column per position. All sines first, fastest on top, then all cosines: the paper’s vectors with their dimensions reordered, which changes no cosine similarity and no distance."
    : state.encoding === "learned" ? "One column per position; the colour scale spans three standard deviations each way." : "Query a: solid line; key b: dashed line.") +
    (n > 700 || state.d > 300 ? " A pixel that covers several values shows their mean." : "");

  $("lines-title").textContent = numbers.planes ? "Contribution of each plane to the pair’s logit" : numbers.isBias ? "Bias of queries at a and b for every key" : "Both vectors";
  $("lines-caption").innerHTML = numbers.planes ? "The cosine of the angle by which each plane turns from a to b; the logit is the mean of these cosines."
    : `<span class="mark one"></span>position ${state.a} &nbsp; <span class="mark two"></span>position ${state.b}`;
  aliasTable(numbers);
}

function aliasTable(numbers) {
  const titles = {t5: "Offsets that share one bias", learned: "Chance similarities"};
  $("aliases-title").textContent = titles[state.encoding] || "Aliases";
  const row = (cells, pair, head) => `<tr${pair ? ' class="pair"' : ""}>` + cells.map((c) => head ? `<th scope="col">${c}</th>` : `<td>${c}</td>`).join("") + "</tr>";
  const {a, b, length: n} = state;
  let head = [], rows = [], caption = "";
  if (numbers.groups) {
    head = ["offsets (key minus query)", "bucket", "bias"];
    rows = numbers.groups.map((g) => row([`${text(g.sign * g.first, 0)} to ${text(g.sign * g.last, 0)}`, g.bucket, text(g.bias)],
      Math.abs(b - a) >= g.first && Math.abs(b - a) <= g.last));
    caption = "T5 cannot tell the offsets in a row apart, however it is trained. Marked: the row of the pair.";
  } else if (numbers.aliases.length) {
    const neighbour = numbers.kernel ? numbers.kernel[1] : null;
    head = ["offset", numbers.kernel ? "similarity" : "cosine", ...(neighbour === null ? [] : ["nearer than the next position?"]), "look at"];
    rows = numbers.aliases.map(({offset, similarity}) => {
      const other = a + offset < n ? a + offset : a - offset, there = other >= 0 && other < n;
      const button = there ? `<button type="button" data-b="${other}">${a} and ${other}</button>` : "";
      const isPair = numbers.kernel ? Math.abs(b - a) === offset : b - a === offset;
      return row([text(offset, 0), text(similarity), ...(neighbour === null ? [] : [similarity > neighbour + TIE ? "yes" : "no"]), button], isPair);
    });
    if (numbers.kernel && numbers.peaks.length > rows.length) caption = `The strongest ${rows.length} of ${numbers.peaks.length} peaks beyond the main lobe.`;
  } else {
    caption = numbers.kernel ? "None: the curve never rises within this length." : "None: the bias falls with every step away from the query.";
  }
  $("aliases").innerHTML = rows.length ? `<thead>${row(head, false, true)}</thead><tbody>${rows.join("")}</tbody>` : "";
  $("aliases-caption").textContent = caption;
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
