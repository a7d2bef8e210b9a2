/** A longer line is thrown away. */
export const MAX_LINE_BYTES = 10 * 1024 * 1024;

const NEWLINE = 0x0a;

/** Cuts a stream of bytes into lines, without their `\n`. */
export class LineSplitter {
  #parts: Buffer[] = [];
  #size = 0;

  /** The lines that a chunk completes, in order; `'too long'` stands for one that was not kept. */
  *add(chunk: Buffer): Generator<Buffer | 'too long', void, undefined> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end));
      start = end + 1;
      yield this.#take();
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(part: Buffer): void {
    this.#size += part.length;
    if (this.#size > MAX_LINE_BYTES) this.#parts = [];
    else this.#parts.push(part);
  }

  #take(): Buffer | 'too long' {
    const line = this.#size > MAX_LINE_BYTES ? 'too long' : Buffer.concat(this.#parts, this.#size);
    this.#parts = [];
    this.#size = 0;
    return line;
  }
}
