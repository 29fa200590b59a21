// Buttons that copy a table and save it as CSV. A table's text: a true minus sign is a hyphen again, what stands small
// below a number stands behind it, and a text that a spreadsheet would compute has an apostrophe before it.
for (const table of document.querySelectorAll("table[data-name]")) {
  const inCell = (cell) => Array.from(cell.childNodes, (node) => node.textContent.trim()).filter(Boolean).join(" ");
  const asText = (text) => /^([=@]|[+-](?!$|[\d.,]+(e[+-]?\d+)?( |$)))/.test(text) ? "'" + text : text;
  const lines = Array.from(table.rows, (row) =>
    Array.from(row.cells, (cell) => asText(inCell(cell).replaceAll("\u2212", "-"))));
  const quoted = (text) => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  const button = (name, action) => {
    const made = Object.assign(document.createElement("button"), {type: "button", textContent: name});
    made.addEventListener("click", () => action(made));
    return made;
  };
  const copy = async (pressed) => {
    let done = true;
    try { await navigator.clipboard.writeText(lines.map((line) => line.join("\t")).join("\n")); }
    catch { getSelection().selectAllChildren(table); done = document.execCommand("copy"); getSelection().empty(); }
    pressed.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => { pressed.textContent = "Copy"; }, 1500);
  };
  const save = () => {
    const text = lines.map((line) => line.map(quoted).join(",") + "\r\n").join("");
    const url = URL.createObjectURL(new Blob(["\ufeff" + text], {type: "text/csv"}));
    Object.assign(document.createElement("a"), {href: url, download: table.dataset.name + ".csv"}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  const tools = Object.assign(document.createElement("div"), {className: "tools"});
  tools.append(button("Copy", copy), button("CSV", save));
  table.parentElement.before(tools);
}
