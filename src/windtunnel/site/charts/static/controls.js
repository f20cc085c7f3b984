/* What a reader chooses: native controls, and the same choice in the address, so that a view can be linked to. */
"use strict";

(function (windtunnel) {
  const { data } = windtunnel;
  const EVERY = -1;
  const PREFIX = "#view?";

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  function initial(setup) {
    return { ...structuredClone(setup.view), x: "commit" };
  }

  /* Values that have results, for a metric whose parameters are others than those of the metric before. */
  async function suited(setup, state) {
    const axes = setup.metrics[state.metric].axes;
    const series = (await data.index(setup)).metrics[state.metric].series;
    const here = series.filter((one) => (state.machine < 0 || one[1] === state.machine) && one[2] === state.environment);
    const known = new Set(here.map((one) => one[0]));
    const fits = state.chosen.length === axes.length && state.chosen.every((values, axis) => values.every((value) => value < axes[axis][1].length));
    const has = fits && windtunnel.view.product(state.chosen).some((one) => known.has(data.combination(one, axes)));
    if (has) return state;
    if (!here.length && series.length) {
      return suited(setup, { ...state, machine: series[0][1], environment: series[0][2] });
    }
    return { ...state, chosen: spread(here.map((one) => data.indexes(one[0], axes)), axes) };
  }

  /* One line for each value of as many parameters as eight lines allow, the last parameters first. */
  function spread(known, axes) {
    const chosen = (known[0] || axes.map(() => 0)).map((value) => [value]);
    for (let axis = axes.length - 1; axis >= 0; axis -= 1) {
      const values = [...new Set(known.map((one) => one[axis]))].sort((a, b) => a - b);
      const others = chosen.reduce((size, one, at) => (at === axis ? size : size * one.length), 1);
      if (values.length * others <= windtunnel.view.MOST_LINES) chosen[axis] = values;
    }
    return chosen;
  }

  /* The state as the address has it; null where the address has none. */
  function read(setup) {
    if (!location.hash.startsWith(PREFIX)) return null;
    const told = new URLSearchParams(location.hash.slice(PREFIX.length));
    const state = initial(setup);
    const metric = setup.metrics.findIndex((one) => one.name === told.get("metric"));
    if (metric >= 0 && metric !== state.metric) Object.assign(state, { metric, chosen: [] });
    const axes = setup.metrics[state.metric].axes;
    if (axes.some(([name]) => told.has(`p.${name}`))) {
      state.chosen = axes.map(([name, values], axis) => {
        const wanted = told.getAll(`p.${name}`).map((one) => values.indexOf(one));
        const chosen = [...new Set(wanted.filter((one) => one >= 0))].sort((a, b) => a - b);
        return chosen.length ? chosen : state.chosen[axis] || [0];
      });
    }
    const machine = setup.machines.findIndex(([name]) => name === told.get("machine"));
    if (machine >= 0) state.machine = machine;
    if (told.get("machine") === "*") state.machine = EVERY;
    const environment = setup.environments.indexOf(told.get("environment"));
    if (environment >= 0) state.environment = environment;
    if (told.has("log")) state.log = told.get("log") !== "0";
    if (told.get("x") === "date") state.x = "date";
    if (/^\d{1,6}$/.test(told.get("newest") || "")) state.newest = Number(told.get("newest"));
    return state;
  }

  function write(setup, state) {
    const told = new URLSearchParams();
    told.set("metric", setup.metrics[state.metric].name);
    setup.metrics[state.metric].axes.forEach(([name, values], axis) => {
      for (const value of state.chosen[axis]) told.append(`p.${name}`, values[value]);
    });
    if (setup.machines.length > 1) told.set("machine", state.machine < 0 ? "*" : setup.machines[state.machine][0]);
    if (setup.environments.length > 1) told.set("environment", setup.environments[state.environment]);
    told.set("log", state.log ? "1" : "0");
    if (state.x === "date") told.set("x", "date");
    if (state.newest !== setup.view.newest) told.set("newest", state.newest);
    history.replaceState(history.state, "", PREFIX + told);
  }

  function select(text, options, chosen, tell) {
    const made = element("select");
    options.forEach(([value, name]) => made.append(element("option", { value, textContent: name })));
    made.value = chosen;
    made.addEventListener("change", () => tell(made.value));
    return element("label", { className: "wt-control" }, element("span", { textContent: text }), made);
  }

  function checkbox(text, checked, tell) {
    const made = element("input", { type: "checkbox", checked });
    made.addEventListener("change", () => tell(made.checked, made));
    return element("label", { className: "wt-check" }, made, element("span", { textContent: text }));
  }

  /* The values of one parameter: folded, since there may be hundreds. */
  function values([name, all], chosen, tell) {
    const summary = element("summary");
    const retell = () => {
      const told = chosen.length === 1 ? all[chosen[0]] : `${chosen.length} of ${all.length}`;
      summary.replaceChildren(element("span", { textContent: `${name}: ` }), element("b", { textContent: told }));
    };
    const boxes = all.map((value, number) =>
      checkbox(value, chosen.includes(number), (checked, box) => {
        const wanted = checked ? [...chosen, number].sort((a, b) => a - b) : chosen.filter((one) => one !== number);
        if (!wanted.length) {
          box.checked = true; // a chart of nothing helps nobody
          return;
        }
        chosen = wanted;
        retell();
        tell(chosen);
      }),
    );
    const legend = element("legend", { textContent: `Values of ${name}` });
    retell();
    return element("details", { className: "wt-values" }, summary, element("fieldset", {}, legend, ...boxes));
  }

  const PERIODS = [
    [100, "the newest 100"],
    [300, "the newest 300"],
    [0, "all"],
  ];

  function machineOptions(setup) {
    const named = setup.machines.map(([name, cpu], number) => [number, name === cpu ? name : `${name} (${cpu})`]);
    return [...named, [EVERY, "every machine, lines of its own"]];
  }

  /* Fill `place` with the controls of a state; `tell(change)` is called with what is to be another. */
  function fill(place, setup, state, tell) {
    const number = (key) => (value) => tell({ [key]: Number(value) });
    const made = [];
    if (setup.metrics.length > 1) {
      made.push(select("Metric", setup.metrics.map((one, at) => [at, one.label]), state.metric, number("metric")));
    }
    setup.metrics[state.metric].axes.forEach((axis, at) => {
      if (axis[1].length < 2) return;
      made.push(values(axis, state.chosen[at], (chosen) => tell({ chosen: Object.assign([], tell.state().chosen, { [at]: chosen }) })));
    });
    if (setup.machines.length > 1) made.push(select("Machine", machineOptions(setup), state.machine, number("machine")));
    if (setup.environments.length > 1) {
      made.push(select("Environment", setup.environments.map((name, at) => [at, name]), state.environment, number("environment")));
    }
    made.push(select("Commits", PERIODS, state.newest, number("newest")));
    made.push(select("Along", [["commit", "commits"], ["date", "dates"]], state.x, (x) => tell({ x })));
    made.push(checkbox("Log scale", state.log, (log) => tell({ log })));
    place.replaceChildren(...made);
    place.hidden = false;
  }

  windtunnel.controls = { initial, suited, read, write, fill, element };
})(window.windtunnel);
