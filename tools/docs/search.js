// The search of the menu: pages, sections and symbols that have all words of the field, the best titles first.
const field = document.getElementById("search");
const found = document.getElementById("found");
const base = document.body.dataset.base;
const limit = 30;

function score([title, , words], wanted) {
  const inTitle = title.toLowerCase();
  const inWords = words.toLowerCase();
  let sum = 0;
  for (const word of wanted) {
    const at = inTitle.indexOf(word);
    if (inTitle === word || inTitle.endsWith("::" + word) || inTitle.endsWith("." + word)) sum += 100;
    else if (at >= 0) sum += 20 - Math.min(at, 10);
    else if (inWords.includes(word)) sum += 1;
    else return 0;
  }
  return sum - inTitle.length / 1000;
}

function excerpt(words, wanted) {
  const at = Math.max(0, words.toLowerCase().indexOf(wanted[0]) - 40);
  return words.substring(at, at + 120);
}

function show() {
  const wanted = field.value.toLowerCase().split(/\s+/).filter(word => word);
  found.replaceChildren();
  if (!wanted.length) return;
  const best = searchIndex.map(record => [score(record, wanted), record]).filter(([sum]) => sum > 0);
  best.sort((a, b) => b[0] - a[0]);
  for (const [, [title, where, words]] of best.slice(0, limit)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = base + where;
    link.textContent = title;
    const text = document.createElement("small");
    text.textContent = excerpt(words, wanted);
    item.append(link, text);
    found.append(item);
  }
  if (!best.length) found.append("Nothing has all of these words.");
}

field.addEventListener("input", show);
