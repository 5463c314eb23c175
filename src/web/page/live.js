/* Keeps the model live: one long poll after the other, with back-off when one fails. */
(function (berth) {
  'use strict';

  const POLL_MS = 40000; // the server answers within 25 s
  const FIRST_WAIT_MS = 500, LAST_WAIT_MS = 15000;

  let wait = FIRST_WAIT_MS;
  let wake = null; // ends a pause at once

  function pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  /* What berth-web says is wrong; a proxy's page about it is left out. */
  async function whyNot(response) {
    const isOurs = (response.headers.get('Content-Type') || '').startsWith('text/plain');
    const text = isOurs ? (await response.text()).trim().slice(0, 300) : '';
    return new Error(text || response.status + ' ' + response.statusText);
  }

  berth.getJson = async function (address, ms = POLL_MS) {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), ms);
    try {
      const response = await fetch(address, { cache: 'no-store', signal: abort.signal });
      if (!response.ok) {
        throw await whyNot(response);
      }
      return await response.json();
    } finally {
      clearTimeout(timer);
    }
  };

  /* A hidden page asks nothing: browsers give a site few connections. */
  async function beSeen() {
    while (document.hidden) {
      await pause(60000);
    }
  }

  async function poll(heard) {
    const serial = berth.model.serial;
    const after = serial === null ? '' : '?after=' + encodeURIComponent(serial);
    const answer = await berth.getJson('status.json' + after);
    const changed = berth.model.take(answer);
    wait = FIRST_WAIT_MS;
    heard(changed);
    if (answer.connected === false && answer.serial === serial) {
      await pause(1000); // whatever the server does, it is not asked without a pause
    }
  }

  /* heard(names): the names that changed, or null for all. failed(ms): asks again in that time. */
  berth.live = async function (heard, failed) {
    for (const event of ['online', 'visibilitychange']) {
      (event === 'online' ? window : document).addEventListener(event, () => wake && wake());
    }
    for (;;) {
      await beSeen();
      try {
        await poll(heard);
      } catch (error) {
        failed(wait, error);
        await pause(wait * (0.75 + Math.random() / 2));
        wait = Math.min(wait * 2, LAST_WAIT_MS);
      }
    }
  };
})(window.berth);
