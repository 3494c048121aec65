/** Rates that the document states more than once, in its text and in captions: for the lint. */
import type { DocumentNumbers } from '../../../document-lint/document-numbers.ts';

export const documentNumbers: readonly DocumentNumbers[] = [
  {
    kind: 'same',
    claims: ['A11'],
    what: 'Dequeue rate with large batches',
    stated: [
      { where: 'the text: near', value: 100_000, unit: 'perSec' },
      { where: 'the caption of figure 6', value: 100_000, unit: 'perSec', bound: 'over' },
    ],
  },
  {
    kind: 'same',
    claims: ['A16'],
    what: 'Enqueues and dequeues of a topic with large batches',
    stated: [
      { where: 'the text', value: 150_000, unit: 'perSec' },
      { where: 'the text, by the hour', value: 500_000_000, unit: 'perHour', bound: 'over' },
    ],
  },
];
