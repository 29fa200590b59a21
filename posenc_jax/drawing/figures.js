// Draws the figures of a page; the page defines DARK, the colours of dark pages by those of light ones.
const darkPage = matchMedia("(prefers-color-scheme: dark)");
function draw() {
  let text = document.getElementById("figures").textContent;
  if (darkPage.matches) for (const [light, dark] of Object.entries(DARK)) text = text.replaceAll(light, dark);
  for (const [id, figure] of Object.entries(JSON.parse(text))) {
    // Room for the legend above the plot: more lines of it on a narrow screen.
    const width = Math.max(document.getElementById(id).clientWidth - 100, 100);
    const names = figure.data.filter((trace) => trace.showlegend !== false).map((trace) => trace.name.length * 8 + 50);
    const rows = Math.ceil(1.2 * names.reduce((sum, one) => sum + one, 0) / width);
    figure.layout.height += 27 * Math.max(rows - 1, 0);
    Plotly.react(id, figure.data, figure.layout, {
      responsive: true, displaylogo: false, modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
      showSendToCloud: false, plotlyServerURL: "", toImageButtonOptions: {filename: id, scale: 3}
    });
  }
}
async function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
unpacked("plotly").then((code) => {
  document.head.append(Object.assign(document.createElement("script"), {textContent: code}));
  draw();
  darkPage.addEventListener("change", draw);
}, () => {
  for (const figure of document.querySelectorAll(".figure"))
    figure.textContent = "This browser is too old to unpack the figures: open the page in one of 2023 or later.";
});
