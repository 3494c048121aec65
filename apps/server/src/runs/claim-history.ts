/**
 * All verdicts about the claims: of this server's runs, and of the command line's runs on the same data folder, which
 * appends to the same file. The file outlives the runs, of which only the newest are kept.
 */

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Run } from '@shardlab/contract';
import { type ClaimLedgerEntry, claimHistoryMax } from '@shardlab/contract';
import {
  appendVerdicts,
  bestEvidence,
  historyFileName,
  type RecordedVerdict,
  readVerdicts,
  type StoredVerdict,
  type StudyRegistry,
} from '@shardlab/lab';
import type { RunStore } from '../store/run-store.ts';
import type { RecordedRuns } from './recorded-runs.ts';

export interface ClaimHistoryOptions {
  dataDir: string;
  runs: RunStore;
  recorded: RecordedRuns;
  studies: StudyRegistry;
  /** Told of lines of the file that do not fit. */
  onDamage: (sentence: string) => void;
}

export class ClaimHistory {
  readonly #dataDir: string;
  readonly #runs: RunStore;
  readonly #recorded: RecordedRuns;
  readonly #studies: StudyRegistry;
  readonly #onDamage: (sentence: string) => void;
  /** The file as it was when it was last read: to check its lines takes 0.1 ms each, and it changes when a run ends. */
  #read: { version: string; verdicts: readonly StoredVerdict[] } | undefined;

  constructor({ dataDir, runs, recorded, studies, onDamage }: ClaimHistoryOptions) {
    this.#dataDir = dataDir;
    this.#runs = runs;
    this.#recorded = recorded;
    this.#studies = studies;
    this.#onDamage = onDamage;
  }

  /** Stores the verdicts of a finished run. */
  keep(run: Run): Promise<void> {
    return appendVerdicts(this.#dataDir, run);
  }

  /**
   * Every claim with the verdict that has the best evidence, and all its verdicts, newest first. A claim that was never
   * judged on this machine has the best of the recorded verdicts.
   */
  async ledger(): Promise<ClaimLedgerEntry[]> {
    const recorded = Map.groupBy(this.#recorded.verdicts, ({ id }) => id);
    const verdictsOf = Map.groupBy(await this.#verdicts(), ({ id }) => id);
    return this.#studies.claims.map(({ id, title, document, grade, weak = null }) => {
      const ofClaim = (verdictsOf.get(id) ?? []).toSorted((a, b) => b.endedAtMs - a.endedAtMs);
      return {
        id,
        study: this.#studies.studyOf(id)!.id,
        title,
        document,
        grade,
        weak,
        last: this.#last(ofClaim.length > 0 ? ofClaim : (recorded.get(id) ?? [])),
        history: ofClaim
          .slice(0, claimHistoryMax)
          .map(({ verdict, value, provisional, runId, scenarioId, scale, endedAtMs }) => {
            return { verdict, value, provisional, runId, scenarioId, scale, endedAtMs };
          }),
        judged: ofClaim.length,
      };
    });
  }

  #last(verdicts: readonly (StoredVerdict | RecordedVerdict)[]): ClaimLedgerEntry['last'] {
    const best = bestEvidence(verdicts);
    if (best === undefined) return null;
    const { id: _id, commit: _commit, trials: _trials, ...fields } = best.verdict;
    const runKept = (runId: string) => this.#runs.has(runId) || this.#recorded.has(runId);
    return {
      recordedOn: null,
      ...fields,
      runKept: runKept(fields.runId),
      others: best.others.map(({ runId, scenarioId, scale, endedAtMs }) => {
        return { runId, scenarioId, scale, endedAtMs, runKept: runKept(runId) };
      }),
    };
  }

  /** Adds the verdicts of stored runs that are missing in the file: runs that are just ending, or are older than the file. */
  async #verdicts(): Promise<StoredVerdict[]> {
    const verdicts = [...(await this.#inFile())];
    const known = new Set(verdicts.map(({ runId }) => runId));
    for (const runId of this.#runs.judgedRuns()) {
      if (known.has(runId)) continue;
      verdicts.push(...this.#runs.verdictsOf(runId));
      await nextTurn(); // a server shares its thread with its queues
    }
    return verdicts;
  }

  async #inFile(): Promise<readonly StoredVerdict[]> {
    const found = await stat(join(this.#dataDir, historyFileName)).catch(() => undefined);
    const version = found === undefined ? '' : `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (this.#read?.version !== version || version === '')
      this.#read = { version, verdicts: await readVerdicts(this.#dataDir, this.#onDamage) };
    return this.#read.verdicts;
  }
}
