/** The messages whose traces a trial kept: slowest first, as lanes from their enqueue on, and in words. */
import type { MessageEvent, SampledTrace, SampledTraces } from '@shardlab/contract';
import { formatCount, formatMs, plural } from './format.ts';
import type { Lane, LaneSpan, LaneTone } from './swimlanes.ts';

export interface SampledLife {
  /** Rank among the messages that are known from enqueue to consumption. */
  rank: 'slowest' | 'middle' | 'fastest' | null;
  /** "Slowest, 12 ms" */
  label: string;
  message: SampledTrace;
}

/** Those that are known from enqueue to consumption come first, the slowest of them first. */
export function sampledLives({ messages }: Pick<SampledTraces, 'messages'>): SampledLife[] {
  const whole = messages
    .filter(({ endToEndMs }) => endToEndMs !== null)
    .sort((a, b) => b.endToEndMs! - a.endToEndMs!);
  const others = messages.filter(({ endToEndMs }) => endToEndMs === null);
  return [
    ...whole.map((message, index) => {
      const rank = rankOf(index, whole.length);
      const took = durationOf(message.endToEndMs!);
      return {
        rank,
        label: rank === null ? took : `${rank.charAt(0).toUpperCase()}${rank.slice(1)}, ${took}`,
        message,
      };
    }),
    ...others.map((message) => ({
      rank: null,
      label: `${message.id}, ${message.coverage === 'partial' ? 'begin missing' : 'not consumed'}`,
      message,
    })),
  ];
}

/** An enqueue is stamped in whole milliseconds, so that a message may seem to be consumed at once. */
const durationOf = (ms: number): string => (ms > 0 ? formatMs(ms) : '0');

/** An even number has no single median: the faster one of the two in the middle is named. */
function rankOf(index: number, count: number): SampledLife['rank'] {
  if (count === 1) return null;
  if (index === 0) return 'slowest';
  if (index === count - 1) return 'fastest';
  return index === Math.floor(count / 2) ? 'middle' : null;
}

/** Phases of a message from its enqueue to its consumption. */
export const lifePhases = {
  uncommitted: { tone: 'neutral', name: 'waiting for its commit' },
  written: { tone: 'works', name: 'being written and synced' },
  ready: { tone: 'waits', name: 'waiting for a consumer' },
  held: { tone: 'holds', name: 'with its consumer' },
  away: { tone: 'good', name: 'on its way to another instance' },
} as const satisfies Record<string, { tone: LaneTone; name: string }>;

type PhaseName = keyof typeof lifePhases;

/**
 * The phase of a message after an event; undefined if the event does not change it. `holders`: the subscribers and instances to
 * which it is delivered.
 */
function phaseAfter(
  { event, instance, session, subscriber }: MessageEvent,
  before: PhaseName,
  holders: Set<string>,
): PhaseName | undefined {
  const holder = `${instance} ${subscriber ?? ''}`;
  switch (event) {
    case 'grouped':
      return before === 'uncommitted' ? 'written' : undefined;
    case 'committed':
      return 'ready';
    case 'delivered':
      // To no session: the engine takes it, for another instance. That it was forwarded it notes when it has arrived there.
      if (session === undefined) return 'away';
      holders.add(holder);
      return 'held';
    case 'consumed':
    case 'rolled-back':
    case 'released':
    case 'expired':
    case 'returned':
    case 'delivery-cancelled':
      holders.delete(holder);
      return before === 'held' && holders.size === 0 ? 'ready' : undefined;
    default:
      return undefined;
  }
}

/** Rounding error by which a difference of two times may differ from a duration. */
const roundedMs = 0.002;

/** Spans until its consumption by the last consumer, or else its last event. Milliseconds from its enqueue. */
function spansOf({ events, endToEndMs }: SampledTrace): LaneSpan[] {
  const startMs = events[0]!.atMs;
  const endMs = startMs + (endToEndMs ?? Number.POSITIVE_INFINITY) + roundedMs;
  const lived = events.filter(({ atMs }) => atMs <= endMs);
  const holders = new Set<string>();
  const spans: { phase: PhaseName; from: number; to: number }[] = [];
  for (const [index, event] of lived.entries()) {
    const current = spans.at(-1)?.phase ?? 'uncommitted';
    const next = phaseAfter(event, current, holders);
    const at = Math.max(0, event.atMs - startMs);
    if (index === 0 || (next !== undefined && next !== current))
      spans.push({ phase: next ?? current, from: at, to: at });
    const following = lived[index + 1];
    if (following !== undefined) spans.at(-1)!.to = Math.max(at, following.atMs - startMs);
  }
  return spans
    .filter(({ from, to }) => to > from)
    .map(({ phase, from, to }) => ({ from, to, tone: lifePhases[phase].tone, name: lifePhases[phase].name }));
}

/** A lane for each message of which the enqueue is known; times in milliseconds from it. */
export function lifeLanes(lives: readonly SampledLife[]): Lane[] {
  return lives
    .filter(({ message }) => message.coverage === 'complete')
    .map(({ rank, message }) => ({
      id: message.id,
      label: rank ?? message.id,
      outcome: message.endToEndMs === null ? 'not consumed' : durationOf(message.endToEndMs),
      outcomeTone: message.endToEndMs === null ? 'neutral' : 'good',
      spans: spansOf(message),
      moments: [],
    }));
}

/** "The slowest of 8 messages took 12 ms, one in the middle 3.1 ms, the fastest 900 µs. The slowest spent 9 ms of it waiting for a consumer." */
export function livesInWords(lives: readonly SampledLife[]): string {
  const of = (rank: SampledLife['rank']) => lives.find((life) => life.rank === rank)?.message;
  const [slowest, middle, fastest] = [of('slowest'), of('middle'), of('fastest')];
  if (slowest === undefined || fastest === undefined) return `${plural(lives.length, 'message')}.`;
  const took = [
    `The slowest of ${formatCount(lives.length)} messages took ${durationOf(slowest.endToEndMs!)}`,
    ...(middle === undefined ? [] : [`one in the middle ${durationOf(middle.endToEndMs!)}`]),
    `the fastest ${durationOf(fastest.endToEndMs!)}`,
  ].join(', ');
  const longest = longestPhase(spansOf(slowest));
  if (longest === undefined) return `${took}.`;
  return `${took}. The slowest spent ${formatMs(longest.ms)} of it ${longest.name}.`;
}

function longestPhase(spans: readonly LaneSpan[]): { name: string; ms: number } | undefined {
  const sums = [...Map.groupBy(spans, ({ name }) => name)].map(([name, all]) => ({
    name,
    ms: all.reduce((sum, { from, to }) => sum + to - from, 0),
  }));
  return sums.sort((a, b) => b.ms - a.ms)[0];
}

/** "3 ms after the enqueue: 4 waiting for a consumer, 1 being written and synced" */
export function livesAt(lanes: readonly Lane[], atMs: number): string {
  const names = lanes.flatMap(
    ({ spans }) => spans.find(({ from, to }) => from <= atMs && atMs < to)?.name ?? [],
  );
  const words = [...Map.groupBy(names, (name) => name)].map(([name, all]) => `${all.length} ${name}`);
  return `${durationOf(atMs)} after the enqueue: ${words.join(', ') || 'no later event'}`;
}

/** Says how many chosen messages are not shown; empty if none. */
export function lostSentence({ messages, lost }: SampledTraces): string {
  if (lost === 0) return '';
  const [were, they, theirs, their] =
    lost === 1 ? ['was', 'it was', 'its', 'its'] : ['were', 'they were', 'theirs', 'their'];
  const chosen = `Of ${plural(lost, 'message')} that ${were} chosen${messages.length > 0 ? ' too' : ''}`;
  return `${chosen}, nothing was left when ${they} read: later events had been recorded over ${theirs}, or ${their} instance had ended.`;
}
