// The dashboard's own script: charts over time, ages that go on, what went wrong. Pages work without it; they do not move then.
(function () {
  "use strict";

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const charts = new Map();

  // A chart is an element that says where its data are: {x: [seconds], series: [{name, dashed, values}], percent, x_label}.
  async function draw(element) {
    let data;
    try {
      const answer = await fetch(element.dataset.chart, { headers: { accept: "application/json" } });
      if (!answer.ok) return;
      data = await answer.json();
    } catch {
      return; // The server is away: what is drawn stays.
    }
    const before = charts.get(element);
    if (before) before.destroy();
    element.replaceChildren();
    element.classList.toggle("bare", data.x.length < 2);
    if (data.x.length < 2) {
      const empty = document.createElement("p");
      empty.className = "empty";
      empty.textContent = element.dataset.empty || "Nothing yet.";
      element.append(empty);
      charts.delete(element);
      return;
    }
    const ink = colour("--soft");
    const axis = { stroke: ink, grid: { stroke: colour("--grid"), width: 1 }, ticks: { stroke: colour("--grid") }, font: "12px system-ui, sans-serif" };
    const percent = (u, values) => values.map((value) => `${+(100 * value).toFixed(2)} %`);
    const series = data.series.map((own) => ({
      label: own.name,
      stroke: colour(`--c${own.colour}`),
      width: 2,
      dash: own.dashed ? [5, 4] : undefined,
      spanGaps: true,
      points: { show: data.x.length < 30, size: 5 },
    }));
    const time = element.dataset.time !== "false";
    const options = {
      width: Math.max(200, element.clientWidth),
      height: 250,
      legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      scales: { x: { time }, y: { range: (u, low, high) => [0, high > 0 ? high * 1.05 : 1] } },
      axes: [
        { ...axis, label: time ? undefined : element.dataset.across, labelSize: 18, labelFont: axis.font },
        { ...axis, size: 58, values: percent },
      ],
      series: [{}, ...series],
    };
    charts.set(element, new uPlot(options, [data.x, ...data.series.map((own) => own.values)], element));
  }

  function each(root, selector, work) {
    if (root.matches && root.matches(selector)) work(root);
    root.querySelectorAll(selector).forEach(work);
  }

  function drawAll() {
    for (const element of charts.keys()) if (!element.isConnected) charts.delete(element);
    each(document, "[data-chart]", draw);
  }

  // Parts that move: an element that says where its stream is. What a stream sends was made by this server, names escaped.
  const streams = new Map();

  function listen() {
    for (const [element, source] of streams) {
      if (element.isConnected) continue;
      source.close();
      streams.delete(element);
    }
    each(document, "[data-stream]", (element) => {
      if (streams.has(element)) return;
      const source = new EventSource(element.dataset.stream);
      // Keeps the focus where it is.
      source.addEventListener("part", (event) => htmx.swap(element, event.data, { swapStyle: "innerHTML" }));
      streams.set(element, source);
    });
  }

  // Ages of what was computed a while ago.
  function tick() {
    each(document, "time[data-age]", (element) => {
      const seconds = Math.max(0, Math.round((Date.now() - Date.parse(element.dateTime)) / 1000));
      element.textContent = seconds < 2 ? "now" : seconds < 120 ? `${seconds} s ago` : `${Math.round(seconds / 60)} min ago`;
    });
  }

  function flash(text) {
    const element = document.getElementById("flash");
    if (element) element.textContent = text;
  }

  document.addEventListener("DOMContentLoaded", () => {
    drawAll();
    listen();
    tick();
    setInterval(tick, 1000);
    addEventListener("pagehide", () => streams.forEach((source) => source.close()));
    setInterval(drawAll, 15000);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      for (const [element, chart] of charts) chart.setSize({ width: Math.max(200, element.clientWidth), height: 250 });
    });
    document.body.addEventListener("htmx:afterSwap", (event) => {
      each(event.detail.target || event.target, "[data-chart]", draw);
      listen();
      tick();
    });
    document.body.addEventListener("htmx:responseError", (event) => {
      const answer = event.detail.xhr;
      if (answer.status === 401) location.reload();
      else flash(`That did not work (${answer.status}). Reload the page to see how things stand.`);
    });
    document.body.addEventListener("htmx:sendError", () => flash("The server does not answer."));
    document.body.addEventListener("htmx:afterRequest", (event) => event.detail.successful && flash(""));
    document.body.addEventListener("click", async (event) => {
      const button = event.target.closest("[data-copy]");
      if (!button) return;
      try {
        await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
        button.textContent = "Copied";
      } catch {
        button.textContent = "Select it and copy";
      }
    });
  });
})();
