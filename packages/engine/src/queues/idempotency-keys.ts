/**
 * Commits a transaction once for each idempotency key. A key is in one of three places: here while its transaction is being
 * committed, in the instance's file once it is committed, and nowhere if it failed. So memory holds no more keys than commits
 * are under way, and a crash leaves the key and its transaction, or neither.
 *
 * A reader that starts after the commit was answered finds the key in the file; until then it is here.
 */
import { QueueError } from '../api/errors.ts';
import { limits } from '../api/limits.ts';
import { type IdRun, idRunsBytes, readIdRuns, writeIdRuns } from '../model/id-runs.ts';
import type { IdempotencyKeyRow } from '../model/idempotency-key.ts';
import { bufferOf } from '../model/message-record.ts';
import { LazyCommitResult } from '../model/session-calls.ts';
import type { TableWrite } from '../model/table-write.ts';

export interface IdempotencyKeysOptions {
  /** Time of the delay clock, which restarts do not set back. */
  nowMs(): number;
  /** Reads the row of the key from the file. */
  read(key: string): Promise<IdempotencyKeyRow | undefined>;
}

export interface KeyedContent {
  key: string;
  fingerprint: Uint8Array;
  hasStatements: boolean;
}

/** The content that was committed under a key. */
interface CommittedContent {
  fingerprint: Uint8Array;
  idRuns: readonly IdRun[];
}

export class IdempotencyKeys {
  readonly #options: IdempotencyKeysOptions;
  /** Commits under way, by key. Each resolves with what was committed, or undefined if nothing was; none rejects. */
  readonly #underWay = new Map<string, Promise<CommittedContent | undefined>>();

  constructor(options: IdempotencyKeysOptions) {
    this.#options = options;
  }

  /** Throws `IDEMPOTENCY_KEY_REUSED`, storage errors of the look-up, and what `commit` throws. */
  async commitOnce(
    content: KeyedContent,
    commit: () => Promise<LazyCommitResult>,
  ): Promise<LazyCommitResult> {
    const { key } = content;
    for (let other = this.#underWay.get(key); other !== undefined; other = this.#underWay.get(key)) {
      const committed = await other;
      if (committed !== undefined) return replay(committed, content);
    }
    const { promise, resolve } = Promise.withResolvers<CommittedContent | undefined>();
    this.#underWay.set(key, promise);
    let committed: CommittedContent | undefined;
    try {
      committed = await this.#find(key);
      if (committed !== undefined) return replay(committed, content);
      const result = await commit();
      committed = { fingerprint: content.fingerprint, idRuns: result.idRuns };
      return result;
    } finally {
      this.#underWay.delete(key);
      resolve(committed);
    }
  }

  async #find(key: string): Promise<CommittedContent | undefined> {
    const row = await this.#options.read(key);
    if (row === undefined || this.#options.nowMs() - row.committedAtMs >= limits.idempotencyRetentionMs)
      return undefined;
    const { fingerprint, idRuns } = row;
    return { fingerprint, idRuns: readIdRuns(bufferOf(idRuns), 0, idRuns.byteLength) };
  }

  /** The row to write with the transaction. */
  writeOf({ key, fingerprint }: KeyedContent, runs: readonly IdRun[]): TableWrite {
    // not part of a pooled buffer, all of which would be copied to the writer
    const idRuns = Buffer.allocUnsafeSlow(idRunsBytes(runs));
    writeIdRuns(idRuns, 0, runs);
    return {
      kind: 'idempotency key',
      row: { key, fingerprint, idRuns, committedAtMs: this.#options.nowMs() },
    };
  }
}

function replay(
  { fingerprint, idRuns }: CommittedContent,
  { key, fingerprint: own, hasStatements }: KeyedContent,
): LazyCommitResult {
  if (Buffer.compare(fingerprint, own) !== 0)
    throw new QueueError('IDEMPOTENCY_KEY_REUSED', { details: { idempotencyKey: key } });
  return new LazyCommitResult(idRuns, hasStatements ? 'lost' : [], true);
}
