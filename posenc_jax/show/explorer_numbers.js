// Everything the page shows, computed in float64 from a state; nothing here touches the document.
// data is what Python embedded: limits, slopes, buckets, initial biases, stored frequencies.

const TIE = 1e-12;  // similarities this close are equal: the rounding of a mean of cosines is below 1e-13

/** Radians per position of each of the d/2 planes. */
function frequencies(state) {
  const count = state.d / 2, design = data.designs[state.frequencies];
  if (design) return Float64Array.from(design[state.d]);
  return Float64Array.from({length: count}, (_, k) => {
    if (state.frequencies === "tensor2tensor") return 1 / Math.pow(state.base, k / Math.max(count - 1, 1));
    const plain = Math.pow(state.base, -2 * k / state.d);
    return state.frequencies === "resonance" ? 2 * Math.PI / Math.round(2 * Math.PI / plain) : plain;
  });
}

/** Rows 0 .. n-1 of all sines, then all cosines.
 *
 * Every 16th row from the functions themselves, those between turned on from the row before: wrong by 1e-15 at most,
 * in a fifth of the time. */
function sinusoidalTable(state) {
  const w = frequencies(state), count = w.length, table = new Float64Array(state.length * 2 * count);
  const sin = w.map(Math.sin), cos = w.map(Math.cos);
  for (let p = 0; p < state.length; p++) {
    const at = 2 * count * p, before = at - 2 * count;
    for (let k = 0; k < count; k++) {
      if (p % 16 === 0) {
        table[at + k] = Math.sin(p * w[k]);
        table[at + count + k] = Math.cos(p * w[k]);
      } else {
        const s = table[before + k], c = table[before + count + k];
        table[at + k] = s * cos[k] + c * sin[k];
        table[at + count + k] = c * cos[k] - s * sin[k];
      }
    }
  }
  return {table, frequencies: w};
}

/** 32 well-mixed bits of an integer (rounds of multiply and shift, constants of the "lowbias32" search). */
function mixed(x) {
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 0;
}

/** Rows from N(0, scale^2), a pair of entries from two numbers that depend on seed, row and pair only (Box-Muller). */
function randomTable(state) {
  const table = new Float64Array(state.length * state.d), start = mixed(state.seed + 1);
  for (let p = 0; p < state.length; p++) {
    for (let i = 0; i < state.d; i += 2) {
      const counter = 1024 * p + i;
      const u = (mixed(start ^ mixed(counter)) + 1) / 4294967296, v = mixed(start ^ mixed(counter + 1)) / 4294967296;
      const radius = data.learned_scale * Math.sqrt(-2 * Math.log(u));
      table[p * state.d + i] = radius * Math.cos(2 * Math.PI * v);
      table[p * state.d + i + 1] = radius * Math.sin(2 * Math.PI * v);
    }
  }
  return table;
}

/** The mean cosine of offset times frequency, offsets 0 .. n-1: from the cosines of the table's rows. */
function kernelOf(table, count, rows) {
  const kernel = new Float64Array(rows);
  for (let p = 0; p < rows; p++) {
    let sum = 0;
    for (let k = 0, at = 2 * count * p + count; k < count; k++) sum += table[at + k];
    kernel[p] = sum / count;
  }
  return kernel;
}

/** The offset at which the kernel first rises, where the main lobe is over (null: never), and all peaks from there on.
 *
 * A peak: the kernel rises into it and then, perhaps after a plateau, falls, or ends. */
function lobesOf(kernel) {
  let mainLobe = null, top = null;
  const peaks = [];
  for (let k = 1; k < kernel.length; k++) {
    const step = kernel[k] - kernel[k - 1];
    if (step > TIE) {
      if (mainLobe === null) mainLobe = k;
      top = k;
    } else if (step < -TIE && top !== null) {
      peaks.push({offset: top, similarity: kernel[top]});
      top = null;
    }
  }
  if (top !== null) peaks.push({offset: top, similarity: kernel[top]});
  const level = ({similarity}) => Math.round(similarity / TIE);  // equal peaks of whole wavelengths: the nearest first
  peaks.sort((x, y) => level(y) - level(x) || x.offset - y.offset);
  return {mainLobe, peaks};
}

function t5Bucket(relative) {
  const {starts, buckets} = data.t5;  // the buckets of relative positions starts[i] .. starts[i + 1] - 1
  let i = 0;
  while (i + 1 < starts.length && starts[i + 1] <= relative) i++;
  return buckets[i];
}

/** Offsets of one direction in the same bucket, the buckets that hold several. */
function t5Groups(state, sign) {
  const groups = new Map();
  for (let k = 1; k < state.length; k++) {
    const bucket = t5Bucket(sign * k), group = groups.get(bucket) || {bucket, first: k, last: k};
    group.last = k;
    groups.set(bucket, group);
  }
  return [...groups.values()].filter((group) => group.last > group.first)
    .map((group) => ({...group, sign, bias: data.t5.table[state.head - 1][group.bucket]}));
}

const kept = new Map();  // the last table: moving a pair does not compute it again

function remembered(key, compute) {
  if (!kept.has(key)) {
    kept.clear();
    kept.set(key, compute());
  }
  return kept.get(key);
}

/** What does not depend on the pair: tables, kernel, peaks. */
function encodingOf(state) {
  if (state.encoding === "sinusoidal" || state.encoding === "rope") {
    const key = ["turns", state.d, state.base, state.frequencies, state.length].join();
    return remembered(key, () => {
      const {table, frequencies: w} = sinusoidalTable(state);
      const kernel = kernelOf(table, w.length, state.length);
      return {key, table, frequencies: w, kernel, ...lobesOf(kernel)};
    });
  }
  if (state.encoding === "learned") {
    const key = ["learned", state.d, state.length, state.seed].join();
    return remembered(key, () => {
      const table = randomTable(state), norms = new Float64Array(state.length);
      for (let p = 0; p < state.length; p++) norms[p] = Math.sqrt(dot(table, p * state.d, p * state.d, state.d));
      return {key, table, norms};
    });
  }
  const key = [state.encoding, state.head, state.length].join();
  return remembered(key, () => {
    const bias = new Float64Array(2 * state.length - 1);  // of relative positions -(n-1) .. n-1, key minus query
    for (let i = 0; i < bias.length; i++) {
      const relative = i - state.length + 1;
      bias[i] = state.encoding === "alibi"
        ? -data.alibi_slopes[state.head - 1] * Math.abs(relative) + 0
        : data.t5.table[state.head - 1][t5Bucket(relative)];
    }
    return {key, bias};
  });
}

/** Similarity of position a (as query, where that matters) to every position. */
function similarities(state, encoding) {
  const n = state.length, values = new Float64Array(n), a = state.a;
  if (encoding.kernel) for (let p = 0; p < n; p++) values[p] = encoding.kernel[Math.abs(p - a)];
  else if (encoding.bias) for (let p = 0; p < n; p++) values[p] = encoding.bias[p - a + n - 1];
  else {
    const d = state.d, {table, norms} = encoding;
    for (let p = 0; p < n; p++) values[p] = dot(table, a * d, p * d, d) / (norms[a] * norms[p]);
  }
  return values;
}

function dot(values, i, j, count) {
  let sum = 0;
  for (let k = 0; k < count; k++) sum += values[i + k] * values[j + k];
  return sum;
}

/** All numbers of a state. */
function numbersOf(state) {
  const encoding = encodingOf(state), {a, b, d, length: n} = state;
  const values = similarities(state, encoding), numbers = {...encoding, values, isBias: Boolean(encoding.bias)};
  numbers.pair = values[b];

  if (encoding.table && state.encoding !== "rope") {
    const rows = encoding.table, row = (p) => rows.subarray(p * d, (p + 1) * d);
    numbers.vectors = [row(a), row(b)];
    numbers.cosine = a === b ? 1 : dot(rows, a * d, b * d, d) / Math.sqrt(dot(rows, a * d, a * d, d) * dot(rows, b * d, b * d, d));
    numbers.distance = Math.hypot(...numbers.vectors[0].map((x, i) => x - numbers.vectors[1][i]));
  } else if (state.encoding === "rope") {  // one unit content, the same in every plane, turned by either position
    numbers.cosine = values[b];
    const squares = encoding.frequencies.map((w) => 4 * Math.sin((a - b) * w / 2) ** 2);  // 2 - 2 cos, to the last digit
    numbers.distance = Math.sqrt(squares.reduce((x, y) => x + y, 0) / squares.length);
    numbers.planes = Float64Array.from(encoding.frequencies, (w) => Math.cos((a - b) * w));
  } else {
    const row = (p) => Float64Array.from({length: n}, (_, key) => encoding.bias[key - p + n - 1]);
    numbers.vectors = [row(a), row(b)];
  }

  numbers.nearer = numbers.tied = 0;
  numbers.nearest = null;
  for (let p = 0; p < n; p++) {
    if (p === a) continue;
    if (values[p] > values[b] + TIE) numbers.nearer++;
    else if (p !== b && values[p] >= values[b] - TIE) numbers.tied++;
    if (numbers.nearest === null || values[p] > values[numbers.nearest] + TIE) numbers.nearest = p;
  }

  if (encoding.kernel) {
    numbers.aliases = encoding.peaks.slice(0, 8);
  } else if (encoding.bias) {
    numbers.aliases = [];
    if (state.encoding === "t5") numbers.groups = t5Groups(state, b < a ? -1 : 1);
  } else {
    numbers.aliases = Array.from(values, (similarity, p) => ({offset: p - a, similarity}))
      .filter(({offset}) => offset !== 0).sort((x, y) => y.similarity - x.similarity).slice(0, 8);
  }
  return numbers;
}
