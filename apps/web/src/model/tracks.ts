/** The scenarios sorted into the tracks of the start page. */
import type { ScenarioEntry } from '@shardlab/contract';

export interface Tracks {
  /** Those that replay a figure of a document, by document, in the order of its figures. */
  figures: { study: string; entries: ScenarioEntry[] }[];
  /** Faults, a conversion under load, a crash between two phases, a herd that wakes for one message. */
  breaking: ScenarioEntry[];
  /** Uploaded to this server. */
  own: ScenarioEntry[];
}

/** What breaks a queue without a fault or a conversion in its scenario. */
const breakingPrograms: readonly string[] = ['listen-herd', 'xa-crash', 'singleton'];

export function tracksOf(entries: readonly ScenarioEntry[]): Tracks {
  const builtIn = entries.filter(({ source }) => source === 'built-in');
  return {
    figures: byDocument(
      builtIn
        .filter(({ scenario }) => scenario.figure !== undefined)
        .sort((a, b) => orderOf(a).localeCompare(orderOf(b), 'en', { numeric: true })),
    ),
    breaking: builtIn.filter(
      ({ scenario: { faults, conversion, program } }) =>
        faults !== undefined || conversion !== undefined || breakingPrograms.includes(program),
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
