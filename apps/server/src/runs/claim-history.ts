/**
 * What runs said about the claims, over time: those of this server, and those of the command line on the same data folder,
 * which keeps its verdicts in the same file. The file outlives the runs, of which only the newest are kept.
 */

import type { Run } from '@shardlab/contract';
import { type ClaimLedgerEntry, claimHistoryMax } from '@shardlab/contract';
import { claims, type KeptVerdict, keepVerdicts, readVerdicts } from '@shardlab/lab';
import type { RunStore } from '../store/run-store.ts';

export class ClaimHistory {
  readonly #dataDir: string;
  readonly #runs: RunStore;

  constructor(dataDir: string, runs: RunStore) {
    this.#dataDir = dataDir;
    this.#runs = runs;
  }

  /** Of a run that is done. */
  keep(run: Run): Promise<void> {
    return keepVerdicts(this.#dataDir, run);
  }

  /** Every claim with its verdicts, the newest first. */
  async ledger(): Promise<ClaimLedgerEntry[]> {
    const kept = await this.#verdicts();
    return claims.map(({ id, title, document, grade }) => {
      const ofClaim = kept.filter((verdict) => verdict.id === id);
      const [newest] = ofClaim;
      return {
        id,
        title,
        document,
        grade,
        last: newest === undefined ? null : this.#toLast(newest),
        history: ofClaim
          .slice(0, claimHistoryMax)
          .map(({ verdict, value, runId, scenarioId, scale, endedAtMs }) => {
            return { verdict, value, runId, scenarioId, scale, endedAtMs };
          }),
        judged: ofClaim.length,
      };
    });
  }

  #toLast({ id: _id, commit: _commit, ...last }: KeptVerdict): NonNullable<ClaimLedgerEntry['last']> {
    return { ...last, runKept: this.#runs.has(last.runId) };
  }

  /** A run whose verdicts are not in the file yet is just ending, or is older than the file. */
  async #verdicts(): Promise<KeptVerdict[]> {
    const inFile = await readVerdicts(this.#dataDir);
    const known = new Set(inFile.map(({ runId }) => runId));
    const others = this.#runs.verdicts().filter(({ runId }) => !known.has(runId));
    return [...inFile, ...others].toSorted((a, b) => b.endedAtMs - a.endedAtMs);
  }
}
