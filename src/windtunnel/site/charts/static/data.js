/* The data files of charts: fetched when a view needs them, once, from beside this script. columns.py writes them. */
"use strict";

(function (windtunnel) {
  /* The plug-in's folder: this script is in its assets/. */
  const root = new URL("..", document.currentScript.src);
  const known = new Map();

  function fetched(path) {
    if (!known.has(path)) known.set(path, request(path));
    return known.get(path);
  }

  async function request(path) {
    const encoded = path.split("/").map(encodeURIComponent).join("/");
    const answer = await fetch(new URL(encoded, root));
    if (!answer.ok) {
      known.delete(path);
      throw new Error(`${path}: ${answer.status}`);
    }
    return answer.json();
  }

  function summed(differences) {
    let sum = 0;
    return differences.map((one) => (sum += one));
  }

  /* {hash, date, subject} as columns; dates in seconds. */
  async function commits(setup) {
    const columns = await fetched(setup.commits);
    if (!columns.seconds) columns.seconds = summed(columns.date);
    return columns;
  }

  function index(setup) {
    return fetched(setup.index);
  }

  /* The combination of a series as the index of each parameter's value. */
  function indexes(number, axes) {
    const found = [];
    for (let axis = axes.length - 1; axis >= 0; axis -= 1) {
      const size = axes[axis][1].length;
      found.unshift(number % size);
      number = Math.floor(number / size);
    }
    return found;
  }

  function combination(chosen, axes) {
    return chosen.reduce((number, value, axis) => number * axes[axis][1].length + value, 0);
  }

  /* One series of a metric, by its number in the index: {positions, values, low, high}. */
  async function series(setup, metric, number) {
    const starts = (await index(setup)).metrics[metric].starts;
    let file = starts.length - 1;
    while (starts[file] > number) file -= 1;
    const part = await fetched(`${setup.folder}/${metric}.${file}.json`);
    return decoded(part, number - starts[file]);
  }

  function decoded(part, place) {
    const [table, step, values, below, above] = part.series[place];
    // A division by a whole power of ten is exact to the last digit; a multiplication by 1e-9 is not.
    const sized = step < 0 ? (number) => number / 10 ** -step : (number) => number * 10 ** step;
    return {
      positions: summed(part.positions[table]),
      values: values.map((one) => (one === null ? null : sized(one))),
      low: values.map((one, at) => (one === null || below[at] === null ? null : sized(one - below[at]))),
      high: values.map((one, at) => (one === null || above[at] === null ? null : sized(one + above[at]))),
    };
  }

  windtunnel.data = { root, commits, index, series, indexes, combination };
})(window.windtunnel);
