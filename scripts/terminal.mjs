// Set-up talks on stderr, so that what a command prints on stdout can be piped.
const coloured = process.stderr.isTTY === true && !process.env.NO_COLOR && process.env.TERM !== 'dumb';

const paint = (code) => (text) => (coloured ? `\u001b[${code}m${text}\u001b[0m` : text);
const dim = paint(2);
const red = paint(31);

/** Says what happens now. */
export function say(text) {
  process.stderr.write(`${dim('errand ·')} ${text}\n`);
}

/** Says what went wrong and what to do about it, and ends the process. */
export function fail(text, advice = []) {
  process.stderr.write(`${red('errand ·')} ${[text, ...advice].join('\n         ')}\n`);
  process.exit(1);
}
