// Draws each figure of a page when it is about to be seen, and all before printing; the page defines DARK, the colours
// of dark pages by those of light ones.
const darkPage = matchMedia("(prefers-color-scheme: dark)");
const drawn = new Set();
let figures = read(), plotly;
function read() {
  let text = document.getElementById("figures").textContent;
  if (darkPage.matches) for (const [light, dark] of Object.entries(DARK)) text = text.replaceAll(light, dark);
  return JSON.parse(text);
}
function height(id) {
  // Room for the legend above the plot: more lines of it on a narrow screen.
  const width = Math.max(document.getElementById(id).clientWidth - 100, 100);
  const shown = figures[id].data.filter((trace) => trace.showlegend !== false);
  const names = shown.reduce((sum, trace) => sum + trace.name.length * 8 + 50, 0);
  return figures[id].layout.height + 27 * Math.max(Math.ceil(1.2 * names / width) - 1, 0);
}
async function draw(id) {
  drawn.add(id);
  if (!await (plotly ??= load().then(() => true, tooOld))) return;
  Plotly.react(id, figures[id].data, {...figures[id].layout, height: height(id)}, {
    responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    showSendToCloud: false, plotlyServerURL: "", toImageButtonOptions: {filename: id, scale: 3}
  });
}
async function load() {
  const bytes = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
  const code = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  document.head.append(Object.assign(document.createElement("script"), {textContent: code}));
}
function tooOld() {
  for (const figure of document.querySelectorAll(".figure"))
    figure.textContent = "This browser is too old to unpack the figures: open the page in one of 2023 or later.";
}
const near = new IntersectionObserver((entries) => {
  for (const {target, isIntersecting} of entries) if (isIntersecting && !drawn.has(target.id)) draw(target.id);
}, {rootMargin: "100%"});  // a screen before it is reached
for (const id in figures) {
  const place = document.getElementById(id);
  place.style.minHeight = `${height(id)}px`;
  near.observe(place);
}
addEventListener("beforeprint", () => Object.keys(figures).filter((id) => !drawn.has(id)).forEach(draw));
darkPage.addEventListener("change", () => {
  figures = read();
  drawn.forEach(draw);
});
