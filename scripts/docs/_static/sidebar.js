// Groups of the sidebar are folded, but for that of the page; and the page that is read is in view.
document.addEventListener("DOMContentLoaded", () => {
  for (const caption of document.querySelectorAll(".sidebar-tree p.caption")) {
    const [group, title, pages] = [document.createElement("details"), document.createElement("summary"), caption.nextElementSibling];
    group.className = "group";
    group.open = pages.querySelector(".current-page") !== null;
    title.append(...caption.childNodes);
    caption.replaceWith(group);
    group.append(title, pages);
  }
  const place = location.pathname.match(/^(.*\/)(?:latest|\d+\.\d+)\//); // the folder of all versions
  if (place) {
    const link = Object.assign(document.createElement("a"), { href: `${place[1]}versions.html`, textContent: `Version ${DOCUMENTATION_OPTIONS.VERSION}` });
    link.className = "version";
    document.querySelector(".sidebar-brand").after(link);
  }
  const sidebar = document.querySelector(".sidebar-scroll");
  const here = [...document.querySelectorAll(".sidebar-tree .current-page > a")].pop();
  if (!sidebar || !here) return;
  const below = here.getBoundingClientRect().top - sidebar.getBoundingClientRect().top;
  if (below < sidebar.clientHeight * 0.8) return;
  sidebar.scrollTo({ top: below - sidebar.clientHeight / 3, behavior: "instant" }); // the theme's own is slow
});
