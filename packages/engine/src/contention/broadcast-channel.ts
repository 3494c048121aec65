/**
 * The channel on which every commit is posted to every listening session, regardless of its subscribers. Its list of members,
 * their unread posts and the totals are in shared memory under one latch.
 *
 * A session joins before it first looks for messages and stays until it has found one or gives up, so it misses no post. Each
 * step takes as many gets as in the document's trace: joining one; reading posts three (take them, acknowledge them, find none
 * left); leaving two (discard later posts, leave the list).
 */
import type { ThreadSessionNumber } from '../model/ids.ts';
import type { Guard } from './latch.ts';
import type { QueueMemory } from './queue-memory.ts';

export class BroadcastChannel {
  readonly #memory: QueueMemory;
  readonly #session: ThreadSessionNumber;
  readonly #latch: Guard;

  constructor({
    memory,
    session,
    latch,
  }: { memory: QueueMemory; session: ThreadSessionNumber; latch: Guard }) {
    this.#memory = memory;
    this.#session = session;
    this.#latch = latch;
  }

  /** One get. */
  subscribe(): void {
    const memory = this.#memory;
    this.#latch.within(() => {
      const membersAt = memory.channel('members');
      const index = memory.load(membersAt);
      memory.store(memory.member(index), this.#session);
      memory.store(memory.session(this.#session, 'memberAt'), index + 1);
      memory.store(memory.session(this.#session, 'unread'), 0);
      memory.change(membersAt, 1);
    });
  }

  /** Whether it was posted to since it subscribed or last took posts. No get: it is a word of its own. */
  get hasUnread(): boolean {
    return this.#memory.load(this.#memory.session(this.#session, 'unread')) > 0;
  }

  /**
   * Reads posts until none is unread. Takes three gets, and two more each time that further posts have arrived. Returns how many
   * it read.
   */
  takePosts(): number {
    let taken = 0;
    for (;;) {
      const posts = this.#takeUnread();
      if (posts === 0) return taken;
      this.#latch.within(() => this.#memory.change(this.#memory.channel('unread'), -posts));
      taken += posts;
    }
  }

  #takeUnread(): number {
    const unreadAt = this.#memory.session(this.#session, 'unread');
    return this.#latch.within(() => {
      const posts = this.#memory.load(unreadAt);
      this.#memory.store(unreadAt, 0);
      return posts;
    });
  }

  /** Two gets. */
  reset(): void {
    const memory = this.#memory;
    const unreadAt = memory.session(this.#session, 'unread');
    this.#latch.within(() => {
      memory.change(memory.channel('unread'), -memory.load(unreadAt));
      memory.store(unreadAt, 0);
    });
    this.#latch.within(() => this.#leave());
  }

  /** The last member takes its place in the list. */
  #leave(): void {
    const memory = this.#memory;
    const [membersAt, ownAt] = [memory.channel('members'), memory.session(this.#session, 'memberAt')];
    const [last, index] = [memory.load(membersAt) - 1, memory.load(ownAt) - 1];
    const moved = memory.load(memory.member(last));
    memory.store(memory.member(index), moved);
    memory.store(memory.session(moved, 'memberAt'), index + 1);
    memory.store(ownAt, 0);
    // Posts that arrived since the previous get are discarded.
    const unreadAt = memory.session(this.#session, 'unread');
    memory.change(memory.channel('unread'), -memory.load(unreadAt));
    memory.store(unreadAt, 0);
    memory.store(membersAt, last);
  }

  /** Posts to all members and wakes them. Without any member no get. Returns how many it woke. */
  post(): number {
    const memory = this.#memory;
    // A session that joins later looks for messages after that, and so finds this post's message.
    if (memory.load(memory.channel('members')) === 0) return 0;
    const woken = this.#latch.within(() => {
      const members = memory.load(memory.channel('members'));
      const sessions = Array.from({ length: members }, (_, index) => memory.load(memory.member(index)));
      for (const session of sessions) memory.change(memory.session(session, 'unread'), 1);
      memory.change(memory.channel('unread'), members);
      memory.change(memory.channel('posts'), 1);
      return sessions;
    });
    // After the release: each one that wakes wants the latch.
    for (const session of woken) memory.wake(session);
    return woken.length;
  }

  get posts(): number {
    return this.#memory.load(this.#memory.channel('posts'));
  }

  get members(): number {
    return this.#memory.load(this.#memory.channel('members'));
  }

  /** Posts that members have not read, over all of them. */
  get unread(): number {
    return this.#memory.load(this.#memory.channel('unread'));
  }
}
