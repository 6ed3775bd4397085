'use strict';
for (const table of document.querySelectorAll('table.sortable')) {
  [...table.tHead.rows[0].cells].forEach((th, i) => {
    const button = document.createElement('button');
    button.type = 'button'; button.title = 'sort'; button.append(...th.childNodes); th.append(button);
    button.onclick = () => {
      const down = th.getAttribute('aria-sort') !== 'descending', body = table.tBodies[0];
      for (const other of table.tHead.rows[0].cells) other.removeAttribute('aria-sort');
      th.setAttribute('aria-sort', down ? 'descending' : 'ascending');
      const key = row => { const v = row.cells[i].dataset.v; return v === undefined ? row.cells[i].textContent : v === '' ? null : +v; };
      const less = (a, b) => a === null ? 1 : b === null ? -1 : (a < b ? 1 : a > b ? -1 : 0) * (down ? 1 : -1);
      [...body.rows].sort((a, b) => less(key(a), key(b))).forEach(row => body.append(row));
    };
  });
}
for (const stepper of document.querySelectorAll('.stepper')) {
  const every = () => [...document.querySelectorAll('details.round')], slider = stepper.querySelector('input'), said = stepper.querySelector('output');
  const show = () => {
    const rounds = every(), open = rounds.filter(round => round.open);
    stepper.hidden = rounds.length < 2; slider.max = rounds.length - 1;
    if (open.length === 1) { slider.value = rounds.indexOf(open[0]); said.textContent = open[0].dataset.name; }
  };
  const go = n => {
    const rounds = every(), i = Math.min(Math.max(n, 0), rounds.length - 1);
    rounds.forEach((round, k) => { round.open = k === i; });
    slider.value = i; said.textContent = rounds[i].dataset.name;
  };
  show(); document.addEventListener('maci-drawn', show); document.addEventListener('toggle', show, true);
  slider.oninput = () => go(+slider.value);
  const [back, on, all] = stepper.querySelectorAll('button');
  back.onclick = () => go(+slider.value - 1); on.onclick = () => go(+slider.value + 1);
  all.onclick = () => { const rounds = every(), open = rounds.some(r => !r.open); rounds.forEach(r => { r.open = open; }); };
}
const hints = part => {
  for (const box of part.querySelectorAll('.scroll')) {
    const hint = document.createElement('p');
    hint.className = 'small-print more-hint'; hint.setAttribute('aria-hidden', 'true'); hint.textContent = 'More columns: scroll sideways →'; hint.hidden = true;
    box.before(hint);
    const look = () => {
      const wide = box.scrollWidth > box.clientWidth + 1;
      hint.hidden = !wide; box.classList.toggle('more', wide && box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    };
    box.addEventListener('scroll', look, { passive: true }); new ResizeObserver(look).observe(box);
  }
};
hints(document); document.addEventListener('maci-drawn', event => hints(event.target));
const reveal = () => {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  for (let d = target.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
  target.scrollIntoView();
};
addEventListener('hashchange', reveal); reveal();
let shut = [];
addEventListener('beforeprint', () => { shut = [...document.querySelectorAll('details:not([open])')]; shut.forEach(d => { d.open = true; }); });
addEventListener('afterprint', () => { shut.forEach(d => { d.open = false; }); });
const theme = document.querySelector('button.theme');
if (theme) {
  const root = document.documentElement, night = () => root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  const say = () => { theme.textContent = night() ? 'Light' : 'Dark'; theme.setAttribute('aria-label', night() ? 'Use light colours' : 'Use dark colours'); };
  try { const kept = localStorage.getItem('maci-theme'); if (kept === 'dark' || kept === 'light') root.dataset.theme = kept; } catch { /* a file may have no storage */ }
  theme.hidden = false; say();
  theme.onclick = () => { root.dataset.theme = night() ? 'light' : 'dark'; try { localStorage.setItem('maci-theme', root.dataset.theme); } catch { /* as above */ } say(); };
}
