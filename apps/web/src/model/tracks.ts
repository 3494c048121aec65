/** The scenarios sorted into the tracks of the start page. */
import type { ScenarioEntry } from '@shardlab/contract';

export interface Tracks {
  /** Scenarios that replay a figure of a document, by document, in the order of its figures. */
  figures: { study: string; entries: ScenarioEntry[] }[];
  /** Faults, a conversion under load, a crash between two phases. */
  breaking: ScenarioEntry[];
  /** Uploaded to this server. */
  own: ScenarioEntry[];
}

/** Programs that cause faults themselves; a singleton does so unless its parameter says none. */
const breakingPrograms: readonly string[] = ['xa-crash', 'singleton'];

export function tracksOf(entries: readonly ScenarioEntry[]): Tracks {
  const builtIn = entries.filter(({ source }) => source === 'built-in');
  return {
    figures: byDocument(
      builtIn
        .filter(({ scenario }) => scenario.figure !== undefined)
        .sort((a, b) => orderOf(a).localeCompare(orderOf(b), 'en', { numeric: true })),
    ),
    breaking: builtIn.filter(
      ({ scenario: { faults, conversion, program, parameters } }) =>
        faults !== undefined ||
        conversion !== undefined ||
        (breakingPrograms.includes(program) && parameters?.fault !== 'none'),
    ),
    own: entries.filter(({ source }) => source === 'uploaded'),
  };
}

function byDocument(entries: readonly ScenarioEntry[]): Tracks['figures'] {
  const documents = new Map<string, ScenarioEntry[]>();
  for (const entry of entries) {
    const study = entry.scenario.study ?? '';
    documents.set(study, [...(documents.get(study) ?? []), entry]);
  }
  return [...documents].map(([study, ofStudy]) => ({ study, entries: ofStudy }));
}

/** The white paper first: its figures are what this lab was built for. */
const orderOf = ({ scenario: { study = '', figure = '' } }: ScenarioEntry): string =>
  `${study === 'white-paper' ? '' : study}/${figure}`;
