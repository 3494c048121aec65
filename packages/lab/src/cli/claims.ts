import type { Slip } from '@shardlab/contract';
import { exitCodes } from '../errors/exit-codes.ts';
import { bestEvidence } from '../judging/best-evidence.ts';
import { readVerdicts, type StoredVerdict } from '../judging/verdict-history.ts';
import { listRecorded } from '../recorded/recorded-run.ts';
import { type RecordedVerdict, recordedVerdicts } from '../recorded/recorded-verdicts.ts';
import { readScenarios } from '../scenario/scenario-folder.ts';
import { bundledStudies, type StudyRegistry } from '../studies/registry.ts';
import type { Claim, Study } from '../studies/study.ts';
import { dataFolder } from './folders.ts';
import { verdictsInWords } from './result-table.ts';

export interface ClaimsOptions {
  /** Default: the bundled ones. */
  studies?: StudyRegistry;
}

/** `claims`: every claim with the verdict that has the best evidence, and how often each verdict was given. */
export async function claimsCommand(
  flags: { 'data-dir'?: string | undefined },
  { studies: registry = bundledStudies }: ClaimsOptions = {},
): Promise<number> {
  const kept = await readVerdicts(dataFolder(flags['data-dir']));
  const judgedBy = await scenariosByClaim(registry);
  const recorded = recordedVerdicts(await listRecorded());
  const { claims, studies } = registry;
  const { studies: described } = registry.describe();
  const slips = described.flatMap((study) => study.slips);
  const strongest: StoredVerdict[] = [];
  const lines = claims.map((claim) => {
    const { id, title, document, grade, weak = null } = claim;
    const verdicts = kept.filter((verdict) => verdict.id === id);
    const best = bestEvidence(verdicts);
    if (best === undefined) {
      const elsewhere = bestEvidence(recorded.filter((verdict) => verdict.id === id));
      const scenarios = judgedBy.get(id) ?? [];
      const source =
        scenarios.length === 0 ? 'No scenario tests it' : `Run ${scenarios.join(' or ')} to test it`;
      const known = elsewhere === undefined ? '' : `\n   ${recordedInWords(elsewhere.verdict)}`;
      const state = elsewhere === undefined ? 'NOT MEASURED YET' : 'NOT MEASURED ON THIS MACHINE';
      return `${id} ${state}\n   ${title}. ${document}${statedInWords(claim)}${slipsInWords(slips, id)}\n   ${source}${known}`;
    }
    strongest.push(best.verdict);
    const words = verdictsInWords([{ ...best.verdict, title, document, grade, weak }]);
    return `${words}\n   The document: ${document} (${grade})${statedInWords(claim)}${slipsInWords(slips, id)}\n   ${[best.verdict, ...best.others].map(sourceInWords).join('; ')}; ${countsInWords(verdicts)}`;
  });
  process.stdout.write(`${lines.join('\n\n')}\n\n`);
  for (const study of studies) process.stdout.write(notMeasuredInWords(study));
  const open = claims.length - strongest.length;
  process.stdout.write(
    `\n${claims.length} claims: ${countsInWords(strongest)}${open === 0 ? '' : `, not measured yet ${open}`}\n`,
  );
  return exitCodes.done;
}

/** A line with the document's own words; none if they are the claim itself, as in documents of this project. */
const statedInWords = ({ document, where, stated, translation }: Claim) =>
  `\n   ${where}${stated === document ? '' : `: “${stated}”`}${translation === undefined ? '' : ` (${translation})`}`;

/** A line for each slip in the numbers on which the claim rests. */
const slipsInWords = (slips: readonly Slip[], id: string) =>
  slips
    .filter(({ claims }) => claims.includes(id))
    .map(({ what, slip }) => `\n   Slip in the document: ${what}: ${slip}`)
    .join('');

function notMeasuredInWords({ document, notMeasured, notBuilt = [] }: Study): string {
  const statements = notMeasured.map(({ statement, reason }) => `   ${statement}: ${reason}\n`);
  const features = notBuilt.map(({ feature, instead }) => `   ${feature}: ${instead}\n`);
  return [
    ...(statements.length === 0
      ? []
      : [`Statements of "${document.title}" that no scenario measures yet:\n`, ...statements]),
    ...(features.length === 0 ? [] : [`What it names and the engine does not have:\n`, ...features]),
  ].join('');
}

async function scenariosByClaim(studies: StudyRegistry): Promise<Map<string, string[]>> {
  const judgedBy = new Map<string, string[]>();
  for (const { parsed } of await readScenarios(studies)) {
    if (!parsed.ok) continue;
    for (const id of parsed.scenario.claims)
      judgedBy.set(id, [...(judgedBy.get(id) ?? []), parsed.scenario.id]);
  }
  return judgedBy;
}

function sourceInWords({ scenarioId, scale, endedAtMs, commit }: StoredVerdict): string {
  const when = new Date(endedAtMs).toISOString().slice(0, 16).replace('T', ' ');
  return `From ${scenarioId}, ${scale}, ${when} UTC${commit === null ? '' : `, commit ${commit}`}`;
}

/** "Recorded on 2 × Intel Xeon, ext4, 2026-11-21: holds. <reason>" */
function recordedInWords({ recordedOn, verdict, reason }: RecordedVerdict): string {
  return `Recorded on ${recordedOn}: ${verdict.replaceAll('-', ' ')}. ${reason}`;
}

/** "holds 3, holds provisionally 2, inconclusive 1" */
function countsInWords(verdicts: readonly StoredVerdict[]): string {
  const counts = new Map<string, number>();
  for (const { verdict, provisional } of verdicts) {
    const words = `${verdict.replaceAll('-', ' ')}${provisional ? ' provisionally' : ''}`;
    counts.set(words, (counts.get(words) ?? 0) + 1);
  }
  const words = [...counts].map(([verdict, count]) => `${verdict} ${count}`);
  return words.join(', ') || 'no verdicts';
}
