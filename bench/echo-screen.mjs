// The least that a program on a screen can do: j and k move a pointer, and nothing else is drawn.
const HEIGHT = 30;
let row = 1;
process.stdin.setRawMode(true);
process.stdout.write('\u001B[2J\u001B[1;1H›');
process.stdin.on('data', (keys) => {
  for (const key of keys.toString()) {
    process.stdout.write(`\u001B[${row};1H `);
    row = Math.max(1, Math.min(HEIGHT, row + (key === 'j' ? 1 : -1)));
    process.stdout.write(`\u001B[${row};1H›`);
  }
});
