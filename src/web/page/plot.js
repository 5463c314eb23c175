/* Small plots: how many units were in use, and how many waited, over time. */
(function (berth) {
  'use strict';

  /* The mean of what spans ([from, until, weight]) sum up to, in each of n parts of the period. */
  berth.means = function (spans, from, until, n) {
    const means = new Float64Array(n), step = (until - from) / n;
    for (const [begin, end, weight] of spans) {
      const first = Math.max(0, Math.floor((begin - from) / step));
      const last = Math.min(n - 1, Math.floor((end - from) / step));
      for (let i = first; i <= last; i++) {
        const left = Math.max(begin, from + i * step), right = Math.min(end, from + (i + 1) * step);
        means[i] += Math.max(0, right - left) / step * weight;
      }
    }
    return means;
  };

  /* Draws means as an area; top: what reaches the upper edge. */
  berth.drawArea = function (context, means, box, top, fill, line) {
    const step = box.width / means.length, y = (mean) =>
      box.top + box.height - Math.min(1, mean / (top || 1)) * box.height;
    const drawTop = () => means.forEach((mean, i) => {
      context.lineTo(box.left + i * step, y(mean));
      context.lineTo(box.left + (i + 1) * step, y(mean));
    });
    context.beginPath();
    context.moveTo(box.left, box.top + box.height);
    drawTop();
    context.lineTo(box.left + box.width, box.top + box.height);
    context.closePath();
    context.fillStyle = fill;
    context.fill();
    context.beginPath();
    drawTop();
    context.strokeStyle = line;
    context.lineWidth = 1;
    context.stroke();
  };
})(window.berth);
