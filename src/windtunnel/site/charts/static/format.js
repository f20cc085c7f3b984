/* Numbers as text, just as windtunnel.units has them; a test holds the two against each other. */
"use strict";
window.windtunnel = window.windtunnel || {};

(function (windtunnel) {
  const DIGITS = 4;
  const SMALLEST = 0.001;

  function exponent(number) {
    return Number(number.toExponential(DIGITS - 1).split("e")[1]);
  }

  function grouped(text) {
    const [whole, parts] = text.split(".");
    const shown = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    return parts === undefined ? shown : `${shown}.${parts}`;
  }

  function significant(number) {
    if (number === 0) return "0";
    if (Math.abs(number) < SMALLEST) return number > 0 ? `<${SMALLEST}` : `>-${SMALLEST}`;
    return grouped(number.toFixed(Math.max(0, DIGITS - 1 - exponent(number))));
  }

  function fits(number, size) {
    const quotient = number / size;
    return quotient !== 0 && exponent(quotient) >= 0;
  }

  function scaled(number, steps) {
    const base = steps.find(([size]) => size === 1)[1];
    if (number === 0) return `0 ${base}`.trimEnd();
    const [size, name] = steps.find((step) => fits(number, step[0])) || steps[steps.length - 1];
    if (name.startsWith("B") && Number.isInteger(number)) return `${grouped(number.toFixed(0))} ${name}`;
    return `${significant(number / size)} ${name}`.trimEnd();
  }

  function percent(number) {
    if (number && Math.abs(number) < 0.0005) return number > 0 ? "<0.1 %" : ">-0.1 %";
    return number ? `${grouped((number * 100).toFixed(1))} %` : "0.0 %";
  }

  const FORMATS = {
    s: scaled,
    B: scaled,
    "B/s": scaled,
    "1/s": (number, steps) => (exponent(number) < 6 ? `${significant(number)}/s` : scaled(number, steps)),
    1: (number) => (number && Number.isInteger(number) ? grouped(number.toFixed(0)) : significant(number)),
    ratio: percent,
  };

  /* A value in the base unit of `measure` (what Measure.setup has). */
  function value(number, measure) {
    if (number === null || number === undefined || !Number.isFinite(number)) return "n/a";
    const shown = FORMATS[measure.unit](number, measure.steps);
    return measure.name ? `${shown} ${measure.name}` : shown;
  }

  function interval(number, low, high, measure) {
    if (number === null) return "failed";
    if (low === null || high === null) return value(number, measure);
    return `${value(number, measure)} [${value(low, measure)}, ${value(high, measure)}]`;
  }

  /* after / before as a signed percentage. */
  function change(ratio) {
    if (!Number.isFinite(ratio)) return "n/a";
    const percentage = (ratio - 1) * 100;
    const shown = `${percentage < 0 ? "-" : "+"}${grouped(Math.abs(percentage).toFixed(1))} %`;
    return shown === "+0.0 %" || shown === "-0.0 %" ? "0.0 %" : shown;
  }

  /* What an axis is divided by, and its name: the step in which the middle of the values is a handy number. */
  function scale(values, measure) {
    const sizes = values.filter((one) => one).map(Math.abs).sort((a, b) => a - b);
    const middle = sizes.length ? sizes[Math.floor(sizes.length / 2)] : 1;
    const [size, name] = measure.steps.find((step) => middle >= step[0]) || measure.steps[measure.steps.length - 1];
    return { size, name: name || measure.name };
  }

  function day(seconds) {
    return new Date(seconds * 1000).toISOString().slice(0, 10);
  }

  windtunnel.format = { value, interval, change, scale, day };
})(window.windtunnel);
