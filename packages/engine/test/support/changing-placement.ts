/** Groups that are committed on the writer thread and on the session thread in turn, whatever the disk is like. */
import type { CommitPlace, CommitPlacement } from '../../src/storage/threads/commit-place.ts';

export class ChangingPlacement implements CommitPlacement {
  place: CommitPlace;
  readonly #isChanged: () => boolean;

  /** Asked after each group. */
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
