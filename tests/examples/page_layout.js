// What a browser makes of a page: the attribute data-page of its root has what a reader would stumble over,
// or "good": words over each other or cut off in drawings, a page wider than the window, what it would have fetched.
const faults = [];
// The page's policy lets nothing be fetched and tells of each attempt.
addEventListener('securitypolicyviolation', (event) => faults.push('asked for ' + event.blockedURI));
addEventListener('load', () => {
  const words = (text) => '"' + text.textContent + '"';
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].map((text) => ({ text, box: text.getBoundingClientRect() }));
    texts.forEach(({ text, box }, i) => {
      if (box.left < frame.left - 0.5 || box.right > frame.right + 0.5 || box.top < frame.top - 0.5 || box.bottom > frame.bottom + 0.5) {
        faults.push(words(text) + ' is cut off');
      }
      for (const other of texts.slice(i + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        if (across > 1 && down > 3) faults.push(words(text) + ' over ' + words(other.text));
      }
    });
  }
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push('wider than the window');
  document.documentElement.dataset.page = faults.length === 0 ? 'good' : faults.join('; ');
});
