/** Places groups on the writer thread and the session thread in turn, however long commits take. */
import type { CommitPlace, CommitPlacement } from '../../src/storage/threads/commit-place.ts';

export class ChangingPlacement implements CommitPlacement {
  place: CommitPlace;
  readonly #isChanged: () => boolean;

  /** Called after each group; returns whether to change. */
  constructor(isChanged: () => boolean, place: CommitPlace = 'writer thread') {
    this.#isChanged = isChanged;
    this.place = place;
  }

  record(): void {
    if (this.#isChanged()) this.change();
  }

  change(): void {
    this.place = this.place === 'writer thread' ? 'session thread' : 'writer thread';
  }
}
