/* A view of a history: which lines, which rows, which specification. view.py and history.py do the same for the first
   view; a test holds the two against each other. */
"use strict";

(function (windtunnel) {
  const { format, data } = windtunnel;
  const MOST_LINES = 8;
  const THINNED = 500;
  const VISIBLE_POINTS = 300;
  const TICKS = 6;

  /* The combinations of chosen values, the last parameter running fastest. */
  function product(chosen) {
    return chosen.reduce((all, values) => all.flatMap((one) => values.map((value) => [...one, value])), [[]]);
  }

  function shortened(text, most) {
    return text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;
  }

  /* The values of the parameters in which lines differ. */
  function label(setup, state, combination, machine) {
    const axes = setup.metrics[state.metric].axes;
    const varying = combination.map((_, axis) => axis).filter((axis) => state.chosen[axis].length > 1);
    const names = varying.map((axis) => axes[axis][1][combination[axis]]);
    if (state.machine < 0) names.push(setup.machines[machine][0]);
    return shortened(names.join(", "), 60) || setup.metrics[state.metric].name;
  }

  /* {lines: [{label, number, machine, key}], wanted}: at most eight of the wanted ones. */
  async function lines(setup, state) {
    const axes = setup.metrics[state.metric].axes;
    const index = (await data.index(setup)).metrics[state.metric];
    const known = new Map(index.series.map((one, number) => [one.join(), number]));
    const machines = state.machine < 0 ? setup.machines.map((_, number) => number) : [state.machine];
    const found = [];
    for (const combination of product(state.chosen)) {
      for (const machine of machines) {
        const key = [data.combination(combination, axes), machine, state.environment].join();
        if (known.has(key)) {
          found.push({ label: label(setup, state, combination, machine), number: known.get(key), key });
        }
      }
    }
    const drawn = found.slice(0, MOST_LINES);
    const series = await Promise.all(drawn.map((one) => data.series(setup, state.metric, one.number)));
    return { lines: drawn.map((one, at) => ({ ...one, series: series[at] })), wanted: found.length };
  }

  function firstShown(lines, newest) {
    const known = [...new Set(lines.flatMap((line) => line.series.positions))].sort((a, b) => a - b);
    return newest && known.length > newest ? known[known.length - newest] : known[0] || 0;
  }

  function rounded(value) {
    return value === null ? null : Number(value.toPrecision(6));
  }

  /* The rows of a line from a position on; nothing is drawn across a failure. */
  function rows(line, first, scale) {
    const { positions, values, low, high } = line.series;
    const points = [];
    const failed = [];
    let run = 0;
    positions.forEach((x, at) => {
      if (x < first) return;
      if (values[at] === null) {
        run += 1;
        failed.push({ x, l: line.label });
        return;
      }
      const row = { x, v: rounded(values[at] / scale.size), l: line.label, g: run, at };
      if (low[at] !== null && high[at] !== null) {
        row.a = rounded(low[at] / scale.size);
        row.b = rounded(high[at] / scale.size);
      }
      points.push(row);
    });
    return { points: thinned(points), failed };
  }

  /* No screen shows thousands of values beside each other: of each bundle the lowest and the highest stay. */
  function thinned(points) {
    if (points.length <= THINNED) return points;
    const size = Math.ceil(points.length / (THINNED / 2));
    const kept = [];
    for (let start = 0; start < points.length; start += size) {
      const bundle = points.slice(start, start + size);
      const order = [...bundle].sort((one, other) => one.v - other.v);
      const ends = new Set([order[0], order[order.length - 1]]);
      kept.push(...bundle.filter((one) => ends.has(one)));
    }
    return kept;
  }

  function commitWords(commits, at) {
    const subject = commits.subject[at] ? ` ${commits.subject[at]}` : "";
    return `${commits.hash[at].slice(0, 8)} of ${format.day(commits.seconds[at])}${subject}`;
  }

  function isWorse(before, after, metric) {
    return after > before === (metric.better === "lower");
  }

  function changeRows(drawn) {
    const { setup, state, commits, metric, scale, first } = drawn;
    const byKey = new Map(drawn.lines.map((line) => [line.key, line]));
    return drawn.index.changes
      .filter((one) => byKey.has(one.slice(0, 3).join()) && one[3] >= first)
      .map(([combination, machine, environment, x, , before, after]) => {
        const line = byKey.get([combination, machine, environment].join());
        const worse = isWorse(before, after, metric);
        const levels = `${format.value(before, metric.measure)} to ${format.value(after, metric.measure)}`;
        const ratio = `${format.change(before ? after / before : NaN)} (${worse ? "worse" : "better"})`;
        return {
          x,
          v: rounded(after / scale.size),
          l: line.label,
          u: after > before,
          w: worse,
          t: shortened(`${line.label}: ${ratio}, ${levels}, since ${commitWords(commits, x)}`, 300),
          h: setup.commitUrl && /^[0-9a-f]{7,64}$/i.test(commits.hash[x]) ? setup.commitUrl + commits.hash[x] : null,
        };
      });
  }

  /* All that is drawn and told of a view. */
  async function drawn(setup, state) {
    const [commits, index, found] = await Promise.all([data.commits(setup), data.index(setup), lines(setup, state)]);
    const metric = setup.metrics[state.metric];
    const first = firstShown(found.lines, state.newest);
    const values = found.lines.flatMap((line) => line.series.values);
    const scale = format.scale(values, metric.measure);
    const result = { setup, state, commits, metric, scale, first, index: index.metrics[state.metric], ...found };
    result.rows = found.lines.map((line) => rows(line, first, scale));
    result.changes = changeRows(result);
    result.positive = values.every((one) => one === null || one > 0);
    return result;
  }

  function datasets(drawn) {
    const { commits, metric } = drawn;
    const points = drawn.rows.flatMap((one) => one.points);
    const failed = drawn.rows.flatMap((one) => one.failed);
    drawn.lines.forEach((line, number) => {
      for (const row of drawn.rows[number].points) {
        const { values, low, high } = line.series;
        const text = format.interval(values[row.at], low[row.at], high[row.at], metric.measure);
        row.t = `${line.label}: ${text}\n${commitWords(commits, row.x)}`;
      }
    });
    for (const row of failed) row.t = `${row.l}: failed\n${commitWords(commits, row.x)}`;
    const shown = new Set([...points, ...failed].map((row) => row.x));
    const machines = drawn.setup.machineChanges.filter(([x]) => shown.has(x)).map(([x, t]) => ({ x, t }));
    const sets = { points, failed, changes: drawn.changes, machines };
    for (const rows of Object.values(sets)) for (const row of rows) row.d = commits.seconds[row.x] * 1000;
    return sets;
  }

  /* Dates at a few commits. */
  function ticks(positions, commits, most) {
    if (!positions.length) return { values: [] };
    const [start, end] = [positions[0], positions[positions.length - 1]];
    const values = new Set();
    for (let number = 0; number < most; number += 1) {
      const near = start + ((end - start) * number) / (most - 1);
      values.add(positions.reduce((best, at) => (Math.abs(at - near) < Math.abs(best - near) ? at : best)));
    }
    const names = [...values].map((at) => `"${at}":"${format.day(commits.seconds[at])}"`).join(",");
    return { values: [...values], labelExpr: `({${names}})[datum.value]` };
  }

  function horizontal(template, drawn, sets, width) {
    const axis = { grid: false, labelOverlap: true };
    if (drawn.state.x === "date") {
      const scale = { type: "utc", nice: false, padding: 8 };
      return { field: "d", type: "temporal", scale, axis: { ...axis, title: "date", tickCount: Math.floor(width / 110) } };
    }
    const shown = [...new Set([...sets.points, ...sets.failed].map((row) => row.x))].sort((a, b) => a - b);
    const most = Math.max(2, Math.min(TICKS, Math.floor(width / 95)));
    return { ...template, axis: { ...template.axis, ...ticks(shown, drawn.commits, most) } };
  }

  const HOVER = { name: "hover", select: { type: "point", on: "pointerover", nearest: true, clear: "pointerout" } };

  function tuned(layer, drawn, sets, legend) {
    const encoding = layer.encoding;
    if (encoding.y && encoding.y.field) {
      const name = drawn.metric.label;
      encoding.y.title = drawn.scale.name ? `${name} (${drawn.scale.name})` : name;
      if (drawn.state.log && drawn.positive) encoding.y.scale = { nice: true, padding: encoding.y.scale.padding, type: "log" };
    }
    for (const channel of ["color", "strokeDash"]) {
      const found = encoding[channel];
      if (found && found.scale) {
        const domain = drawn.lines.map((line) => line.label);
        found.scale = { domain, range: drawn.look[channel].slice(0, domain.length) };
        found.legend = domain.length > 1 ? { ...(found.legend || {}), ...legend } : null;
      }
    }
    // Vega would make an address of its own out of none.
    if (encoding.href && !sets.changes.every((row) => row.h)) delete encoding.href;
    if (layer.name === "values") {
      const resting = sets.points.length <= VISIBLE_POINTS ? 14 : 0;
      layer.params = [HOVER];
      encoding.size = { condition: { param: "hover", empty: false, value: 90 }, value: resting };
      encoding.tooltip = [{ field: "t", type: "nominal" }];
    }
  }

  /* The specification of a view for a figure of that many pixels. */
  function spec(template, drawn, width) {
    const made = structuredClone(template);
    const sets = datasets(drawn);
    const column = 48 + 7 * Math.max(0, ...drawn.lines.map((line) => line.label.length));
    const legend = { columns: Math.max(1, Math.floor((width - 40) / Math.min(column, 260))), labelLimit: width - 80 };
    drawn.look = drawn.setup.look;
    made.layer = made.layer.filter((layer) => sets[layer.data.name].length);
    made.layer.forEach((layer) => tuned(layer, drawn, sets, legend));
    made.encoding.x = horizontal(made.encoding.x, drawn, sets, width);
    return { ...made, datasets: sets, width, description: words(drawn) };
  }

  function words(drawn) {
    const told = drawn.lines.map((line) => lineWords(line, drawn)).join("; ");
    const count = drawn.changes.length;
    const found = count ? `${count} change points are marked.` : "No change point is marked.";
    return `${drawn.metric.label} by commit, a line for each of ${drawn.lines.length}: ${told}. ${found}`;
  }

  function lineWords(line, drawn) {
    const known = line.series.values.filter((one, at) => one !== null && line.series.positions[at] >= drawn.first);
    if (!known.length) return `${line.label} has no value`;
    const measure = drawn.metric.measure;
    return `${line.label} from ${format.value(known[0], measure)} to ${format.value(known[known.length - 1], measure)}`;
  }

  windtunnel.view = { drawn, spec, product, MOST_LINES };
})(window.windtunnel);
