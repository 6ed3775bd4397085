// Says beside the field that a file is too large before it is sent; the server says it again.
const form = document.getElementById('new');
const mb = bytes => `${(bytes / 2 ** 20).toFixed(1)} MB`;
const fault = (field, every) => {
  const files = [...field.files], most = +field.dataset.most, large = files.find(file => file.size > most);
  if (large) return `${large.name} has ${mb(large.size)}; a file may have ${mb(most)} here. Choose a smaller one.`;
  if (field.dataset.files && files.length > +field.dataset.files) return `${files.length} files are chosen; ${field.dataset.files} can be sent at once.`;
  const all = every.flatMap(other => [...other.files]).reduce((sum, file) => sum + file.size, 0);
  return files.length && all > +form.dataset.most ? `The files have ${mb(all)} together; ${mb(+form.dataset.most)} can be sent at once.` : '';
};
const fields = [...form.querySelectorAll('input[type=file]')];
form.addEventListener('change', event => {
  if (!fields.includes(event.target)) return;
  for (const field of fields) {
    const wrong = fault(field, fields);
    field.setCustomValidity(wrong);
    document.getElementById(`${field.id}-wrong`).textContent = wrong;
  }
});
