import { isUtf8 } from 'node:buffer';
import { createInterface } from 'node:readline';
import fc from 'fast-check';
import { expect } from 'vitest';
import type { JsonObject } from '../../src/json.ts';
import { frame, TASK_CLIENT } from '../fixtures/frames.ts';
import { assertValidFrame, type Loose } from '../wire-schemas.ts';
import { bytesOf, lineCases, Pool, type Case } from './cases.ts';
import { idOf, jsonOf, judgeFrame, type Sent } from './judge.ts';
import type { Subject } from './subject.ts';
import type { Plan, Tally } from './tally.ts';

/** So many lines are sent before the server must have answered one in good faith. */
const BATCH = 20;
const PATIENCE_MS = 20_000;

/** Sends mutated lines over stdio. Between them a request in good faith must be answered, and all of them in the end. */
export async function fuzzStdio(subject: Subject, { frames, seed }: Plan, tally: Tally): Promise<void> {
  const pool = new Pool();
  const answers = new Answers(subject, pool, tally);
  // What one run of lines leaves behind the next one meets, so that there is nothing to make smaller.
  for (const [at, each] of fc.sample(lineCases, { numRuns: frames, seed }).entries()) {
    const bytes = bytesOf(each, pool.request(each.template));
    for (const line of linesOf(bytes)) answers.expect(line, isPristine(each));
    subject.input.write(Buffer.concat([bytes, Buffer.from('\n')]));
    if (at % BATCH === 0) await answers.control();
  }
  await answers.control();
  await answers.all();
  await answers.stop();
}

function isPristine({ edits, bytes }: Case): boolean {
  return edits.length + bytes.length === 0;
}

/** A line may have become several. */
function* linesOf(bytes: Buffer): Generator<Buffer> {
  for (let start = 0; start <= bytes.length;) {
    const end = bytes.indexOf(0x0a, start);
    yield trimmed(bytes.subarray(start, end < 0 ? bytes.length : end));
    if (end < 0) return;
    start = end + 1;
  }
}

/** Space around a message is nothing of it, also what Unicode calls space; so a BOM goes, too. */
function trimmed(line: Buffer): Buffer {
  return isUtf8(line) ? Buffer.from(line.toString('utf8').trim()) : line;
}

/** What the server has yet to answer, and what it does. */
class Answers {
  readonly #subject: Subject;
  /** By id: what was sent under it, and how many answers are still to come. */
  readonly #waiting = new Map<string | number, { readonly sent: Sent[]; left: number }>();
  readonly #controls = new Map<string, (result: JsonObject) => void>();
  readonly #reader: ReturnType<typeof createInterface>;
  #wrong: Error | undefined;
  #count = 0;

  constructor(subject: Subject, pool: Pool, tally: Tally) {
    this.#subject = subject;
    this.#reader = createInterface({ input: subject.output });
    this.#reader.on('line', (line) => {
      pool.note(line);
      try {
        this.#take(JSON.parse(line), tally);
      } catch (error) {
        this.#wrong ??= new Error(`${(error as Error).message}\nanswer: ${line.slice(0, 1000)}\n${this.#about(line)}`, {
          cause: error,
        });
      }
    });
  }

  /** Notes that a line is on its way. */
  expect(body: Buffer, pristine: boolean): void {
    const id = idOf(jsonOf(body)?.value);
    if (id === undefined) return;
    const asked = this.#waiting.get(id) ?? { sent: [], left: 0 };
    this.#waiting.set(id, asked);
    asked.sent.push({ body, pristine, whole: true });
    asked.left += 1;
  }

  #take(message: Loose, tally: Tally): void {
    const control = this.#controls.get(message.id);
    if (control) return control(message.result);
    if ('method' in message) {
      const subscription = message.params._meta?.['io.modelcontextprotocol/subscriptionId'];
      assertValidFrame(message, { method: 'subscriptions/listen', id: subscription });
      return tally.count(message.method);
    }
    const asked = this.#waiting.get(message.id);
    if (message.id !== undefined) {
      expect(asked?.left, 'nobody asked for it').toBeGreaterThan(0);
      asked!.left -= 1;
    }
    tally.count(oneOf(asked?.sent ?? [{ body: Buffer.alloc(0), pristine: false, whole: false }], message));
  }

  /** What may have led to an answer. */
  #about(line: string): string {
    const { id } = JSON.parse(line);
    const sent = this.#waiting.get(id)?.sent.map(({ body }) => body.toString('latin1').slice(0, 1500));
    return `to: ${sent?.join('\nor: ') ?? 'nothing of that id'}\nlog: ${this.#subject.log()}`;
  }

  #write(message: object): void {
    this.#subject.input.write(`${JSON.stringify(message)}\n`);
  }

  /** Asks for what must be answered at once, whatever came before. */
  async control(): Promise<void> {
    const id = `control-${++this.#count}`;
    const text = `${id}: \u202e\ud83d\ude00`;
    const answered = new Promise<JsonObject>((resolve) => this.#controls.set(id, resolve));
    const request = frame(id, 'tools/call', { name: 'echo', arguments: { text } }, TASK_CLIENT);
    this.#write(request);
    const result = await within(answered, () => `${id} was not answered; ${this.#subject.gone() ?? ''}`);
    this.#controls.delete(id);
    expect(result).toMatchObject({ content: [{ type: 'text', text }] });
    if (this.#wrong) throw this.#wrong;
  }

  /** Resolves when every request was answered, but for subscriptions, which may go on. */
  async all(): Promise<void> {
    const isLeft = (): unknown[] =>
      [...this.#waiting.values()].flatMap(({ sent, left }) => {
        const messages = sent.map(({ body }) => jsonOf(body)!.value as JsonObject);
        const mayGoOn = messages.some(({ method }) => method === 'subscriptions/listen');
        return left === 0 || mayGoOn ? [] : messages;
      });
    for (const end = Date.now() + PATIENCE_MS; isLeft().length > 0;) {
      if (Date.now() > end) throw new Error(`never answered: ${JSON.stringify(isLeft()).slice(0, 3000)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    if (this.#wrong) throw this.#wrong;
  }

  /** Takes back what goes on, after which nothing may come. */
  async stop(): Promise<void> {
    for (const [requestId, { left }] of this.#waiting) {
      const params = { requestId };
      if (left > 0) this.#write({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    }
    await this.control();
    this.#reader.close();
  }
}

/** The verdict by the first of the messages under one id that an answer can belong to: that one came twice is an error, too. */
function oneOf(sent: readonly Sent[], message: Loose): string {
  for (const [at, each] of sent.entries()) {
    try {
      return judgeFrame(each, message);
    } catch (error) {
      if (at === sent.length - 1) throw error;
    }
  }
  throw new Error('nothing was sent');
}

function within<T>(promise: Promise<T>, why: () => string): Promise<T> {
  let late: ReturnType<typeof setTimeout>;
  const timeout = new Promise<never>((_, reject) => {
    late = setTimeout(() => reject(new Error(why())), PATIENCE_MS);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(late));
}
