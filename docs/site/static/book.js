// A page that was opened as a file may read no other file, as excerpts would have to.
if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

// The one sentence that Sphinx' Chinese catalogue lacks.
if (document.documentElement.lang.startsWith("zh")) {
  const one = "Search finished, found one page matching the search query.";
  Documentation.TRANSLATIONS[one] = ["搜索完成，匹配到${resultCount}处。"];
}

// A search is for pairs of characters (chinese_search.py); what is marked on the page that
// was found is the word that they make up.
const MARKED = "sphinx_highlight_terms";
const whole = (terms) =>
  terms.reduce((words, term) => {
    const last = words.length - 1;
    const goes_on = /^[\u3400-\u9fff]{2}$/.test(term) && words[last]?.at(-1) === term[0];
    return goes_on ? [...words.slice(0, last), words[last] + term[1]] : [...words, term];
  }, []);
const marked = localStorage.getItem(MARKED);
if (marked) localStorage.setItem(MARKED, whole(marked.split(" ")).join(" "));
// Sphinx leaves it to the search page to mark nothing; the theme makes every page one.
document.addEventListener("DOMContentLoaded", () => {
  if (DOCUMENTATION_OPTIONS.pagename !== "search") SphinxHighlight.highlightSearchWords();
});
