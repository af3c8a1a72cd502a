// The label page, in a browser and in a notebook. `call(request)` gives the next state; no request: the present one.
const KEYS = "123456789abcdefghijkmnoprstvwxyz";  // without l, q and u
const OTHERS = { "?": "unknown", l: "later", u: "undo", q: "stop" };

function make(tag, content = "", attributes = {}) {
  const element = document.createElement(tag);
  element.append(...[content].flat());
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

function cellsOf(cells) {
  const list = make("dl"), wide = [];
  for (const { name, value, image } of cells) {
    if (image) wide.push(make("img", "", { src: image, alt: name }));
    else if (value.length > 80) wide.push(make("p", name, { class: "soft" }), make("p", value, { class: "text" }));
    else list.append(make("dt", name), value ? make("dd", value) : make("dd", "(empty)", { class: "soft" }));
  }
  return list.children.length ? [list, ...wide] : wide;
}

function labelPage(root, call, report) {
  let state = null, isBusy = false, isOpen = false;
  const line = make("p", "Loading …", { class: "verdict", role: "status", "aria-live": "polite" });
  const bar = make("progress", "", { "aria-label": "Labels of the budget" });
  const promise = make("p", "", { class: "soft" });
  const main = make("main", "", { tabindex: "0", "aria-label": "The row to label" });
  const trouble = make("p", "", { class: "bad", role: "alert" });
  const classes = make("div", "", { class: "buttons classes" });
  const words = { unknown: "Don't know", later: "Later", undo: "Undo", stop: "Stop" };
  const more = make("div", Object.entries(OTHERS).map(([key, name]) => button(key, words[name], () => act(name), name)),
    { class: "buttons more" });
  const header = make("header", [line, bar, promise]);
  const footer = make("footer", [trouble, classes, more]);
  if (report) more.append(make("a", "Report", { href: report, target: "_blank" }));
  root.append(header, main, footer);

  function button(key, text, onClick, name) {
    const element = make("button", [...(key ? [make("kbd", key)] : []), text], { type: "button", "data-do": name });
    element.addEventListener("click", onClick);
    return element;
  }

  function ask() {
    const input = make("input", "", { type: "number", min: 1, value: 100, "aria-label": state.question });
    const form = make("form", [input, make("button", "Start")], { class: "buttons" });
    form.addEventListener("submit", (event) => { event.preventDefault(); send({ number: input.value }); });
    main.replaceChildren(make("h2", state.question), form,
      make("p", "The proof is planned for that many. You may stop earlier; what is proved then holds.", { class: "soft" }));
    line.textContent = state.promise;
    promise.textContent = "";
    bar.hidden = footer.hidden = true;
    input.focus();
    if (state.is_answered) setTimeout(refresh, 500);  // the session begins
  }

  function show(next) {
    state = next;
    if (state.question) return ask();
    footer.hidden = false;
    line.textContent = state.line;
    promise.textContent = state.promise;
    trouble.textContent = state.trouble;
    bar.hidden = !state.budget;
    bar.max = state.budget || 1;
    bar.value = state.n_labels;
    if (classes.children.length !== state.classes.length)
      classes.replaceChildren(...state.classes.map((name, k) => button(KEYS[k], name, () => answer(name), "answer")));
    const row = state.is_over ? null : state.row, cells = row ? row.cells : [];
    const head = state.is_over ? "Saved. You may close this page."
      : row ? `A row of ${state.source}` : "There is nothing left to label.";
    const rest = make("details", [make("summary", `${cells.length - state.first} more columns`), ...cellsOf(cells.slice(state.first))]);
    rest.open = isOpen;
    rest.addEventListener("toggle", () => { isOpen = rest.open; });
    main.replaceChildren(make("p", head, { class: "soft" }), ...cellsOf(cells.slice(0, state.first)),
      ...(cells.length > state.first ? [rest] : []));
    main.scrollTop = 0;
    for (const each of footer.querySelectorAll("[data-do=answer], [data-do=unknown], [data-do=later]")) each.disabled = !row;
    for (const each of footer.querySelectorAll("[data-do=undo], [data-do=stop]")) each.disabled = state.is_over;
  }

  async function send(request) {
    if (isBusy || (state && state.is_over)) return;
    isBusy = true;
    try { show(await call(request)); }
    catch { trouble.textContent = "The program does not answer. Start it again: your answers are saved."; footer.hidden = false; }
    isBusy = false;
  }

  function refresh() { call().then(show).catch(() => setTimeout(refresh, 1000)); }
  function answer(label) { if (state.row) send({ do: "answer", row: state.row.id, label }); }
  function act(name) { name === "unknown" ? answer(null) : send({ do: name, row: state.row && state.row.id }); }

  const keyboard = root === document.body ? document : root;
  keyboard.addEventListener("keydown", (event) => {
    if (!state || !state.classes || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase(), k = KEYS.indexOf(key);
    if (k >= 0 && state.classes[k] !== undefined) answer(state.classes[k]);
    else if (OTHERS[key]) act(OTHERS[key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  refresh();
}

// in a notebook: a request has a number, and its answer comes after the new state
function render({ model, el }) {
  let last = 0;
  const waiting = new Map();
  model.on("msg:custom", ({ id }) => { waiting.get(id)?.(model.get("state")); waiting.delete(id); });
  const call = (request) => request === undefined ? Promise.resolve(model.get("state"))
    : new Promise((resolve) => { last += 1; waiting.set(last, resolve); model.send({ ...request, id: last }); });
  el.classList.add("semisvm", "widget");
  labelPage(el, call, null);
}

// in a browser
async function callServer(request) {
  const options = request && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
  const response = await fetch("state", options);
  if (!response.ok) throw new Error(response.status);
  return response.json();
}
if (document.body && "label" in document.body.dataset) labelPage(document.body, callServer, "report");

export default { render };
