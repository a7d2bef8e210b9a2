import type { Serving } from './serving.ts';

/** One client of a server under load. It does one operation at a time. */
export interface Client {
  /** Does one operation. Where only a part of it is timed, gives what that took, in ms. */
  operate(): Promise<number | void>;
  /** Leaves as a client should. */
  close(): Promise<void> | void;
}

/** One of the things that are compared. */
export interface Subject {
  /** The letter that it goes by in the targets and in `--only`. */
  readonly key: string;
  readonly name: string;
  /** A file of `servers/`, without its ending. Subjects of one file share its process. */
  readonly server: string;
  /** Makes a client that is ready to operate. */
  connect(serving: Serving): Promise<Client>;
}
