// Once formulas are set and figures there: shrink what is too large, go on on another
// slide where that would make it too small to read, then begin.
const READABLE = 0.7; // of the text
const CLEAR = 1; // of a figure, for what is written in it
const sizes = [];
for (const scale of [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65])
  for (const pixel of [1.6, 1.4, 1.2, 1, 0.9, 0.8, 0.7, 0.6]) sizes.push({ scale, pixel });
// Small text is worse than a small figure, if both can be read.
const worth = ({ scale, pixel }) =>
  20 * (scale >= READABLE) + 10 * (pixel >= CLEAR) + scale ** 2 * pixel;
sizes.sort((one, other) => worth(other) - worth(one));

function fits(slide) {
  const box = slide.getBoundingClientRect();
  if (slide.scrollHeight > 720 || slide.scrollWidth > 1280) return false;
  const parts = slide.querySelectorAll("pre, img, table, mjx-container");
  return [...parts].every((part) => {
    const right = part.getBoundingClientRect().left + part.scrollWidth;
    return part.getBoundingClientRect().right <= box.right - 40 && right <= box.right - 40;
  });
}

// Give a slide the best size that fits, and return it; 0 if none does.
function fit(slide) {
  for (const { scale, pixel } of sizes) {
    slide.style.setProperty("--scale", scale); // of the text
    slide.style.setProperty("--pixel", pixel + "px"); // of a figure
    if (fits(slide)) return { scale, pixel: hasFigure(slide) ? pixel : CLEAR };
  }
  return { scale: 0, pixel: 0 };
}

function isReadable(slide) {
  return fit(slide).scale >= READABLE;
}

function isClear(slide) {
  const { scale, pixel } = fit(slide);
  return scale >= READABLE && pixel >= CLEAR;
}

function settle(slide) {
  if (isClear(slide)) return;
  const parts = partsOf(slide);
  const least = parts[0].matches("h1, h2, h3") ? 2 : 1; // no heading alone
  if (parts.length <= least) return;
  const rest = shell(parts[0].parentElement, slide);
  const move = () => rest.home.prepend(parts.pop());
  while (parts.length > least && !isClear(slide)) move();
  // What a figure shows is said beside it, be the figure small.
  const last = parts[parts.length - 1], next = rest.home.firstElementChild;
  if (hasFigure(last) && isText(next)) {
    if (parts.length > least) move();
    else {
      last.after(next);
      if (!isReadable(slide)) rest.home.prepend(next);
    }
  }
  if (!rest.home.children.length) return;
  slide.after(rest.slide);
  rest.slide.querySelector(".fragment:first-child")?.classList.remove("fragment");
  settle(slide);
  settle(rest.slide);
}

function hasFigure(part) {
  return part.querySelector("img") !== null;
}

function isText(part) {
  return part.matches(".jp-MarkdownCell") || part.querySelector(".jp-MarkdownCell") !== null;
}

// The cells of a slide, or the paragraphs of its only cell.
function partsOf(slide) {
  const cells = [...slide.children].filter((part) => part.localName !== "aside");
  const text = slide.querySelector(".jp-RenderedMarkdown");
  return cells.length > 1 || !text ? cells : [...text.children];
}

// What is around the parts of a slide, empty: the new slide, and the place for parts.
function shell(element, slide) {
  const home = element.cloneNode(false);
  if (element === slide) return { slide: home, home };
  const outer = shell(element.parentElement, slide);
  outer.home.append(home);
  return { slide: outer.slide, home };
}

MathJax = {
  tex: { inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true },
  options: { enableMenu: false },
  startup: {
    pageReady: async () => {
      await MathJax.startup.defaultPageReady();
      keepPunctuation();
      keepCode();
      if (document.readyState !== "complete")
        await new Promise((done) => addEventListener("load", done));
      document.body.classList.add("fitting");
      document.querySelectorAll("section:not(:has(section))").forEach(settle);
      document.body.classList.remove("fitting");
      await Reveal.initialize({
        width: 1280, height: 720, margin: 0, center: false, hash: true,
        controls: false, navigationMode: "linear", slideNumber: "c/t",
        transition: "none", plugins: [RevealNotes],
      });
    },
  },
};
