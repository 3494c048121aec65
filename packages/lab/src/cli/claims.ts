import { claims } from '../claims/ledger.ts';
import { notMeasured } from '../claims/not-measured.ts';
import { type KeptVerdict, readVerdicts } from '../claims/verdict-history.ts';
import { readScenarioFolder } from '../scenario/scenario-folder.ts';
import { dataFolder } from './data-folder.ts';
import { exitCodes } from './exit-codes.ts';
import { verdictsInWords } from './result-table.ts';

/** `claims`: every claim, the last verdict that a run of the command line gave it, and how often which was given. */
export async function claimsCommand(flags: { 'data-dir'?: string | undefined }): Promise<number> {
  const kept = await readVerdicts(dataFolder(flags['data-dir']));
  const judgedBy = await scenariosByClaim();
  const lines = claims.map(({ id, title, document, grade }) => {
    const verdicts = kept.filter((verdict) => verdict.id === id);
    const last = verdicts.at(-1);
    if (last === undefined) {
      const scenarios = judgedBy.get(id) ?? [];
      const how = scenarios.length === 0 ? 'no scenario judges it' : `${scenarios.join(' or ')} judges it`;
      return `${id} NOT MEASURED YET\n   ${title}. ${document}\n   ${how}`;
    }
    const words = verdictsInWords([{ ...last, title, document, grade }]);
    return `${words}\n   The document: ${document} (${grade})\n   ${sourceInWords(last)}; ${countsInWords(verdicts)}`;
  });
  process.stdout.write(`${lines.join('\n\n')}\n\n`);
  process.stdout.write('Not measured yet, in words of the document:\n');
  for (const { what, reason } of notMeasured) process.stdout.write(`   ${what}: ${reason}\n`);
  const last = claims.flatMap(({ id }) => kept.findLast((verdict) => verdict.id === id) ?? []);
  const open = claims.length - last.length;
  process.stdout.write(
    `\n${claims.length} claims: ${countsInWords(last)}${open === 0 ? '' : `, not measured yet ${open}`}\n`,
  );
  return exitCodes.done;
}

async function scenariosByClaim(): Promise<Map<string, string[]>> {
  const judgedBy = new Map<string, string[]>();
  for (const { parsed } of await readScenarioFolder()) {
    if (!parsed.ok) continue;
    for (const id of parsed.scenario.claims)
      judgedBy.set(id, [...(judgedBy.get(id) ?? []), parsed.scenario.id]);
  }
  return judgedBy;
}

function sourceInWords({ scenarioId, scale, endedAtMs, commit }: KeptVerdict): string {
  const when = new Date(endedAtMs).toISOString().slice(0, 16).replace('T', ' ');
  return `From ${scenarioId}, ${scale}, ${when} UTC${commit === null ? '' : `, commit ${commit}`}`;
}

/** "holds 3, inconclusive 1" */
function countsInWords(verdicts: readonly KeptVerdict[]): string {
  const counts = new Map<string, number>();
  for (const { verdict } of verdicts) counts.set(verdict, (counts.get(verdict) ?? 0) + 1);
  const words = [...counts].map(([verdict, count]) => `${verdict.replaceAll('-', ' ')} ${count}`);
  return words.join(', ') || 'none judged';
}
