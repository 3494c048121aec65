/** Counts which commands were applied in which states of the transition tables while simulations ran. */
import { forwardingLife } from '../../src/model/forwarding-state.ts';
import { holdLife } from '../../src/model/hold-life.ts';
import { messageLife } from '../../src/model/message-life.ts';
import { partitionLife } from '../../src/model/partitions.ts';
import { retryLife } from '../../src/model/retry-life.ts';
import type { TransitionTable } from '../../src/model/transition-table.ts';

type Table = TransitionTable<string, string>;

const tables: Record<string, Table> = {
  message: messageLife as unknown as Table,
  partition: partitionLife as unknown as Table,
  forwarding: forwardingLife as unknown as Table,
  hold: holdLife as unknown as Table,
  retry: retryLife as unknown as Table,
};

/** Legal pairs that no run can reach, and why. A run that reaches one nevertheless fails: see `wronglyExcused`. */
export const unreachable: Record<string, string> = {
  'partition: filling damage': 'the file in memory is never damaged',
  'partition: filling truncate':
    'the last partition is only truncated with its queue, and the simulator drops none',
  'partition: full damage': 'the file in memory is never damaged',
  'partition: truncating seal':
    'only the partitions of a dropped queue are truncated before the next one is assigned',
  'partition: truncating damage': 'the file in memory is never damaged',
  'partition: damaged seal': 'the file in memory is never damaged',
  'partition: damaged damage': 'the file in memory is never damaged',
  'partition: damaged truncate': 'the file in memory is never damaged',
  'hold: held drop': 'the simulator drops no queue',
  'hold: staged drop': 'the simulator drops no queue',
  'hold: dropped unstage': 'the simulator drops no queue',
  'hold: dropped settle': 'the simulator drops no queue',
};

/** Every legal pair of a state and a command. */
export function legalPairs(): string[] {
  return Object.entries(tables).flatMap(([subject, table]) =>
    Object.entries(table.transitions).flatMap(([state, legal]) =>
      Object.keys(legal).map((command) => `${subject}: ${state} ${command}`),
    ),
  );
}

/** Counts every command from now on until `stop`. */
export class Coverage {
  readonly counts = new Map<string, number>();
  readonly #stops: (() => void)[] = [];

  start(): void {
    for (const [subject, table] of Object.entries(tables)) {
      for (const [state, row] of Object.entries(table.transitions)) {
        for (const [command, next] of Object.entries(row))
          this.#observeRead(row, command, next, `${subject}: ${state} ${command}`);
      }
    }
  }

  /** Counts each read of one transition. */
  #observeRead(row: object, command: string, next: unknown, pair: string): void {
    const get = () => {
      this.#count(pair);
      return next;
    };
    Object.defineProperty(row, command, { get, configurable: true, enumerable: true });
    this.#stops.push(() =>
      Object.defineProperty(row, command, {
        value: next,
        configurable: true,
        enumerable: true,
        writable: true,
      }),
    );
  }

  #count(pair: string): void {
    this.counts.set(pair, (this.counts.get(pair) ?? 0) + 1);
  }

  stop(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  get missing(): string[] {
    return legalPairs().filter((pair) => !this.counts.has(pair) && unreachable[pair] === undefined);
  }

  /** Pairs of `unreachable` whose reason is wrong: they were reached, or are no longer legal. */
  get wronglyExcused(): string[] {
    const legal = legalPairs();
    return Object.keys(unreachable).filter((pair) => this.counts.has(pair) || !legal.includes(pair));
  }

  toString(): string {
    return legalPairs()
      .map((pair) => `${pair.padEnd(36)} ${this.counts.get(pair) ?? unreachable[pair] ?? 'never'}`)
      .join('\n');
  }
}
