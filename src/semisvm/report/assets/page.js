/* Draws the charts and moves the threshold over a table computed beforehand: no statistics here. */
"use strict";
(function () {
  const drawn = JSON.parse(document.getElementById("drawn").textContent);
  const INK = "var(--ink)", SOFT = "var(--soft)", BLUE = "var(--blue)", ORANGE = "var(--orange)", GRAY = "var(--gray)";
  const FONT = {fontFamily: "inherit", fontSize: "12px", overflow: "visible"};
  const UNSEEN = 640;  /* the width of a chart that is printed but was never on screen */
  const rate = (value) => (value === null || value === undefined ? "undefined" : value.toFixed(3));
  const whole = (value) => (value === null || value === undefined ? "not known" : value.toLocaleString("en"));

  const short = (value) => (Math.abs(value) >= 10000 ? d3.format("~s")(value) : String(Number(value.toPrecision(4))));

  /* A chart fills its place and is drawn again when the width of the place changes. */
  function fill(place, draw) {
    let width = 0;
    const again = () => {
      if (width > 0) place.replaceChildren(...[].concat(draw(width)));
      for (const svg of place.querySelectorAll("svg")) svg.setAttribute("aria-hidden", "true");
    };
    new ResizeObserver(() => {
      const now = Math.floor(place.clientWidth);
      /* not at once: drawing changes the height of the place, which is being observed */
      if (now > 0 && now !== width) { width = now; requestAnimationFrame(again); }
    }).observe(place);
    window.addEventListener("beforeprint", () => { if (!width) { width = UNSEEN; again(); width = 0; } });
    return again;
  }

  /* Put charts side by side: as many as fit at the width `least`, up to `most`. Returns the width of each. */
  function divide(place, width, least, most) {
    const gap = 24, columns = Math.max(1, Math.min(most, Math.floor((width + gap) / (least + gap))));
    place.style.gridTemplateColumns = "repeat(" + columns + ", minmax(0, 1fr))";
    return Math.floor((width - gap * (columns - 1)) / columns);
  }

  function titled(title, chart) {
    const box = document.createElement("div"), head = document.createElement("p");
    head.className = "chart-title";
    head.textContent = title;
    box.append(head, chart);
    return box;
  }

  /* Dots with their intervals, one line each, with the name above it; the last or chosen one in color. */
  function drawEstimates(steps, width, from, to, least) {
    const known = steps.filter((step) => step.value !== null), color = (step) => (step.last ? BLUE : GRAY);
    return Plot.plot({
      style: FONT, width, height: 34 + 46 * steps.length, marginLeft: 7, marginRight: 14, marginTop: 6, marginBottom: 28,
      x: {domain: [from, to], ticks: width < 250 ? 3 : 5, label: null, tickFormat: short},
      y: {domain: steps.map((step) => step.k), type: "band", axis: null, padding: 0},
      color: {type: "identity"},
      marks: [
        Plot.gridX({ticks: width < 250 ? 3 : 5, stroke: "var(--line)", strokeOpacity: 1}),
        least === null ? null : Plot.tickX(steps, {x: () => least, y: "k", insetTop: 27, stroke: SOFT, strokeDasharray: "4 3", strokeWidth: 1.5}),
        Plot.text(steps, {y: "k", x: from, dx: -6, dy: -8, text: "name", textAnchor: "start", fill: INK, stroke: "var(--page)", strokeWidth: 5}),
        Plot.text(steps, {y: "k", x: to, dx: 8, dy: -8, text: (step) => rate(step.value), textAnchor: "end", fontWeight: 650, fill: INK, stroke: "var(--page)", strokeWidth: 5}),
        Plot.ruleY(known.filter((step) => step.low !== null && step.high !== null), {y: "k", x1: "low", x2: "high", dy: 9, stroke: color, strokeWidth: 5, strokeOpacity: 0.45, strokeLinecap: "round"}),
        Plot.dot(known, {y: "k", x: "value", dy: 9, r: 5, fill: color, stroke: "var(--page)", strokeWidth: 1.5}),
      ],
    });
  }

  function drawComparison(place) {
    const steps = drawn.comparison.map((step, k) => ({...step, k: String(k)}));
    const ends = steps.flatMap((step) => [step.value, step.low, step.high]).filter((value) => value !== null);
    if (!ends.length) { place.hidden = true; return; }
    const from = Math.min(...ends), to = Math.max(...ends), edge = (to - from) * 0.05 || 0.05;
    fill(place, (width) => drawEstimates(steps, Math.min(width, 640), from - edge, to + edge, null));
  }

  function drawAudit(place, answer) {
    const audit = answer.audit, shares = audit.measures.filter((measure) => measure.name !== "cost");
    const asked = Object.values(answer.asked).filter((value) => value !== null);
    const lows = shares.flatMap((measure) => measure.estimates.map(([value, low]) => low ?? value ?? 1));
    const from = Math.max(0, Math.floor(Math.min(...lows, ...asked, 0.9) * 10 - 1e-9) / 10);
    fill(place, (full) => audit.measures.map((measure) => {
      const most = audit.measures.length, width = full < 700 ? divide(place, full, full, 1) : divide(place, full, 150, most);
      const steps = measure.estimates.map(([value, low, high], k) => ({
        k: String(k), name: audit.steps[k], value, low, high, last: k === audit.steps.length - 1,
      }));
      const isCost = measure.name === "cost";
      const to = isCost ? Math.max(...steps.map((step) => step.high ?? step.value ?? 0)) || 1 : 1;
      return titled(measure.title, drawEstimates(steps, width, isCost ? 0 : from, to, answer.asked[measure.name] ?? null));
    }));
  }

  function drawCurve(place, answer, state) {
    const curve = answer.curve;
    const rows = curve.cut.map((cut, k) => ({
      precision: curve.precision[k], low: curve.precision_low[k], high: curve.precision_high[k],
      recall: curve.recall[k], left: curve.recall_low[k], right: curve.recall_high[k],
    }));
    const known = rows.filter((row) => row.precision !== null);
    let latest = null;
    place.addEventListener("click", (event) => {
      if (!latest) return;
      const box = latest.getBoundingClientRect(), scale = box.width / latest.viewBox.baseVal.width;
      const x = latest.scale("x").invert((event.clientX - box.left) / scale), y = latest.scale("y").invert((event.clientY - box.top) / scale);
      let best = state.now, distance = Infinity;
      rows.forEach((row, k) => {
        const away = row.precision === null ? Infinity : Math.hypot(row.recall - x, row.precision - y);
        if (away < distance) { distance = away; best = k; }
      });
      state.move(best);
    });
    return fill(place, (width) => {
      const now = rows[state.now], chosen = curve.chosen === null ? null : rows[curve.chosen];
      latest = Plot.plot({
        style: FONT, width, height: Math.min(430, Math.max(270, width * 0.8)), marginLeft: 40, marginBottom: 38, marginRight: 14,
        x: {domain: [0, 1], label: "Recall →", labelAnchor: "center", ticks: 5},
        y: {domain: [0, 1], label: "↑ Precision", ticks: 5},
        marks: [
          Plot.gridX({ticks: 5, stroke: "var(--line)", strokeOpacity: 1}), Plot.gridY({ticks: 5, stroke: "var(--line)", strokeOpacity: 1}),
          answer.asked.precision === null ? null : Plot.ruleY([answer.asked.precision], {stroke: SOFT, strokeDasharray: "5 4", strokeWidth: 1.5}),
          answer.asked.recall === null ? null : Plot.ruleX([answer.asked.recall], {stroke: SOFT, strokeDasharray: "5 4", strokeWidth: 1.5}),
          Plot.areaY(known, {x: "recall", y1: "low", y2: "high", fill: BLUE, fillOpacity: 0.13}),
          Plot.line(known, {x: "recall", y: "precision", stroke: BLUE, strokeWidth: 2.25, strokeLinejoin: "round"}),
          chosen && chosen.precision !== null ? Plot.dot([chosen], {x: "recall", y: "precision", symbol: "diamond", r: 6.5, fill: INK, stroke: "var(--page)", strokeWidth: 1.5}) : null,
          now.precision === null ? null : [
            Plot.ruleX([now], {x: "recall", y1: "low", y2: "high", stroke: ORANGE, strokeWidth: 2}),
            Plot.ruleY([now], {y: "precision", x1: "left", x2: "right", stroke: ORANGE, strokeWidth: 2}),
            Plot.dot([now], {x: "recall", y: "precision", r: 7, fill: "none", stroke: ORANGE, strokeWidth: 3}),
          ],
        ],
      });
      return latest;
    });
  }

  function drawBins(place, answer, state) {
    const bins = answer.bins, last = bins.edges.length - 1;
    const bars = (counts, base, fillColor) => counts.map((count, k) => ({
      from: bins.edges[k], to: bins.edges[k + 1], low: base ? base[k] : 0, high: (base ? base[k] : 0) + count, fill: fillColor,
    })).filter((bar) => bar.high > bar.low);
    const groups = [
      ["Labeled rows", [...bars(bins.negative, null, ORANGE), ...bars(bins.positive, bins.negative, BLUE)]],
      ["Unlabeled rows", bars(bins.unlabeled, null, GRAY)],
    ].filter(([, found]) => found.length);
    return fill(place, (width) => groups.map(([title, found], k) => {
      const cut = state ? state.cut() : null, isLast = k === groups.length - 1;
      return titled(title, Plot.plot({
        style: FONT, width, height: isLast ? 152 : 130, marginLeft: 40, marginRight: 14, marginTop: 8, marginBottom: isLast ? 38 : 18,
        x: {domain: [bins.edges[0], bins.edges[last]], label: isLast ? "Score →" : null, labelAnchor: "center", ticks: Math.max(3, Math.min(9, width / 80))},
        y: {label: null, ticks: 3, tickFormat: (value) => (Number.isInteger(value) ? whole(value) : "")},
        color: {type: "identity"},
        marks: [
          Plot.gridY({ticks: 3, stroke: "var(--line)", strokeOpacity: 1}),
          Plot.rectY(found, {x1: "from", x2: "to", y1: "low", y2: "high", fill: "fill", inset: 0.5}),
          Plot.ruleY([0], {stroke: SOFT}),
          cut === null || !Number.isFinite(cut) || cut < bins.edges[0] || cut > bins.edges[last] ? null : Plot.ruleX([cut], {stroke: INK, strokeWidth: 2.5}),
        ],
      }));
    }));
  }

  /* Evidence against labels, one line per threshold; beside it what each threshold takes. */
  function drawCampaign(place) {
    const found = drawn.campaign, done = found.certified_at;
    const points = found.paths.flatMap((path, k) => path.map((value, i) => ({k, label: found.labels[i], value, is: done[k] !== null})));
    const dots = done.map((at, k) => ({k, at})).filter(({at}) => at !== null).map(({k, at}) => ({label: at, value: found.paths[k][found.labels.indexOf(at)]}));
    const bars = found.prices.map((price, k) => ({...price, k: String(k)}));
    const most = Math.max(1, ...bars.map((bar) => bar.length || 0));
    const power = (value) => ({"-3": "1/1000", "-2": "1/100", "-1": "1/10", 0: "enough", 1: "10 ×", 2: "100 ×", 3: "1000 ×"})[value] || "";
    fill(place, (full) => {
      const width = full < 640 ? divide(place, full, full, 1) : divide(place, full, 260, 2);
      return [
        titled("How near each threshold is to a certificate", Plot.plot({
          style: FONT, width, height: 260, marginLeft: 64, marginRight: 14, marginTop: 10, marginBottom: 38,
          x: {label: "Labels →", labelAnchor: "center", ticks: 5}, y: {label: null, ticks: d3.range(-3, 4), tickFormat: power},
          marks: [
            Plot.gridY(d3.range(-3, 4), {stroke: "var(--line)", strokeOpacity: 1}),
            Plot.ruleY([0], {stroke: SOFT, strokeDasharray: "5 4", strokeWidth: 1.5}),
            Plot.line(points.filter((point) => !point.is), {x: "label", y: "value", z: "k", curve: "step-after", stroke: GRAY, strokeWidth: 1.25}),
            Plot.line(points.filter((point) => point.is), {x: "label", y: "value", z: "k", curve: "step-after", stroke: BLUE, strokeWidth: 2}),
            Plot.dot(dots, {x: "label", y: "value", fill: BLUE, r: 3.5, stroke: "var(--page)", strokeWidth: 1}),
          ],
        })),
        titled("Labels that are still needed, about", Plot.plot({
          style: FONT, width, height: 30 + 22 * bars.length, marginLeft: 84, marginRight: 84, marginTop: 4, marginBottom: 24,
          x: {domain: [0, most], label: null, ticks: 4}, y: {domain: bars.map((bar) => bar.k), type: "band", padding: 0.3, label: null, tickSize: 0, tickFormat: (k) => bars[k].name},
          marks: [
            Plot.gridX({ticks: 4, stroke: "var(--line)", strokeOpacity: 1}),
            Plot.barX(bars.filter((bar) => bar.length), {x: "length", y: "k", fill: GRAY}),
            Plot.text(bars, {x: (bar) => bar.length || 0, y: "k", dx: 6, text: "words", textAnchor: "start", fill: INK}),
          ],
        })),
      ];
    });
  }

  /* The slider of one answer: its position, and everything that shows it. */
  function explore(article, answer) {
    const slider = article.querySelector("[data-slider]"), curve = answer.curve;
    const costs = {missed: answer.costs.missed, accepted: answer.costs.accepted};
    const state = {now: curve.start, cut: () => Number(String(curve.cut[state.now]).replace("inf", "Infinity")), move};
    const bins = article.querySelector('[data-chart="bins"]');
    const redraw = [drawCurve(article.querySelector('[data-chart="curve"]'), answer, state)];
    if (bins) redraw.push(drawBins(bins, answer, state));

    const measured = (name, k) => [rate(curve[name][k]), curve[name][k] === null ? "nothing accepted" : rate(curve[name + "_low"][k]) + " to " + rate(curve[name + "_high"][k])];
    const rule = (k) => ({"inf": "accept no row", "-inf": "accept every row"})[curve.cut[k]] || "accept scores above " + String(Number(curve.cut[k].toPrecision(4))).replace("-", "\u2212");
    function cost(k) {
      const rows = curve.tp[k] + curve.fp[k] + curve.fn[k] + curve.tn[k];
      const most = Math.max(costs.missed, costs.accepted);
      const low = costs.missed * curve.missed_low[k] + costs.accepted * curve.alarm_low[k];
      const high = Math.min(most, costs.missed * curve.missed_high[k] + costs.accepted * curve.alarm_high[k]);
      return [rate((costs.missed * curve.fn[k] + costs.accepted * curve.fp[k]) / rows), rate(low) + " to " + rate(high)];
    }
    const shown = {
      precision: (k) => measured("precision", k), recall: (k) => measured("recall", k), f_score: (k) => measured("f_score", k),
      accepted: (k) => [whole(curve.tp[k] + curve.fp[k]), whole(curve.tp[k]) + " right, " + whole(curve.fp[k]) + " wrong"],
      missed: (k) => [whole(curve.fn[k]), "of " + whole(curve.tp[k] + curve.fn[k])],
      unlabeled: (k) => [whole(curve.unlabeled[k]), ""], cost,
    };
    function put(cell, [value, beside]) {
      const strong = document.createElement("span"), soft = document.createElement("span");
      strong.className = "value"; strong.textContent = value;
      soft.className = "interval"; soft.textContent = beside;
      cell.replaceChildren(strong, soft);
    }
    function tell() {
      for (const [name, say] of Object.entries(shown)) {
        const now = article.querySelector('td[data-now="' + name + '"]'), chosen = article.querySelector('td[data-chosen="' + name + '"]');
        if (now) { put(now, say(state.now)); put(chosen, say(curve.start)); }
      }
      article.querySelector('[data-now="rule"]').textContent = rule(state.now);
      slider.setAttribute("aria-valuetext", rule(state.now) + ": precision " + rate(curve.precision[state.now]) + ", recall " + rate(curve.recall[state.now]));
    }
    let waiting = false;
    function move(k) {
      state.now = k;
      slider.value = k;
      tell();
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; redraw.forEach((again) => again()); });
    }
    slider.addEventListener("input", () => move(Number(slider.value)));
    const reset = article.querySelector("[data-reset]");
    if (reset) reset.addEventListener("click", () => { move(curve.start); slider.focus(); });
    for (const field of article.querySelectorAll("[data-cost]")) {
      field.addEventListener("input", () => {
        const value = Number(field.value);
        if (field.value !== "" && value >= 0 && Number.isFinite(value)) { costs[field.dataset.cost] = value; tell(); }
      });
    }
    if (Object.values(answer.asked).some((value) => value !== null)) article.querySelector("[data-asked-key]").hidden = false;
    slider.value = state.now;  /* a browser that returns to the page may have kept another value */
    tell();
  }

  const articles = drawn.answers.map((answer) => [document.getElementById(answer.key), answer]);
  for (const [article, answer] of articles) {
    const audit = article.querySelector('[data-chart="audit"]'), bins = article.querySelector('[data-chart="bins"]');
    if (audit) drawAudit(audit, answer);
    if (answer.curve) explore(article, answer);
    else if (bins) drawBins(bins, answer, null);
  }
  const campaign = document.querySelector('[data-chart="campaign"]');
  if (campaign) drawCampaign(campaign);

  const comparison = document.querySelector('[data-chart="comparison"]');
  if (comparison) drawComparison(comparison);

  const which = document.getElementById("which");
  if (which) {
    const show = (key) => { which.value = key; for (const [article] of articles) article.hidden = article.id !== key; };
    which.addEventListener("change", () => show(which.value));
    for (const link of document.querySelectorAll("[data-show]")) link.addEventListener("click", () => show(link.dataset.show));
    show(articles[0][0].id);
  }

  const opened = [];
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not([open]):not(.licenses)")) { part.open = true; opened.push(part); }
  });
  window.addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
})();
