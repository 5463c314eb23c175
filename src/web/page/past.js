/* What is over: /history.json of this host and of its peers, for the period that is looked at. */
(function (berth) {
  'use strict';

  const LIMIT = 5000;
  const PEER_MS = 8000;

  const past = {
    period: 3600000, // 0: all that is kept
    from: 0, leases: new Map(), gaps: [], truncated: [], silent: [], loading: false, error: null,
  };
  let generation = 0;

  const hostOf = (url) => {
    try {
      return new URL(url).host;
    } catch (error) {
      return url;
    }
  };

  function addressOf(base, from, until) {
    return base + 'history.json?from=' + Math.max(0, Math.floor(from)) + '&until=' +
      Math.ceil(until) + '&limit=' + LIMIT;
  }

  /* Also a peer's answer is somebody else's text: what is no number does not become a place. */
  function isGood(lease) {
    return lease && typeof lease.lease === 'string' && Number.isFinite(lease.ended_at_ms) &&
      Number.isFinite(lease.asked_at_ms) && Array.isArray(lease.resources);
  }

  function take(answer, host) {
    for (const lease of answer.leases || []) {
      if (isGood(lease)) {
        lease.host = host === berth.model.host ? null : host;
        past.leases.set((lease.host || '') + ' ' + lease.lease + ' ' + lease.asked_at_ms, lease);
      }
    }
    if (host === null) {
      past.gaps = merge(past.gaps, answer.gaps || []);
    }
    if (answer.truncated && !past.truncated.includes(host || berth.model.host)) {
      past.truncated.push(host || berth.model.host);
    }
  }

  function merge(old, more) {
    const gaps = new Map(old.concat(more).map((gap) => [gap.from_ms, gap]));
    return [...gaps.values()].sort((a, b) => a.from_ms - b.from_ms);
  }

  async function askPeer(url, from, until, own) {
    const base = url.endsWith('/') ? url : url + '/';
    try {
      const answer = await berth.getJson(addressOf(base, from, until), PEER_MS);
      if (own === generation) {
        take(answer, answer.host || hostOf(url));
      }
    } catch (error) {
      if (own === generation) {
        past.silent.push(hostOf(url));
      }
    }
  }

  async function ask(from, until, own) {
    const peers = berth.model.peers.map((url) => askPeer(url, from, until, own));
    const answer = await berth.getJson(addressOf('', from, until));
    if (own === generation) {
      take(answer, null);
    }
    await Promise.all(peers);
  }

  function forget() {
    past.leases.clear();
    past.gaps = [];
    past.truncated = [];
  }

  async function guarded(from, until, own, told) {
    past.loading = true;
    past.silent = [];
    try {
      await ask(from, until, own);
      past.error = null;
    } catch (error) {
      past.error = error.message;
    }
    if (own === generation) {
      past.loading = false;
      past.until = past.error === null ? until : past.until;
      told();
    }
  }

  /* Loads the period again, and calls told() when it is there. */
  past.load = function (told) {
    const now = berth.model.now();
    past.from = past.period === 0 ? 0 : now - past.period;
    forget();
    return guarded(past.from, now, ++generation, told);
  };

  /* Adds what has ended since. */
  past.more = function (told) {
    if (!past.loading) {
      guarded(Math.max(past.from, (past.until || past.from) - 5000), berth.model.now(),
        generation, told);
    }
  };

  /* A part of a period that has more than one answer can hold. */
  past.part = function (from, until, told) {
    return guarded(from, until, generation, told);
  };

  /* The instant at which what is known begins. */
  past.begin = function () {
    if (past.period !== 0) {
      return berth.model.now() - past.period;
    }
    let first = berth.model.now() - 3600000;
    for (const lease of past.leases.values()) {
      first = Math.min(first, lease.asked_at_ms);
    }
    return first;
  };

  berth.past = past;
})(window.berth);
