import type { NotMeasured } from '../study.ts';

export const notMeasured: readonly NotMeasured[] = [
  {
    statement:
      'A power cut of most machines loses up to two minutes of acknowledged messages, unless the servers sync always; Jepsen found such losses with NATS 2.12.1.',
    reason:
      'A killed process loses nothing that the kernel has. Data that was not synced would have to be dropped below the file system, which takes a disk of our own for the servers; a preloaded library does not reach programs in Go.',
  },
  {
    statement: 'Three machines',
    reason: 'There is one: three processes on the loopback interface, whose routes can be cut.',
  },
];
