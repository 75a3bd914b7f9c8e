// Go through all slides and leave, in the page, what does not fit or is not set.
function wrongWith(slide) {
  const found = new Set();
  const page = { right: 1280 + 1, bottom: 720 + 1 };
  for (const part of slide.querySelectorAll("*:not(svg *):not(aside, aside *)")) {
    const box = part.getBoundingClientRect();
    if (!box.width || part.closest("mjx-assistive-mml")) continue;
    if (box.bottom > page.bottom || box.top < -1) found.add("is too tall");
    if (box.right > page.right || box.left < -1) found.add("is too wide");
    const cut = getComputedStyle(part).overflowX !== "visible";
    if (cut && part.scrollWidth > part.clientWidth + 1) found.add("is cut on the right");
  }
  if (!slide.innerText.trim() && !slide.querySelector("img")) found.add("is empty");
  // MathJax sets a macro that it does not know in red.
  if (slide.querySelector("[data-mml-node=merror], [data-mml-node=mtext][fill=red]"))
    found.add("has a formula with an error");
  const text = slide.cloneNode(true);
  text.querySelectorAll("pre, code, mjx-container").forEach((part) => part.remove());
  if (/\$|\\[a-z]{2}/.test(text.textContent)) found.add("has a formula that is not set");
  return [...found];
}

// The page is what a projector shows, whatever size the window has.
Object.assign(document.body.style, { width: "1280px", height: "720px" });

Reveal.on("ready", () => {
  const found = [];
  if (Reveal.getScale() !== 1) found.push(`the scale is ${Reveal.getScale()}`);
  Reveal.getSlides().forEach((slide, number) => {
    const { h, v } = Reveal.getIndices(slide);
    Reveal.slide(h, v);
    while (Reveal.availableFragments().next) Reveal.nextFragment();
    const cells = [...slide.querySelectorAll("[id^=cell-id]")].map((c) => c.id.slice(8));
    for (const what of wrongWith(slide))
      found.push(`slide ${number + 1} (${cells.join(", ")}) ${what}`);
  });
  const result = document.createElement("pre");
  result.id = "misfits";
  result.textContent = JSON.stringify(found);
  document.body.append(result);
});
