
const SECONDS_TO_ANSWER = 30;

function renderLabelWidget({model, el}) {
  const page = document.createElement("div"), verdict = document.createElement("aside");
  el.classList.add("semisvm", "semisvm-widget");
  el.replaceChildren(page, verdict);
  page.tabIndex = 0;
  page.setAttribute("aria-label", "Rows to label");
  const waiting = new Map(), view = Math.random().toString(36);  // of several views of one widget
  let count = 0;

  function post(request) {
    if (!request) return Promise.resolve({state: model.get("state"), isStale: false});
    count += 1;
    const id = `${view} ${count}`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("no answer")), 1000 * SECONDS_TO_ANSWER);
      waiting.set(id, (reply) => {
        clearTimeout(timer);
        resolve({state: model.get("state"), isStale: reply.is_stale});
      });
      model.send({...request, id});
    });
  }

  const label = mountLabelPage(page, post, page, false);
  const showState = () => {
    label.show(model.get("state"));
    verdict.innerHTML = model.get("state").verdict;  // made and escaped in Python
  };
  const answered = (reply) => {
    waiting.get(reply.id)?.(reply);
    waiting.delete(reply.id);
  };
  model.on("change:state", showState);
  model.on("msg:custom", answered);
  showState();
  return () => {
    model.off("change:state", showState);
    model.off("msg:custom", answered);
  };
}
export default {render: renderLabelWidget};
