"use strict";
// Rows to label. `root` is the element to fill, `post` sends a request and returns {state, isStale}, `keys` is the element
// whose keys answer, and `canStop` whether a person can end the program. Returns functions that send and show.
function mountLabelPage(root, post, keys, canStop = true) {
  root.classList.add("semisvm", "semisvm-label");
  root.innerHTML = `
    <header>
      <p class="progress" role="status" aria-live="polite"><span data-part="sentence">Loading …</span><progress data-part="bar" hidden aria-label="Labels so far, of those expected"></progress></p>
      <p class="soft" data-part="target"></p>
    </header>
    <section class="card" tabindex="0" role="region" aria-label="The row to label">
      <h2 data-part="row" tabindex="-1"></h2>
      <div data-part="cells"></div>
      <details>
        <summary>What is asked, and what is proved</summary>
        <p data-part="reason"></p>
        <p class="soft">Rows are drawn at random. You see neither what the model thinks of a row nor its score, so that you are
        not led. "Don't know" counts as an answer; "Later" asks again. "Undo" takes the last answer back. Stop whenever you like,
        and go on later. Keys: the numbers and letters on the buttons.</p>
      </details>
    </section>
    <footer>
      <p class="trouble" role="alert"></p>
      <div class="buttons classes" role="group" aria-label="What is this row?"></div>
      <div class="buttons more" role="group" aria-label="Other answers">
        <button type="button" data-do="unknown" aria-keyshortcuts="?"><kbd aria-hidden="true">?</kbd>Don't know</button>
        <button type="button" data-do="later" aria-keyshortcuts="l"><kbd aria-hidden="true">l</kbd>Later</button>
        <button type="button" data-do="undo" aria-keyshortcuts="u"><kbd aria-hidden="true">u</kbd>Undo</button>
        <button type="button" data-do="stop" aria-keyshortcuts="q"><kbd aria-hidden="true">q</kbd>Stop for now</button>
      </div>
    </footer>`;
  const part = (name) => root.querySelector(`[data-part=${name}]`);
  const trouble = root.querySelector(".trouble"), card = root.querySelector(".card");
  root.querySelector("[data-do=stop]").hidden = !canStop;
  let state = null, busy = false, shownPlace = null;

  function make(tag, content, className) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(content);
    return element;
  }

  function classButton({name, key}) {
    const button = make("button", "");
    button.type = "button";
    button.dataset.label = name;
    if (key) {
      const hint = make("kbd", key);
      hint.setAttribute("aria-hidden", "true");
      button.append(hint);
      button.setAttribute("aria-keyshortcuts", key);
    }
    button.append(name);
    button.addEventListener("click", () => send({do: "answer", place: state.row.place, label: name}));
    return button;
  }

  function picture({name, value}) {
    const image = make("img", "");
    image.alt = name;
    image.addEventListener("load", () => image.classList.toggle("small", image.naturalWidth < 100));
    image.src = value;
    const figure = make("figure", image);
    figure.append(make("figcaption", name));
    return figure;
  }

  // A text whose addresses are links.
  function linked(tag, value, className) {
    const element = make(tag, "", className);
    value.split(/(https?:\/\/[^\s<>"]*[^\s<>".,;:!?')\]])/).forEach((piece, k) => {
      const link = k % 2 ? make("a", piece) : piece;
      if (k % 2) Object.assign(link, {href: piece, target: "_blank", rel: "noopener noreferrer"});
      element.append(link);
    });
    return element;
  }

  function text({name, value}) {
    const block = make("div", make("h2", name), "text");
    block.append(linked("p", value));
    return block;
  }

  function table(cells) {
    const list = make("dl", "");
    for (const {name, value} of cells) {
      list.append(make("dt", name), value === "" ? make("dd", "(empty)", "empty") : linked("dd", value));
    }
    return list;
  }

  function draw(cells) {
    const drawn = [];
    let short = [];
    for (const cell of cells) {
      if (cell.kind !== "image" && cell.kind !== "text") { short.push(cell); continue; }
      if (short.length) drawn.push(table(short));
      short = [];
      drawn.push(cell.kind === "image" ? picture(cell) : text(cell));
    }
    if (short.length) drawn.push(table(short));
    return drawn;
  }

  function drawRow(row) {
    part("row").textContent = row ? `Row ${row.number} of ${state.source}` : "There is nothing left to label.";
    if (row && row.place === shownPlace) return;
    shownPlace = row ? row.place : null;
    const cells = row ? row.cells : [], extra = cells.filter((cell) => cell.is_extra);
    const wasOpen = Boolean(part("cells").querySelector("details[open]"));
    part("cells").replaceChildren(...draw(cells.filter((cell) => !cell.is_extra)));
    if (extra.length) {
      const fold = make("details", make("summary", extra.length === 1 ? "1 more column" : `${extra.length} more columns`));
      fold.open = wasOpen;
      fold.append(...draw(extra));
      part("cells").append(fold);
    }
    if (row && !row.cells.length) part("cells").append("The file has no named columns: find the row by its number.");
    card.scrollTop = 0;
  }

  function show(next) {
    const isNew = !state;
    state = next;
    const {row, progress} = state;
    part("target").textContent = `${state.target} for “${state.positive}”, about the rows of ${state.source} that had no label. ${state.saved}`;
    part("sentence").textContent = state.stopped === true ? `${progress.sentence} Saved. You may close this page.` : progress.sentence;
    root.querySelector(".progress").classList.toggle("certified", progress.is_certified);
    part("bar").hidden = progress.n_more === null;
    part("bar").max = progress.n_labels + (progress.n_more ?? 0) || 1;
    part("bar").value = progress.n_labels;
    part("reason").textContent = progress.reason;
    if (isNew) root.querySelector(".classes").replaceChildren(...state.classes.map(classButton));
    drawRow(row);
    const isOver = !row || Boolean(state.stopped);
    for (const button of root.querySelectorAll(".classes button, [data-do=unknown], [data-do=later]")) button.disabled = isOver;
    root.querySelector("[data-do=undo]").disabled = !progress.can_undo || Boolean(state.stopped);
    root.querySelector("[data-do=stop]").disabled = Boolean(state.stopped);
    if (typeof state.stopped === "string") trouble.textContent = `The last answer was not saved. ${state.stopped}`;
  }

  async function send(request) {
    if (busy || (state && state.stopped)) return;
    busy = true;
    trouble.textContent = "";
    try {
      const reply = await post(request);
      if (reply.isStale) trouble.textContent = "That row was answered already, here or in another window. This is the next one.";
      show(reply.state);
      if (request) part("row").focus({preventScroll: true});
    } catch (error) {
      trouble.textContent = "The program does not answer. If it was stopped, start it again: your answers are saved.";
    } finally {
      busy = false;
    }
  }

  function act(name) {
    if (name === "unknown" && state.row) send({do: "answer", place: state.row.place, label: null});
    else if (name === "later" && state.row) send({do: "later", place: state.row.place});
    else if (name === "undo" && state.progress.can_undo) send({do: "undo"});
    else if (name === "stop" && canStop) send({do: "stop"});
  }

  for (const button of root.querySelectorAll("[data-do]")) button.addEventListener("click", () => act(button.dataset.do));
  keys.addEventListener("keydown", (event) => {
    if (!state || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    const chosen = state.classes.find((label) => label.key === key);
    const other = {"?": "unknown", l: "later", u: "undo", backspace: "undo", q: "stop"}[key];
    if (chosen && state.row) send({do: "answer", place: state.row.place, label: chosen.name});
    else if (other) act(other);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {send, show};
}
