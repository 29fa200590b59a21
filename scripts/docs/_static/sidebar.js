// The sidebar is longer than a window: without this the page that is read stands below what is seen of it.
document.addEventListener("DOMContentLoaded", () => {
  const sidebar = document.querySelector(".sidebar-scroll");
  const here = [...document.querySelectorAll(".sidebar-tree .current-page > a")].pop();
  if (!sidebar || !here) return;
  const below = here.getBoundingClientRect().top - sidebar.getBoundingClientRect().top;
  if (below < sidebar.clientHeight * 0.8) return;
  sidebar.scrollTo({ top: below - sidebar.clientHeight / 3, behavior: "instant" }); // the theme's own is slow
});
