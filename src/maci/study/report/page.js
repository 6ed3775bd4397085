for (const table of document.querySelectorAll('table')) {
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
