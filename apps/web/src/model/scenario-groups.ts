/** Scenarios by the document on which they are based, and those that a text finds. */
import type { ScenarioEntry, StudyInfo } from '@shardlab/contract';

export interface ScenarioGroup {
  /** Id of the study; empty for scenarios that are not based on a document. */
  study: string;
  title: string;
  entries: ScenarioEntry[];
}

/** Groups in the order of the studies, those without a document last; empty groups are left out. */
export function scenarioGroups(
  entries: readonly ScenarioEntry[],
  studies: readonly StudyInfo[],
): ScenarioGroup[] {
  const known = new Set(studies.map(({ id }) => id));
  return [
    ...studies.map(({ id, document }) => ({ study: id, title: document.title })),
    { study: '', title: 'Not based on a document' },
  ]
    .map((group) => ({
      ...group,
      entries: entries.filter(
        ({ scenario: { study = '' } }) => (known.has(study) ? study : '') === group.study,
      ),
    }))
    .filter((group) => group.entries.length > 0);
}

/** Whether each word of the text is in the scenario's title, question, id or claims, in either case. */
export function findsScenario(text: string, { scenario }: Pick<ScenarioEntry, 'scenario'>): boolean {
  const { id, title, question, claims } = scenario;
  const where = [id, title, question, ...claims].join(' ').toLowerCase();
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => where.includes(word));
}
