// Imported before anything else: an old Node then says what it lacks, not which syntax it cannot read.
const LEAST = [20, 19];

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1])) {
  console.error(
    `Errand needs Node ${LEAST.join('.')} or newer; this is Node ${process.versions.node} (${process.execPath}).\n` +
      'Get a newer one from https://nodejs.org, or by your version manager: fnm install 22, nvm install 22, volta install node@22.',
  );
  process.exit(1);
}
