/* The pointer over the timeline: dragging and pinching, the wheel, and what lies under it. */
(function (berth) {
  'use strict';

  const DRAG = 4; // pixels that make a press a drag

  function showTip(chart, hit, x, y) {
    const tip = chart.tip;
    tip.hidden = !hit;
    if (hit) {
      berth.setText(tip, berth.spanText(hit.span, berth.model.now()));
      const most = chart.width() - tip.offsetWidth - 8;
      tip.style.left = Math.max(4, Math.min(most, x + 12)) + 'px';
      tip.style.top = y + 18 + 'px';
    }
  }

  /* chart: {zoom, move, at, tip, axis, gutter, width}. */
  berth.point = function (place, chart) {
    const fingers = new Map();
    let isDrag = false, apart = 0;

    const room = () => chart.width() - chart.gutter();
    const where = (event) => {
      const box = place.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    const part = (x) => Math.max(0, Math.min(1, (x - chart.gutter()) / room()));

    function pinch() {
      const [a, b] = [...fingers.values()];
      const distance = Math.max(10, Math.abs(a - b));
      if (apart > 0) {
        chart.zoom(apart / distance, part((a + b) / 2));
      }
      apart = distance;
    }

    place.addEventListener('pointerdown', (event) => {
      fingers.set(event.pointerId, where(event)[0]);
      isDrag = false;
      apart = 0;
    });

    place.addEventListener('pointermove', (event) => {
      const [x, y] = where(event);
      const before = fingers.get(event.pointerId);
      if (before === undefined) {
        const hit = chart.at(x, y);
        place.classList.toggle('over', Boolean(hit));
        showTip(chart, hit, x, y);
        return;
      }
      if (!isDrag && Math.abs(x - before) < DRAG) {
        return;
      }
      isDrag = true;
      showTip(chart, null);
      fingers.set(event.pointerId, x);
      if (fingers.size === 2) {
        pinch();
      } else {
        chart.move((before - x) / room());
      }
    });

    const lift = (event) => {
      fingers.delete(event.pointerId);
      apart = 0;
      if (event.type === 'pointerleave') {
        showTip(chart, null);
      }
    };
    for (const type of ['pointerup', 'pointercancel', 'pointerleave']) {
      place.addEventListener(type, lift);
    }

    place.addEventListener('click', (event) => {
      const [x, y] = where(event), hit = isDrag ? null : chart.at(x, y);
      showTip(chart, hit, x, y);
      if (hit && hit.span.lease) {
        berth.details.openSpan(hit.span);
      }
    });

    /* With Ctrl (so pads pinch) or above the axis the wheel zooms; sideways it moves. */
    place.addEventListener('wheel', (event) => {
      const [x, y] = where(event);
      if (event.ctrlKey || y <= chart.axis) {
        chart.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), part(x));
        event.preventDefault();
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        chart.move((event.deltaX || event.deltaY) / room());
        event.preventDefault();
      }
    }, { passive: false });
  };
})(window.berth);
