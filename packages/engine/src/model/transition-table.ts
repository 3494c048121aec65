/**
 * A state machine as data: the states, and for each of them the legal commands with the state that follows. The engine looks up
 * every command in such a table, so an illegal one cannot go unnoticed. An object that stores its state by itself reads
 * `transitions` and refuses an illegal command with its own error; the others use `find` and `next`.
 */
import { InvariantViolation, stopOn, type ViolationListener } from './invariant.ts';

type Transitions<State extends string, Command extends string> = Readonly<
  Record<State, Readonly<Partial<Record<Command, State>>>>
>;

export class TransitionTable<State extends string, Command extends string> {
  /** Names the thing in the message of a violation: "a partition". */
  readonly #subject: string;
  /** The state that follows, by state and command; absent if the command is illegal in the state. */
  readonly transitions: Transitions<State, Command>;

  constructor(subject: string, transitions: Transitions<State, Command>) {
    this.#subject = subject;
    this.transitions = transitions;
  }

  get states(): State[] {
    return Object.keys(this.transitions) as State[];
  }

  /** The commands that are legal in at least one state. */
  get commands(): Command[] {
    const all = Object.values<object>(this.transitions).flatMap((legal) => Object.keys(legal));
    return [...new Set(all)] as Command[];
  }

  /** The state that follows, or undefined if the command is illegal in this state. */
  find(state: State, command: Command): State | undefined {
    return this.transitions[state][command];
  }

  /** The state that follows. If the command is illegal in this state, throws once the listener has stopped the instance. */
  next(state: State, command: Command, onInvariantBroken?: ViolationListener): State {
    const next = this.transitions[state][command];
    if (next === undefined)
      stopOn(
        new InvariantViolation(`${this.#subject} that is ${state} cannot ${command}`),
        onInvariantBroken,
      );
    return next;
  }
}
