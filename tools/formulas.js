// A line must not begin with the punctuation that follows a formula, nor end with the
// bracket before one: for Chromium, a formula is a picture that it may break a line at.
function keepPunctuation() {
  for (const formula of document.querySelectorAll("mjx-container:not([display])")) {
    const before = formula.previousSibling, after = formula.nextSibling;
    const opening = textOf(before).match(/[（“‘《【(\[]+$/)?.[0] ?? "";
    const closing = textOf(after).match(/^[，。、；：！？）”’》】…,.;:!?)\]]+/)?.[0] ?? "";
    if (!opening && !closing) continue;
    const whole = document.createElement("span");
    whole.style.whiteSpace = "nowrap";
    formula.replaceWith(whole);
    whole.append(opening, formula, closing);
    if (opening) before.data = before.data.slice(0, -opening.length);
    if (closing) after.data = after.data.slice(closing.length);
  }
}

function textOf(node) {
  return node?.nodeType === Node.TEXT_NODE ? node.data : "";
}
