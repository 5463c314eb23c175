/* Audits the page that is shown: returns [{rule, what}] of everything that hinders somebody.
 * Runs in the page: `return audit(document)` after this text. */
function audit(document) {
  'use strict';
  const found = [];
  const report = (rule, node, why) => found.push({ rule, what: (why ? why + ': ' : '') +
    (node ? node.outerHTML.slice(0, 160) : '') });
  const all = (selector) => [...document.querySelectorAll(selector)];

  function isVisible(node) {
    const box = node.getBoundingClientRect(), style = getComputedStyle(node);
    return box.width > 1 && box.height > 1 && style.visibility === 'visible' &&
      node.checkVisibility({ checkOpacity: true });
  }

  function nameOf(node) {
    const by = (node.getAttribute('aria-labelledby') || '').split(/\s+/).filter(Boolean)
      .map((id) => document.getElementById(id)).map((other) => (other ? other.textContent : ''));
    const label = node.labels && node.labels.length > 0 ? node.labels[0].textContent : '';
    return (by.join(' ') || node.getAttribute('aria-label') || label || node.textContent ||
      node.title || '').trim();
  }

  /* ---- contrast, from the styles as computed ---- */

  function channels(colour) {
    const parts = colour.match(/[\d.]+/g).map(Number);
    return parts.length === 3 ? [...parts, 1] : parts;
  }

  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]))
    .concat(1);

  function groundOf(node) {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) {
        layers.push(colour);
      }
      if (colour[3] === 1) {
        break;
      }
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  }

  function luminance(colour) {
    const [r, g, b] = colour.slice(0, 3).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(a, b) {
    const [high, low] = [luminance(a), luminance(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  }

  function checkContrast(node) {
    const style = getComputedStyle(node), ground = groundOf(node);
    const text = over(channels(style.color), ground);
    const size = parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const is = contrast(text, ground);
    if (is < (isLarge ? 3 : 4.5)) {
      report('contrast', node, is.toFixed(2));
    }
  }

  const hasText = (node) => [...node.childNodes].some((child) => child.nodeType === 3 &&
    child.textContent.trim() !== '');
  let texts = 0;
  for (const node of all('body *')) {
    if (hasText(node) && isVisible(node) && !node.closest('noscript, option')) {
      texts++;
      checkContrast(node);
    }
  }
  if (texts < 10) {
    report('nothing to audit', document.body, String(texts));
  }

  /* ---- names, labels, sizes ---- */

  const controls = all('a[href], button, input, select, textarea, [tabindex], [role=button]')
    .filter(isVisible);
  for (const control of controls) {
    if (nameOf(control) === '') {
      report('name', control);
    }
    const box = control.getBoundingClientRect();
    const isInText = control.matches('a') && control.closest('p, td');
    if (control.matches('a, button, input, select') && !isInText &&
        (box.width < 23.9 || box.height < 23.9)) {
      report('target size', control, box.width.toFixed(0) + ' x ' + box.height.toFixed(0));
    }
    if (control.matches('input, select') && control.labels.length === 0 &&
        !control.getAttribute('aria-label')) {
      report('label', control);
    }
    if (Number(control.getAttribute('tabindex')) > 0) {
      report('focus order', control);
    }
  }
  for (const image of all('img, svg, canvas')) {
    if (!image.closest('[aria-hidden=true]') && nameOf(image) === '') {
      report('image without a name', image);
    }
  }

  /* ---- the document ---- */

  if (!document.documentElement.lang) {
    report('language', null);
  }
  if (document.title.trim() === '') {
    report('title', null);
  }
  const viewport = document.querySelector('meta[name=viewport]');
  if (!viewport || /user-scalable\s*=\s*(no|0)|maximum-scale/.test(viewport.content)) {
    report('zoom is not allowed', viewport);
  }
  const ids = all('[id]').map((node) => node.id);
  for (const id of new Set(ids.filter((other, i) => ids.indexOf(other) !== i))) {
    report('duplicate id', null, id);
  }
  for (const attribute of ['aria-labelledby', 'aria-describedby', 'for']) {
    for (const node of all('[' + attribute + ']')) {
      for (const id of node.getAttribute(attribute).split(/\s+/)) {
        if (!document.getElementById(id)) {
          report('reference to nothing', node, id);
        }
      }
    }
  }
  for (const landmark of ['main', 'header', 'nav', 'footer']) {
    if (all('body > ' + landmark).length !== 1) {
      report('landmark', null, landmark);
    }
  }
  if (!document.querySelector('[role=search], search')) {
    report('landmark', null, 'search');
  }
  for (const named of all('[role=region], [role=group], nav')) {
    if (!named.getAttribute('aria-label') && !named.getAttribute('aria-labelledby')) {
      report('landmark without a name', named);
    }
  }
  let level = 0;
  for (const heading of all('h1, h2, h3, h4, h5, h6').filter((node) => node.checkVisibility())) {
    const own = Number(heading.tagName[1]);
    if (own > level + 1) {
      report('heading order', heading, 'after h' + level);
    }
    level = own;
  }
  if (all('h1').length !== 1) {
    report('heading order', null, 'not one h1');
  }
  for (const list of all('ul, ol')) {
    for (const child of list.children) {
      if (child.tagName !== 'LI') {
        report('list', child);
      }
    }
  }
  for (const table of all('table')) {
    if (!table.caption || [...table.tHead.rows[0].cells].some((cell) => cell.scope !== 'col')) {
      report('table', table);
    }
  }
  for (const node of all('[style]')) {
    if (node.getAttribute('style').includes('outline')) {
      report('outline', node);
    }
  }

  /* ---- the live region speaks of the connection alone ---- */
  const live = all('[aria-live], [role=status], [role=alert], output').filter(
    (node) => node.id !== 'state' && node.id !== 'found');
  live.forEach((node) => report('live region', node));
  return found;
}
