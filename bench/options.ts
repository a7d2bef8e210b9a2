import { parseArgs } from 'node:util';
import { SUBJECTS } from './subjects.ts';

export interface Options {
  readonly rounds: number;
  readonly seconds: number;
  /** Letters of subjects. */
  readonly only: ReadonlySet<string>;
  readonly json: boolean;
}

const HELP = `Compares Errand with a bare echo and with the official SDKs, each in a process of its own.

  npm run bench -- [options]

  --rounds <number>   how often each subject is measured, in turn with the others (default: 5)
  --seconds <number>  how long each time (default: 1.5)
  --only <letters>    measures these only, for instance \`a,e\`:
${SUBJECTS.map(({ key, name }) => `                        ${key}  ${name}`).join('\n')}
  --json              prints every round as JSON
  --help              shows this

What the figures mean: bench/README.md
`;

/** What is asked for on the command line; ends the process where that is help, or nonsense. */
export function options(): Options {
  try {
    const { values } = parseArgs({
      options: {
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '1.5' },
        only: { type: 'string', default: SUBJECTS.map(({ key }) => key).join(',') },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(HELP);
      process.exit();
    }
    const rounds = positive('rounds', values.rounds);
    if (!Number.isInteger(rounds)) throw new TypeError('--rounds is a whole number');
    return { rounds, seconds: positive('seconds', values.seconds), only: letters(values.only), json: values.json };
  } catch (error) {
    console.error(`${(error as Error).message}\n\`npm run bench -- --help\` lists the options.`);
    process.exit(1);
  }
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (!(number > 0 && number <= 3600))
    throw new TypeError(`--${name} is a number above 0, not ${JSON.stringify(text)}`);
  return number;
}

function letters(text: string): ReadonlySet<string> {
  const known = SUBJECTS.map(({ key }) => key);
  const asked = text.split(',').map((letter) => letter.trim());
  const unknown = asked.filter((letter) => !known.includes(letter));
  if (unknown.length > 0)
    throw new TypeError(`--only takes ${known.join(',')}, not ${JSON.stringify(unknown.join(','))}`);
  return new Set(asked);
}
