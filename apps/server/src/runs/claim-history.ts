/**
 * All verdicts about the claims: of this server's runs, and of the command line's runs on the same data folder, which
 * appends to the same file. The file outlives the runs, of which only the newest are kept.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Run } from '@shardlab/contract';
import { type ClaimLedgerEntry, claimHistoryMax } from '@shardlab/contract';
import { bundledStudies, byEvidence, type KeptVerdict, keepVerdicts, readVerdicts } from '@shardlab/lab';
import type { RunStore } from '../store/run-store.ts';

export class ClaimHistory {
  readonly #dataDir: string;
  readonly #runs: RunStore;

  constructor(dataDir: string, runs: RunStore) {
    this.#dataDir = dataDir;
    this.#runs = runs;
  }

  /** Stores the verdicts of a finished run. */
  keep(run: Run): Promise<void> {
    return keepVerdicts(this.#dataDir, run);
  }

  /** Every claim with the verdict that has the best evidence, and all its verdicts, newest first. */
  async ledger(): Promise<ClaimLedgerEntry[]> {
    const verdictsOf = Map.groupBy(await this.#verdicts(), ({ id }) => id);
    return bundledStudies.claims.map(({ id, title, document, grade, weak = null }) => {
      const ofClaim = (verdictsOf.get(id) ?? []).toSorted((a, b) => b.endedAtMs - a.endedAtMs);
      const [strongest] = ofClaim.toSorted(byEvidence);
      return {
        id,
        study: bundledStudies.studyOf(id)!.id,
        title,
        document,
        grade,
        weak,
        last: strongest === undefined ? null : this.#toLast(strongest),
        history: ofClaim
          .slice(0, claimHistoryMax)
          .map(({ verdict, value, provisional, runId, scenarioId, scale, endedAtMs }) => {
            return { verdict, value, provisional, runId, scenarioId, scale, endedAtMs };
          }),
        judged: ofClaim.length,
      };
    });
  }

  #toLast({ id: _id, commit: _commit, ...last }: KeptVerdict): NonNullable<ClaimLedgerEntry['last']> {
    return { ...last, runKept: this.#runs.has(last.runId) };
  }

  /** Adds the verdicts of stored runs that are missing in the file: runs that are just ending, or are older than the file. */
  async #verdicts(): Promise<KeptVerdict[]> {
    const inFile = await readVerdicts(this.#dataDir);
    const known = new Set(inFile.map(({ runId }) => runId));
    const verdicts = inFile;
    for (const runId of this.#runs.judgedRuns()) {
      if (known.has(runId)) continue;
      verdicts.push(...this.#runs.verdictsOf(runId));
      await nextTurn(); // a server shares its thread with its queues
    }
    return verdicts;
  }
}
