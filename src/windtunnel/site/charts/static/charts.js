/* Makes the static drawings of a page live: the Vega bundle is loaded when the first of them comes into view. */
"use strict";

(function (windtunnel) {
  const { data, view, controls, format } = windtunnel;
  const { element } = controls;
  const NEWEST_ROWS = 20;
  let bundle = null;

  function vega() {
    bundle = bundle || new Promise((done, failed) => {
      const script = element("script", { src: new URL("assets/vega.js", data.root).href, onload: done, onerror: failed });
      document.head.append(script);
    });
    return bundle;
  }

  /* One tip for the page: text only, whatever stands in it. */
  const tip = element("div", { className: "wt-chart-tip", hidden: true });
  tip.setAttribute("role", "tooltip");

  function showTip(_handler, event, item, value) {
    // The cell that is nearest to a pointer stands for the value in it: its datum is that value's mark.
    const datum = item && item.datum && (item.datum.datum || item.datum);
    const text = value && datum && datum.t;
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    if (!tip.isConnected) document.body.append(tip);
    const { clientX: x, clientY: y } = event.touches && event.touches.length ? event.touches[0] : event;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, document.documentElement.clientWidth - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > window.innerHeight ? y - box.height - 12 : y + 18}px`;
  }

  /* `ast` and vega-embed's interpreter: expressions are not compiled, so no page needs to allow eval. */
  const OPTIONS = { actions: false, renderer: "svg", ast: true, defaultStyle: false, tooltip: showTip };

  /* Change points can be reached and followed by the keyboard; a click on them is vega's own business. */
  function followable(stage) {
    for (const mark of stage.querySelectorAll(".changes_marks path")) {
      const address = mark.__data__ && mark.__data__.datum && mark.__data__.datum.h;
      if (!address) continue;
      mark.setAttribute("tabindex", "0");
      mark.setAttribute("role", "link");
      mark.addEventListener("keydown", (event) => {
        if (event.key === "Enter") element("a", { href: address }).click();
      });
    }
  }

  class Figure {
    constructor(root) {
      this.root = root;
      this.place = root.querySelector(".wt-chart-view");
      const told = JSON.parse(root.querySelector(".wt-chart-data").textContent);
      this.template = told.spec;
      this.setup = told.setup;
      this.turn = 0;
      this.width = 0;
    }

    async start() {
      this.resting = new ResizeObserver(() => this.resized());
      this.resting.observe(this.place);
      if (!this.setup) return this.draw();
      const read = controls.read(this.setup);
      await this.choose(read || controls.initial(this.setup), !read);
      window.addEventListener("hashchange", () => this.follow());
      return undefined;
    }

    /* The reader went to another view of this page, or back. */
    follow() {
      const read = controls.read(this.setup);
      if (read) this.choose(read);
    }

    async choose(state) {
      this.state = await controls.suited(this.setup, state);
      await this.draw();
      this.refill();
    }

    refill() {
      const open = [...this.root.querySelectorAll(".wt-values")].map((one) => one.open);
      const tell = (change) => this.change(change);
      tell.state = () => this.state;
      controls.fill(this.root.querySelector(".wt-chart-controls"), this.setup, this.state, tell);
      this.root.querySelectorAll(".wt-values").forEach((one, at) => (one.open = Boolean(open[at])));
    }

    async change(change) {
      const before = this.state;
      this.state = { ...before, ...change };
      const suited = await controls.suited(this.setup, this.state);
      // Controls are made anew only where they are others: whoever uses the keyboard stays where they are.
      const anew = suited !== this.state || suited.metric !== before.metric;
      this.state = suited;
      controls.write(this.setup, this.state);
      await this.draw();
      if (anew) this.renew();
    }

    renew() {
      const focused = [...this.root.querySelectorAll("select, input, summary")].indexOf(document.activeElement);
      this.refill();
      const all = this.root.querySelectorAll("select, input, summary");
      if (focused >= 0 && all[focused]) all[focused].focus();
    }

    resized() {
      const width = this.place.clientWidth;
      if (!this.width || Math.abs(width - this.width) < 8) return;
      clearTimeout(this.waiting);
      this.waiting = setTimeout(() => this.draw(), 120);
    }

    async draw() {
      const turn = (this.turn += 1);
      const width = Math.max(240, this.place.clientWidth);
      const [drawn] = await Promise.all([this.setup ? view.drawn(this.setup, this.state) : null, vega()]);
      if (turn !== this.turn) return;
      const spec = drawn ? view.spec(this.template, drawn, width) : { ...this.template, width };
      const stage = element("div", { className: "wt-chart-live" });
      const made = await window.vegaEmbed(stage, spec, OPTIONS);
      if (turn !== this.turn) {
        made.finalize();
        return;
      }
      if (this.made) this.made.finalize();
      this.made = made;
      this.width = width;
      this.place.replaceChildren(stage);
      followable(stage);
      if (drawn) this.tell(drawn);
      this.root.dataset.drawn = turn;
    }

    /* The words and the table say what the picture shows. */
    tell(drawn) {
      const { state, setup, metric } = drawn;
      this.root.querySelector(".wt-chart-title").textContent = `${setup.group}: ${metric.label}`;
      const note = this.root.querySelector(".wt-chart-note");
      note.textContent = fixed(drawn) + where(setup, state);
      const more = drawn.wanted - drawn.lines.length;
      const told = [];
      if (!drawn.lines.length) told.push("Nothing was measured for this choice.");
      if (more > 0) told.push(`${drawn.wanted} lines are chosen, the first ${drawn.lines.length} are drawn: choose fewer values.`);
      if (state.log && !drawn.positive) told.push("A log scale takes no values of zero or below; the scale is linear.");
      this.root.querySelector(".wt-chart-status").textContent = told.join(" ");
      table(this.root.querySelector(".wt-chart-values table"), drawn);
    }
  }

  function fixed(drawn) {
    const parts = drawn.metric.axes
      .map(([name, values], axis) => [name, values, drawn.state.chosen[axis]])
      .filter(([, , chosen]) => chosen.length === 1)
      .map(([name, values, chosen]) => `${name} ${values[chosen[0]]}`);
    return parts.length ? `Of ${parts.join(", ")}. ` : "";
  }

  function where(setup, state) {
    const environment = setup.environments[state.environment];
    if (state.machine < 0) return `Measured on several machines, ${environment}: compare the values of one machine only.`;
    const [name, cpu] = setup.machines[state.machine];
    return `Measured on ${name === cpu ? name : `${name} (${cpu})`}, ${environment}.`;
  }

  function table(place, drawn) {
    const { lines, commits, metric } = drawn;
    const cells = lines.map((line) => new Map(line.series.positions.map((at, row) => [at, row])));
    const known = new Set(lines.flatMap((line) => line.series.positions).filter((at) => at >= drawn.first));
    const newest = [...known].sort((a, b) => b - a).slice(0, NEWEST_ROWS);
    const head = ["commit", ...lines.map((line) => line.label)].map((text) => element("th", { scope: "col", textContent: text }));
    const rows = newest.map((at) => {
      const values = lines.map((line, number) => {
        const row = cells[number].get(at);
        const { values: all, low, high } = line.series;
        const text = row === undefined ? "" : format.interval(all[row], low[row], high[row], metric.measure);
        return element("td", { textContent: text });
      });
      return element("tr", {}, element("td", {}, commitLink(drawn, commits, at)), ...values);
    });
    place.replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
  }

  function commitLink(drawn, commits, at) {
    const text = `${format.day(commits.seconds[at])} ${commits.hash[at].slice(0, 8)}`;
    const known = drawn.setup.commitUrl && /^[0-9a-f]{7,64}$/i.test(commits.hash[at]);
    return known ? element("a", { href: drawn.setup.commitUrl + commits.hash[at], textContent: text }) : text;
  }

  function begin(root) {
    new Figure(root).start().catch((error) => {
      // The static drawing and the table stay.
      root.querySelector(".wt-chart-status").textContent = `The chart could not be made live: ${error.message || error.type}`;
      root.dataset.failed = "";
    });
  }

  function watch() {
    const seen = new IntersectionObserver(
      (entries) => entries.filter((one) => one.isIntersecting).forEach((one) => {
        seen.unobserve(one.target);
        begin(one.target);
      }),
      { rootMargin: "400px" },
    );
    document.querySelectorAll(".wt-chart").forEach((root) => seen.observe(root));
  }

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });
  watch();
})(window.windtunnel);
