// A line must not begin with the punctuation or the `-th` that follows a formula, nor end
// with the bracket before one: for a browser, a formula is a picture, and it may break a
// line at either side of it.
const OPENS = /[（“‘《【(\[]+$/;
const CLOSES = /^(?:[，。、；：！？）”’》】…,.;:!?)\]%]|[-'’][a-z]+)+/i;

function keepPunctuation() {
  for (const set of document.querySelectorAll("mjx-container:not([display])")) {
    const formula = set.closest("span.math") ?? set;  // Sphinx has an element around it
    const before = formula.previousSibling, after = formula.nextSibling;
    const opening = textOf(before).match(OPENS)?.[0] ?? "";
    const closing = textOf(after).match(CLOSES)?.[0] ?? "";
    if (!opening && !closing) continue;
    const whole = document.createElement("span");
    whole.style.whiteSpace = "nowrap";
    formula.replaceWith(whole);
    whole.append(opening, formula, closing);
    if (opening) before.data = before.data.slice(0, -opening.length);
    if (closing) after.data = after.data.slice(closing.length);
  }
}

// Short code stays on a line, and so does a word of longer code: browsers would break it
// at each hyphen, also between those of `--word`.
function keepCode() {
  const short = 30;
  for (const code of document.querySelectorAll("code:not(pre code)")) {
    const text = code.textContent;
    if (text.length <= short) code.style.whiteSpace = "nowrap";
    else code.replaceChildren(...text.split(/( )/).map((word) => {
      const part = document.createElement("span");
      if (word.length <= short) part.style.whiteSpace = "nowrap";
      part.append(word);
      return word === " " ? word : part;
    }));
  }
}

function textOf(node) {
  return node?.nodeType === Node.TEXT_NODE ? node.data : "";
}
