// Once formulas are set and figures there: shrink what is too large, go on on another
// slide where that would make it too small to read, then begin.
const READABLE = 0.7;
const sizes = [];
for (const scale of [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65])
  for (const pixel of [1.6, 1.4, 1.2, 1, 0.85, 0.7, 0.6]) sizes.push({ scale, pixel });
// Small text is worse than a small figure; what cannot be read comes last.
const worth = ({ scale, pixel }) => (scale >= READABLE) + scale ** 2 * pixel / 2;
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

function fit(slide) {
  for (const { scale, pixel } of sizes) {
    slide.style.setProperty("--scale", scale); // of the text
    slide.style.setProperty("--pixel", pixel + "px"); // of a figure
    if (fits(slide)) return scale;
  }
  return 0;
}

function settle(slide) {
  if (fit(slide) >= READABLE) return;
  const parts = partsOf(slide);
  const least = parts[0].matches("h1, h2, h3") ? 2 : 1; // no heading alone
  if (parts.length <= least) return;
  const rest = shell(parts[0].parentElement, slide);
  const move = () => rest.home.prepend(parts.pop());
  while (parts.length > least && fit(slide) < READABLE) move();
  // What a figure shows is said beside it.
  const [figure, text] = [parts[parts.length - 1], rest.home.firstElementChild];
  if (parts.length > least && figure.querySelector("img") && isText(text)) move();
  slide.after(rest.slide);
  rest.slide.querySelector(".fragment:first-child")?.classList.remove("fragment");
  settle(slide);
  settle(rest.slide);
}

// The cells of a slide, or the paragraphs of its only cell.
function partsOf(slide) {
  const cells = [...slide.children].filter((part) => part.localName !== "aside");
  const text = slide.querySelector(".jp-RenderedMarkdown");
  return cells.length > 1 || !text ? cells : [...text.children];
}

function isText(part) {
  return part.matches(".jp-MarkdownCell") || part.querySelector(".jp-MarkdownCell");
}

function isText(part) {
  return part.matches(".jp-MarkdownCell") || part.querySelector(".jp-MarkdownCell");
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
