// Once formulas are set and figures there: shrink what is too large, then begin.
const sizes = [];
for (const scale of [1, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65])
  for (const pixel of [1.6, 1.4, 1.2, 1, 0.85, 0.7]) sizes.push({ scale, pixel });
sizes.sort((one, other) => other.scale * other.pixel - one.scale * one.pixel);

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
    if (fits(slide)) return;
  }
}

MathJax = {
  tex: { inlineMath: [["$", "$"], ["\\(", "\\)"]], processEscapes: true },
  options: { enableMenu: false },
  startup: {
    pageReady: async () => {
      await MathJax.startup.defaultPageReady();
      if (document.readyState !== "complete")
        await new Promise((done) => addEventListener("load", done));
      document.body.classList.add("fitting");
      document.querySelectorAll("section:not(:has(section))").forEach(fit);
      document.body.classList.remove("fitting");
      await Reveal.initialize({
        width: 1280, height: 720, margin: 0, center: false, hash: true,
        controls: false, navigationMode: "linear", slideNumber: "c/t",
        transition: "none", plugins: [RevealNotes],
      });
    },
  },
};
