// Once formulas are set: keep together what a page break would tear, and say on the
// console what would not be whole on its page. Sizes are those in book_pdf.css.
async function layOut() {
  if (document.readyState !== "complete")
    await new Promise((done) => addEventListener("load", done));
  const page = document.querySelector("main").getBoundingClientRect();
  const tallest = (page.width * 259) / 176;
  for (const part of document.querySelectorAll("p, li")) {
    const lines = part.getBoundingClientRect().height / parseFloat(getComputedStyle(part).lineHeight);
    // Chromium leaves one line of three alone, whatever `orphans` and `widows` say.
    if (lines < 3.9) part.classList.add("short");
    if (lines < 1.9) part.classList.add("line");
  }
  for (const formula of document.querySelectorAll("mjx-container[display] > svg")) {
    const fitting = page.width / formula.getBoundingClientRect().width;
    if (fitting < 1 && fitting > 0.85) formula.parentElement.style.fontSize = `${99 * fitting}%`;
  }
  for (const part of document.querySelectorAll("p, li, pre, table, img, svg")) {
    const box = part.getBoundingClientRect();
    const cut = part.scrollWidth > part.clientWidth + 1;
    if (cut || box.right > page.right + 1) misfit(part, "wide");
    if (getComputedStyle(part).breakInside === "avoid" && box.height > tallest)
      misfit(part, "tall");
  }
}

function misfit(part, what) {
  const cell = part.closest("[id^=cell-id]").id.slice(8);
  console.log(`misfit: ${cell}: ${part.localName} is too ${what};`);
}

MathJax.startup.pageReady = async () => {
  await MathJax.startup.defaultPageReady();
  keepPunctuation();
  keepCode();
  await layOut();
};
