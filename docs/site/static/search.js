"use strict";
// The search page, with an index of our own (search_index.py). Sphinx reads the query and
// says how many pages were found; here it is looked for, and results are put in order.
{
  const CHINESE = "\u3400-\u9fff";
  const WORDS = new RegExp(`[${CHINESE}]+|[^\\s${CHINESE}，。；：、？！（）“”《》<>"]+`, "gu");
  const LETTER = "[\\p{Script=Latin}\\p{N}]";
  const EDGES = /^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_]+$/gu;
  const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const isChinese = (word) => new RegExp(`^[${CHINESE}]`).test(word);

  // A Chinese word is found anywhere, another one where a word begins, whatever its ending:
  // "query" in "queries". What consists of one or two letters has to be a whole word.
  function pattern(word) {
    if (isChinese(word)) return new RegExp(escaped(word), "g");
    const root = word.length > 4 ? word.replace(/(?:ies|ing|ed|es|s|y|e)$/, "") : word;
    const end = word.length < 3 ? `(?!${LETTER})` : "";
    return new RegExp(`(?<!${LETTER})${escaped(root)}${end}`, "gu");
  }

  const count = (text, word) => (text.match(pattern(word)) || []).length;
  const share = (text, word) => (count(text, word) ? word.length / text.length : 0);

  function wordsOf(query) {
    const words = (query.toLowerCase().match(WORDS) || []).map((w) => w.replace(EDGES, ""));
    const all = [...new Set(words.filter((word) => word))];
    const telling = all.filter((word) => ![...stopwords].includes(word));
    return telling.length ? telling : all;
  }

  // A section is the better the more often it has the words; better still, if it defines
  // what is called so, or has the words as its heading.
  const ofSection = ([, heading, text], words) =>
    words.reduce((sum, word) => {
      const named = share(heading, word);
      const defined = new RegExp(`(?:class|def) ${escaped(word)}(?!\\w)`).test(text);
      const often = Math.log2(1 + count(text, word));
      return sum + often + (defined ? 10 : 0) + (named ? 5 + 20 * named : 0);
    }, 0);

  // Pages that have all words, each with its best section, the best page first.
  function search(words, least = words.length) {
    const results = Object.entries(Search._index.pages).map(([page, sections]) => {
      const title = sections[0][1].toLowerCase();
      const lower = sections.map((section) => section.map((text) => text.toLowerCase()));
      const whole = lower.map(([, heading, text]) => `${heading} ${text}`);
      const found = words.filter((word) => whole.some((text) => count(text, word)));
      const scores = lower.map((section) => ofSection(section, words));
      const best = scores.indexOf(Math.max(...scores));
      const inTitle = words.reduce((sum, word) => sum + share(title, word), 0);
      const often = Math.log2(1 + count(whole.join(" "), words[0] || ""));
      const score = 100 * found.length + scores[best] + often + 30 * inTitle;
      return { page, found, score, section: sections[best], title: sections[0][1] };
    });
    const enough = results.filter(({ found }) => found.length >= least);
    return enough.sort((a, b) => b.score - a.score);
  }

  // What is nowhere: Chinese is looked for by pairs of characters, of which most have to be
  // there ("旋转位置编码是什么"); another word becomes the one that differs least.
  function similar(words) {
    const text = JSON.stringify(Search._index.pages).toLowerCase();
    const known = new Set(text.match(/[a-z]{4,}/g));
    const parts = words.flatMap((word) => {
      if (count(text, word)) return [word];
      if (isChinese(word)) return [...word.slice(1)].map((_, i) => word.slice(i, i + 2));
      const near = [...known].filter((other) => distance(word, other) <= word.length / 4);
      near.sort((a, b) => distance(word, a) - distance(word, b));
      return near.length ? near.slice(0, 1) : [null];
    });
    return parts.includes(null) ? [] : parts;
  }

  // The number of letters to put in, take out or change.
  function distance(a, b) {
    let row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        const changed = row[j - 1] + (a[i - 1] !== b[j - 1]);
        next.push(Math.min(changed, row[j] + 1, next[j - 1] + 1));
      }
      row = next;
    }
    return row[b.length];
  }

  // Formulas and figures by their number; there may be one of each.
  const numbered = (words, asked) =>
    Search._index.named
      .filter(([name]) => words.includes(name.replace(/^\D+|\)$/g, "")))
      .sort(([a], [b]) => asked.includes(b.toLowerCase()) - asked.includes(a.toLowerCase()));

  function element(tag, text, attributes = {}) {
    const made = Object.assign(document.createElement(tag), attributes);
    made.append(text);
    return made;
  }

  function excerpt(text, words) {
    const lower = text.toLowerCase();
    const places = words.map((word) => lower.search(pattern(word))).filter((at) => at >= 0);
    const start = Math.max(0, Math.min(...places, lower.length) - 40) * (places.length > 0);
    const shown = text.slice(start, start + 160);
    const made = element("p", start ? "…" : "", { className: "context" });
    const any = new RegExp(words.map((word) => pattern(word).source).join("|"), "giu");
    let end = 0;
    for (const match of shown.matchAll(any)) {
      made.append(shown.slice(end, match.index), element("mark", match[0]));
      end = match.index + match[0].length;
    }
    made.append(shown.slice(end), start + 160 < text.length ? "…" : "");
    return made;
  }

  function show(href, label, details) {
    const item = document.createElement("li");
    item.append(element("a", label, { href }), ...details);
    Search.output.append(item);
  }

  const CLOSE = document.documentElement.lang.startsWith("zh")
    ? (asked) => `没有找到“${asked}”，下面是相近的。`
    : (asked) => `Nothing has “${asked}”. This comes close.`;

  function query(asked) {
    let words = wordsOf(asked);
    let results = words.length ? search(words) : [];
    const exact = results.length > 0;
    if (!exact) {
      words = similar(words);
      results = words.length ? search(words, Math.ceil(0.6 * words.length)) : [];
    }
    const places = numbered(words, asked.toLowerCase());
    for (const [name, page, id] of places)
      show(`${page}.html#${id}`, `${Search._index.pages[page][0][1]} › ${name}`, []);
    for (const { page, section, title } of results) {
      const [id, heading, text] = section;
      const label = id ? `${title} › ${heading}` : title;
      show(`${page}.html${id && "#"}${id}`, label, [excerpt(text, words)]);
    }
    // The page that is opened marks them.
    localStorage.setItem("sphinx_highlight_terms", words.join(" "));
    _finishSearch(results.length + places.length);
    if (!exact && results.length) Search.status.prepend(CLOSE(asked.trim()), " ");
  }

  // Before Sphinx starts to search.
  document.addEventListener("DOMContentLoaded", () => {
    if (typeof Search !== "undefined") Search.query = query;
  });
}
