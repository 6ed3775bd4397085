// Follows a debate: lines of the log as they come, panels as they change. Pages are whole without it.
const root = document.getElementById('debate');

const rounds = () => [...document.querySelectorAll('#rounds details.round')];

// A new round is shown to who looks at the newest; who reads an earlier one keeps it, and is told where the newest is.
const put = (id, html) => {
  let place = document.getElementById(id), behind = false;
  if (!place && id.startsWith('p-round-')) {
    const before = rounds(), open = before.filter(round => round.open);
    behind = before.length > 0 && !(open.length === 1 && open[0] === before.at(-1));
    if (!behind) for (const round of open) round.open = false;
    place = document.createElement('div');
    place.id = id;
    document.getElementById('rounds').append(place);
  }
  if (!place) return;
  const open = new Map([...place.querySelectorAll('details[id]')].map(d => [d.id, d.open]));
  const focused = place.contains(document.activeElement) ? document.activeElement.closest('[id]')?.id : null;
  const shape = document.createElement('template');
  shape.innerHTML = html;
  if (behind) shape.content.querySelector('details.round').open = false;
  place.replaceChildren(shape.content);
  for (const [name, was] of open) { const d = document.getElementById(name); if (d) d.open = was; }
  if (focused) { const again = document.getElementById(focused); (again?.querySelector('summary') ?? again)?.focus(); }
  place.dispatchEvent(new Event('maci-drawn', { bubbles: true }));
};

const newest = document.getElementById('newest');
const pointTo = () => {
  const last = rounds().at(-1);
  newest.hidden = !last || last.open;
  if (newest.hidden) return;
  newest.firstChild.href = `#${last.id}`;
  newest.firstChild.textContent = `${last.dataset.name} is under way →`;
};

const dials = () => {
  const now = document.querySelector('#p-dials [data-cl]');
  if (!now) return;
  for (const slider of document.querySelectorAll('#dial-form input[data-dial]')) {
    const name = slider.dataset.dial, held = document.getElementById(`${name}-on`).checked;
    const value = { cl: now.dataset.cl, tau_q: now.dataset.tauQ, tau_crit: now.dataset.tauCrit }[name];
    if (!held && value !== undefined) { slider.value = value; slider.nextElementSibling.textContent = (+value).toFixed(2); }
  }
};

if (root) {
  for (const slider of root.querySelectorAll('#dial-form input[data-dial]')) {
    slider.addEventListener('input', () => {
      document.getElementById(`${slider.dataset.dial}-on`).checked = true;
      slider.nextElementSibling.textContent = (+slider.value).toFixed(2);
    });
  }
  const by = document.getElementById('by');
  if (by) {
    try { by.value ||= localStorage.getItem('maci-by') ?? ''; } catch { /* no storage */ }
    by.addEventListener('change', () => { try { localStorage.setItem('maci-by', by.value); } catch { /* no storage */ } });
  }
}

// When a debate ends or somebody steers it, its page is loaded again; what was unfolded stays so.
const place = `maci-open ${location.pathname}`;
const keepOpen = () => {
  try { sessionStorage.setItem(place, JSON.stringify([...document.querySelectorAll('details[id][open]')].map(d => d.id))); } catch { /* no storage */ }
};
if (root) {
  try {
    const kept = JSON.parse(sessionStorage.getItem(place) ?? '[]');
    if (kept.length) for (const round of rounds()) round.open = false;
    for (const id of kept) { const d = document.getElementById(id); if (d) d.open = true; }
    sessionStorage.removeItem(place);
  } catch { /* no storage */ }
}

if (root?.dataset.live) {
  let last = +root.dataset.last;
  const log = document.getElementById('log'), count = document.getElementById('log-count');
  pointTo();
  document.addEventListener('toggle', pointTo, true);
  document.addEventListener('submit', keepOpen);
  newest.firstChild.addEventListener('click', event => {
    event.preventDefault();
    const every = rounds(), last = every.at(-1);
    for (const round of every) round.open = round === last;
    last.scrollIntoView();
    last.querySelector('summary').focus();
  });
  const stream = new EventSource(`${root.dataset.events}?after=${last}`);
  stream.addEventListener('open', () => { delete root.dataset.lost; });
  stream.addEventListener('error', () => { root.dataset.lost = 'yes'; });
  stream.addEventListener('line', event => {
    const { seq, html } = JSON.parse(event.data);
    if (seq <= last) return;
    last = seq;
    root.dataset.last = seq;
    const bottom = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
    log.insertAdjacentHTML('beforeend', html);
    count.textContent = `(${seq})`;
    if (bottom) log.scrollTop = log.scrollHeight;
  });
  stream.addEventListener('panels', event => {
    const panels = JSON.parse(event.data), state = panels['p-state'];
    for (const [id, html] of Object.entries(panels)) put(id, html);
    dials();
    pointTo();
    if (state !== undefined || 'p-question' in panels) refreshControls();
  });
  stream.addEventListener('end', () => {
    stream.close();
    document.removeEventListener('toggle', pointTo, true);
    newest.hidden = true;
    if (document.activeElement?.closest('form') && !document.activeElement.closest('#controls')) { refreshControls(); return; }
    keepOpen();
    location.replace(location.pathname);
  });
}

// Which buttons there are depends on the visitor's own page, so they are fetched, not broadcast.
async function refreshControls() {
  const place = document.getElementById('controls');
  const answer = await fetch(`${location.pathname}/controls`, { credentials: 'same-origin' });
  if (!answer.ok) return;
  const focused = place.contains(document.activeElement), shape = document.createElement('template');
  shape.innerHTML = await answer.text();
  place.replaceChildren(shape.content);
  if (focused) place.querySelector('button, a')?.focus();
  if (!place.querySelector('#do-stop')) document.getElementById('by-hand')?.remove();
}
