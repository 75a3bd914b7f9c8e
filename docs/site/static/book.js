// The one sentence that Sphinx' Chinese catalogue lacks.
if (document.documentElement.lang.startsWith("zh")) {
  const one = "Search finished, found one page matching the search query.";
  Documentation.TRANSLATIONS[one] = ["搜索完成，匹配到${resultCount}处。"];
}

// Sphinx leaves it to the search page to mark nothing; the theme makes every page one.
document.addEventListener("DOMContentLoaded", () => {
  if (DOCUMENTATION_OPTIONS.pagename !== "search") SphinxHighlight.highlightSearchWords();
});

// A formula that is a little too wide is set smaller, so that its number is in sight. A
// wider one is scrolled, by keys too.
function fit() {
  for (const formula of document.querySelectorAll("mjx-container[display]")) {
    const size = (formula.dataset.size ??= parseFloat(formula.style.fontSize) || 100);
    const set = (part) => (formula.style.fontSize = `${part * size}%`);
    const tooWide = () => formula.scrollWidth > formula.clientWidth;
    let part = 1;
    for (set(part); tooWide() && part > 0.8; set(part)) part -= 0.02;
    if (tooWide()) set(1);
    formula.tabIndex = tooWide() ? 0 : -1;
  }
}
document.addEventListener("DOMContentLoaded", () =>
  globalThis.MathJax?.startup.promise.then(keepPunctuation).then(fit)
);
document.addEventListener("toggle", fit, true);
window.addEventListener("resize", fit);

// Paper is white, whatever the screen is.
{
  const page = document.documentElement;
  let theme;
  window.addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  window.addEventListener("afterprint", () => (page.dataset.theme = theme));
}
