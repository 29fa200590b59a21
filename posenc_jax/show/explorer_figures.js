// Figures: lines as SVG, heat maps as an image below an SVG with axes and marks.

// Of the style sheet, which has them for a dark page too; on the heat map, whose colours stay, marks are dark on white.
const BLUE = "var(--blue)", ORANGE = "var(--orange)", INK = "var(--ink)", MUTED = "var(--muted)", GRID = "var(--line)", PAPER = "var(--paper)", MARK = "#1f2933";

/** 256 colours from deep blue over near white to deep orange, as the 32 bits of a canvas pixel. */
const PALETTE = (() => {
  const stops = [[0, 45, 90], [0, 114, 178], [122, 183, 221], [247, 247, 247], [240, 164, 108], [213, 94, 0], [110, 42, 0]];
  return Uint32Array.from({length: 256}, (_, i) => {
    const at = i / 255 * (stops.length - 1), k = Math.min(Math.floor(at), stops.length - 2);
    const [r, g, b] = stops[k].map((c, j) => Math.round(c + (at - k) * (stops[k + 1][j] - c)));
    return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
  });
})();

const hex = (pixel) => "#" + [0, 8, 16].map((s) => (pixel >>> s & 255).toString(16).padStart(2, "0")).join("");

/** A number in words: a true minus sign, at most so many decimals, no trailing zeros if short. */
function text(x, decimals = 6, short = false) {
  let s = x.toFixed(decimals);
  if (short && s.includes(".")) s = s.replace(/\.?0+$/, "");
  return (Number(s) === 0 ? s.replace("-", "") : s).replace("-", "\u2212");
}

const plain = (x) => text(x, 6, true);

/** About so many round numbers within low .. high. */
function ticks(low, high, count) {
  const raw = (high - low) / Math.max(count, 1), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].find((m) => m * power >= raw * 0.999) * power, found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(Number((i * step).toPrecision(12)));
  return found;
}

const wholeTicks = (low, high, count) => ticks(low, high, count).filter(Number.isInteger);

/** A frame with axes: scales x and y and the SVG text of grid, ticks and titles. */
function frame(width, height, {x: [x0, x1], y: [y0, y1], xTitle, yTitle, left = 58, right = 14, top = 12, flip = false, grid = true}) {
  const bottom = 44, w = width - left - right, h = height - top - bottom;
  const x = (v) => left + (v - x0) / (x1 - x0) * w;
  const y = (v) => flip ? top + (v - y0) / (y1 - y0) * h : top + h - (v - y0) / (y1 - y0) * h;
  let svg = "";
  for (const v of ticks(y0, y1, h / 45)) {
    if (grid) svg += `<line x1="${left}" x2="${left + w}" y1="${y(v)}" y2="${y(v)}" stroke="${GRID}"/>`;
    svg += `<text x="${left - 8}" y="${y(v) + 4}" text-anchor="end">${plain(v)}</text>`;
  }
  for (const v of wholeTicks(x0, x1, Math.min(w / 60, 12))) {
    svg += `<line x1="${x(v)}" x2="${x(v)}" y1="${top + h}" y2="${top + h + 5}" stroke="${MUTED}"/>`;
    svg += `<text x="${x(v)}" y="${top + h + 18}" text-anchor="middle">${plain(v)}</text>`;
  }
  svg += `<line x1="${left}" x2="${left + w}" y1="${top + h}" y2="${top + h}" stroke="${MUTED}"/>`;
  svg += `<text class="title" x="${left + w / 2}" y="${height - 6}" text-anchor="middle">${xTitle}</text>`;
  svg += `<text class="title" transform="translate(13 ${top + h / 2}) rotate(-90)" text-anchor="middle">${yTitle}</text>`;
  return {x, y, svg, left, top, w, h};
}

const path = (xs, ys) => {
  let d = "";
  for (let i = 0; i < xs.length; i++) d += (i ? "L" : "M") + xs[i].toFixed(2) + " " + ys[i].toFixed(2);
  return d;
};

function picture(id, width, height, label, inner) {
  document.getElementById(id).innerHTML =
    `<svg role="img" aria-label="${label}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${inner}</svg>`;
}

const widthOf = (id) => Math.max(document.getElementById(id).clientWidth, 240);

let kernelAxis = {left: 0, w: 1, first: 0, n: 1};  // of the last picture: which offset a click means

/** The kernel by offset; or, of a table or a bias, what position a has for every other one. */
function drawKernel(state, numbers) {
  const width = widthOf("kernel"), height = 300, n = state.length, byOffset = Boolean(numbers.kernel);
  const first = byOffset ? 0 : -state.a, values = byOffset ? numbers.kernel : numbers.values;
  let low = Math.min(...values), high = Math.max(...values);
  const pad = (high - low || 1) * 0.06;
  low -= pad;
  high = numbers.isBias ? high + pad : Math.max(high, 1) + 0.1 * (1 - low);
  const f = frame(width, height, {
    x: [first, first + n - 1], y: [low, high], yTitle: numbers.isBias ? "added to the logit" : "similarity",
    xTitle: byOffset ? "offset between two positions" : `offset from position ${state.a}`});
  kernelAxis = {left: f.left, w: f.w, first, n};
  let svg = "";
  if (byOffset) {
    const end = numbers.mainLobe === null ? n - 1 : numbers.mainLobe - 1;
    svg += `<rect x="${f.x(0)}" y="${f.top}" width="${Math.max(f.x(end) - f.x(0), 1.5)}" height="${f.h}" fill="var(--lobe)"/>`;
  }
  svg += f.svg;
  if (byOffset && n > 1) {
    svg += `<line x1="${f.x(0)}" x2="${f.x(n - 1)}" y1="${f.y(values[1])}" y2="${f.y(values[1])}" stroke="${INK}" stroke-dasharray="2 4"/>`;
  }
  const xs = Array.from(values, (_, i) => f.x(first + i)), ys = Array.from(values, (v) => f.y(v));
  if (state.encoding === "learned" || state.encoding === "t5") {  // no curve between positions
    const dots = xs.map((x, i) => `M${x.toFixed(1)} ${ys[i].toFixed(1)}h0`).join("");
    svg += `<path d="${dots}" stroke="${BLUE}" stroke-width="${n > 400 ? 2.6 : 4.4}" stroke-linecap="round"/>`;
  } else {
    svg += `<path d="${path(xs, ys)}" fill="none" stroke="${BLUE}" stroke-width="${n > 600 ? 1 : 1.6}" stroke-linejoin="round"/>`;
  }
  const taken = [];
  for (const {offset, similarity} of numbers.aliases) {
    const x = f.x(offset), y = f.y(similarity);
    svg += `<path d="M${x - 4.5} ${y - 4}h9l-4.5 7z" fill="${ORANGE}" stroke="${PAPER}" stroke-width=".8"/>`;
    if (taken.every((other) => Math.abs(other - x) > 34)) {
      svg += `<text class="strong" x="${Math.min(x, width - 26)}" y="${y - 8}" text-anchor="middle">${plain(offset)}</text>`;
      taken.push(x);
    }
  }
  const pair = byOffset ? Math.abs(state.b - state.a) : state.b - state.a;
  svg += `<line x1="${f.x(pair)}" x2="${f.x(pair)}" y1="${f.top}" y2="${f.top + f.h}" stroke="${INK}"/>`;
  svg += `<circle cx="${f.x(pair)}" cy="${f.y(numbers.pair)}" r="5" fill="${PAPER}" stroke="${INK}" stroke-width="2.2"/>`;
  picture("kernel", width, height, `Curve over ${n} offsets; the pair lies at offset ${pair} with ${text(numbers.pair)}.`, svg);
}

/** Means of whole blocks where the image is smaller than the data, which position p of n enters at floor(p W / n). */
function shrunk(value, n, rows, maxColumns, maxRows) {
  const W = Math.min(n, maxColumns), H = Math.min(rows, maxRows), sums = new Float64Array(W * H);  // column by column
  const perColumn = new Float64Array(W), perRow = new Float64Array(H);
  const row = Int32Array.from({length: rows}, (_, i) => Math.floor(i * H / rows));
  row.forEach((at) => perRow[at]++);
  for (let p = 0; p < n; p++) {
    const column = Math.floor(p * W / n), start = p * rows, to = column * H;
    perColumn[column]++;
    for (let i = 0; i < rows; i++) sums[to + row[i]] += value[start + i];
  }
  const values = new Float32Array(W * H);
  for (let i = 0; i < H; i++) for (let j = 0; j < W; j++) values[i * W + j] = sums[j * H + i] / (perColumn[j] * perRow[i]);
  return {W, H, values};
}

/** Pixels of values: low and below is the first colour of the palette, high and above the last. */
function coloured(values, low, high) {
  const pixels = new Uint32Array(values.length), scale = 255 / (high - low);
  for (let i = 0; i < values.length; i++) pixels[i] = PALETTE[Math.max(0, Math.min(255, Math.round((values[i] - low) * scale)))];
  return pixels;
}

let image = {key: "", canvas: null};

/** The image of a table [positions, dimensions] or of logits by offset [query, key], once for each encoding and size. */
function heatImage(state, numbers, pixels) {
  const n = state.length, vectors = !numbers.isBias && state.encoding !== "rope", key = [state.encoding, numbers.key, pixels].join();
  if (image.key === key) return image;
  let low, high, W, H, cells;
  if (vectors) {
    high = state.encoding === "learned" ? 3 * data.learned_scale : 1;
    low = -high;
    const small = shrunk(numbers.table, n, state.d, pixels[0], pixels[1]);
    ({W, H} = small);
    cells = coloured(small.values, low, high);
  } else {
    // Every row is the row above moved by one: a window on one line of colours. Where a pixel holds several offsets,
    // it shows their mean (weights of a triangle: those of pairs within a block).
    const at = (offset) => numbers.kernel ? numbers.kernel[Math.abs(offset)] : numbers.bias[offset + n - 1];
    W = H = Math.min(n, pixels[0]);
    const scale = n / W, reach = Math.floor(scale - 1e-9), line = new Float64Array(2 * W - 1);
    for (let m = 1 - W; m < W; m++) {
      let sum = 0, weights = 0;
      for (let o = Math.ceil(m * scale) - reach; o <= Math.floor(m * scale) + reach; o++) {
        const weight = scale - Math.abs(o - m * scale);
        if (weight <= 0 || Math.abs(o) >= n) continue;
        sum += weight * at(o);
        weights += weight;
      }
      line[m + W - 1] = sum / weights;
    }
    [low, high] = numbers.kernel ? [-1, 1] : biasRange(state, numbers);
    const colours = coloured(line, low, high);
    cells = new Uint32Array(W * H);
    for (let i = 0; i < H; i++) cells.set(colours.subarray(W - 1 - i, 2 * W - 1 - i), i * W);
  }
  const canvas = document.createElement("canvas");
  canvas.width = W;
  canvas.height = H;
  canvas.getContext("2d").putImageData(new ImageData(new Uint8ClampedArray(cells.buffer), W, H), 0, 0);
  image = {key, canvas, low, high};
  return image;
}

/** Colours of a bias: symmetric about 0. */
function biasRange(state, numbers) {
  const far = Math.max(...numbers.bias.map(Math.abs)) || 1;
  return [-far, far];
}

function drawHeat(state, numbers) {
  const holder = document.getElementById("heat"), vectors = !numbers.isBias && state.encoding !== "rope", n = state.length;
  const width = widthOf("heat"), side = Math.min(width - 72, 460);
  const wide = vectors ? width : side + 72, height = vectors ? (state.d > 64 ? 360 : 250) : side + 56;
  const f = frame(wide, height, vectors
    ? {x: [-0.5, n - 0.5], y: [-0.5, state.d - 0.5], xTitle: "position", yTitle: "dimension", flip: true, grid: false}
    : {x: [-0.5, n - 0.5], y: [-0.5, n - 0.5], xTitle: "key position", yTitle: "query position", flip: true, grid: false});
  const ratio = window.devicePixelRatio || 1, pixels = [Math.round(f.w * ratio), Math.round(f.h * ratio)];
  const {canvas: source, low, high} = heatImage(state, numbers, pixels);

  let svg = "";
  const mark = (p, colour, name, dash, edge) => {
    const x = f.x(p), y = f.y(p), inside = Math.min(Math.max(x, f.left + 5), f.left + f.w - 5);
    const line = (x1, y1, x2, y2) => `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#fff" stroke-width="3.4"/>` +
      `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="${colour}" stroke-width="1.8" stroke-dasharray="${dash}"/>`;
    if (vectors) svg += line(x, f.top, x, f.top + f.h);
    else svg += edge === "row" ? line(f.left, y, f.left + f.w, y) : line(x, f.top, x, f.top + f.h);
    svg += vectors || edge !== "row"
      ? `<text class="tag" x="${inside}" y="${f.top - 4}" text-anchor="middle">${name}</text>`
      : `<text class="tag" x="${f.left + f.w + 4}" y="${y + 4}">${name}</text>`;
  };
  if (state.encoding === "sinusoidal") {
    const y = f.y(state.d / 2 - 0.5);
    svg += `<line x1="${f.left}" x2="${f.left + f.w}" y1="${y}" y2="${y}" stroke="#fff" stroke-width="3"/>`;
  }
  mark(state.a, MARK, "a", "", "row");
  mark(state.b, MARK, "b", "5 3", "column");
  holder.innerHTML = `<div class="stack" style="width:${wide}px;height:${height}px"><canvas role="img"></canvas>` +
    `<svg aria-hidden="true" width="${wide}" height="${height}">${f.svg}${svg}</svg></div>` +
    `<div class="legend"><span>${plain(low)}</span><span class="bar"></span><span>${plain(high)}</span></div>`;
  const canvas = holder.querySelector("canvas"), context = canvas.getContext("2d");
  [canvas.width, canvas.height] = pixels;
  Object.assign(canvas.style, {left: f.left + "px", top: f.top + "px", width: f.w + "px", height: f.h + "px"});
  canvas.setAttribute("aria-label", vectors ? `Values of ${state.d} dimensions at ${n} positions, between ${plain(low)} and ${plain(high)}.`
    : `Logits of ${n} queries and keys by position.`);
  context.imageSmoothingEnabled = false;
  context.drawImage(source, 0, 0, pixels[0], pixels[1]);
  const colours = Array.from({length: 9}, (_, i) => hex(PALETTE[Math.round(i / 8 * 255)]));
  holder.querySelector(".bar").style.background = `linear-gradient(90deg, ${colours.join(",")})`;
}

/** Both vectors over the dimensions; of biases, what either query adds for every key; of RoPE, its planes. */
function drawLines(state, numbers) {
  const width = widthOf("lines"), height = 270, planes = numbers.planes;
  const series = planes ? [planes] : numbers.vectors, count = series[0].length;
  const all = series.flatMap((s) => [Math.min(...s), Math.max(...s)]);
  let low = Math.min(...all), high = Math.max(...all);
  if (!numbers.isBias && state.encoding !== "learned") [low, high] = [-1, 1];
  const pad = (high - low || 1) * 0.06, f = frame(width, height, {
    top: 20, x: [0, Math.max(count - 1, 1)], y: [low - pad, high + pad], yTitle: planes ? "cosine of the angle" : numbers.isBias ? "added to the logit" : "value",
    xTitle: planes ? "plane, fastest first" : numbers.isBias ? "key position" : "dimension"});
  let svg = f.svg;
  if (state.encoding === "sinusoidal") {
    const middle = f.x(count / 2 - 0.5);
    svg += `<line x1="${middle}" x2="${middle}" y1="${f.top}" y2="${f.top + f.h}" stroke="${MUTED}" stroke-dasharray="2 3"/>`;
    svg += `<text x="${middle - 6}" y="${f.top - 5}" text-anchor="end">sines</text><text x="${middle + 6}" y="${f.top - 5}">cosines</text>`;
  }
  series.forEach((values, s) => {
    const xs = Array.from(values, (_, i) => f.x(i)), ys = Array.from(values, (v) => f.y(v));
    const colour = s ? ORANGE : BLUE, dash = s ? ' stroke-dasharray="7 4"' : "";
    svg += `<path d="${path(xs, ys)}" fill="none" stroke="${colour}" stroke-width="${s ? 2.2 : 2}"${dash} stroke-linejoin="round"/>`;
    if (count <= 40) {
      svg += xs.map((x, i) => s ? `<rect x="${x - 3.2}" y="${ys[i] - 3.2}" width="6.4" height="6.4" fill="${PAPER}" stroke="${colour}" stroke-width="2"/>`
        : `<circle cx="${x}" cy="${ys[i]}" r="4.2" fill="${colour}"/>`).join("");
    }
  });
  picture("lines", width, height, planes ? `Cosines of ${count} planes.` : `Two lines of ${count} values, for positions ${state.a} and ${state.b}.`, svg);
}
