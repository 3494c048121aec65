/**
 * The layout of the contention chart: each system shows its sessions as dots. On the left are those that work or are elsewhere,
 * in front of a gate those that wait for each other, in the gate those that commit; behind it are the files. An unsharded queue
 * has one gate and one file for all instances, a sharded queue one for each. Lengths are CSS pixels.
 */
import type { InstanceSessions, SessionsNow } from './contention.ts';
import { formatRate, plural } from './format.ts';

export type DotRole = 'committing' | 'waiting' | 'paused' | 'working' | 'elsewhere';

export interface Dot {
  id: string;
  x: number;
  y: number;
  role: DotRole;
}

export interface Lane {
  id: string;
  /** Position of the gate. */
  x: number;
  y: number;
  width: number;
  height: number;
  /** Left edge of the file, and its width. */
  fileX: number;
  fileWidth: number;
  fileLabel: string;
  /** Average sessions in front of the gate and in it. */
  waiting: number;
  committing: number;
  /** Messages a second leave the file. */
  flows: boolean;
}

export interface ContentionSide {
  system: string;
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  /** At the right: the rate at this moment, or that nothing was measured. */
  figure: string;
  /** On the line of the title, or below it where the title leaves no room. */
  figureIsBelow: boolean;
  /** Below the title: the time. */
  when: string;
  isNow: boolean;
  /** The name of the gate, which ends at `x`; null without a moment. */
  gate: { x: number; y: number; label: string } | null;
  /** The number at the gate, and what it counts; null without a moment. */
  counter: { x: number; y: number; value: string; label: string } | null;
  lanes: Lane[];
  dots: Dot[];
}

export interface ContentionLayout {
  width: number;
  height: number;
  sides: ContentionSide[];
  /** Sessions that one dot stands for. */
  perDot: number;
}

export interface SideInput {
  system: string;
  title: string;
  when: string;
  isNow: boolean;
  /** Null if this system was not measured with these parameters, or not yet. */
  sessions: SessionsNow | null;
  /** The run is under way, so points that are not measured yet may still be. */
  isUnderWay: boolean;
  /** The resource for which sessions of this system wait in front of the gate. */
  gate: string;
}

const dotsMax = 96;
const dotPx = 9;
const headPx = 50;
/** Estimated width of a letter: of a title at 12.5 px, and of a figure at 15 px, both half bold. */
export const titleLetterPx = 6.8;
const figureLetterPx = 8.4;
const figureGapPx = 14;
const footPx = 16;
const sideGapPx = 18;
/** Below this width the sides stand one above the other. */
const besideMinPx = 560;
const sideHeightPx = 168;
/** Wider than this, dots and gate would be too far apart to be seen at once. */
const sideWidthMax = 680;
/** Width of a gate: room for all sessions of its lane, as far as the side allows. */
const gateWidthMin = 54;
const gateShareMax = 0.36;

export function contentionHeight(width: number, sides: number): number {
  return width >= besideMinPx ? sideHeightPx : sides * sideHeightPx + (sides - 1) * sideGapPx;
}

export function layoutContention(inputs: readonly SideInput[], width: number): ContentionLayout {
  const beside = width >= besideMinPx;
  const count = Math.max(1, inputs.length);
  const sideWidth = Math.min(sideWidthMax, beside ? (width - sideGapPx * (count - 1)) / count : width);
  const most = Math.max(1, ...inputs.map(({ sessions }) => sessions?.sessions ?? 0));
  const perDot = Math.max(1, Math.ceil(most / dotsMax));
  const sides = inputs.map((input, index) =>
    layoutSide(input, {
      x: beside ? index * (sideWidth + sideGapPx) : 0,
      y: beside ? 0 : index * (sideHeightPx + sideGapPx),
      width: sideWidth,
      height: sideHeightPx,
      perDot,
    }),
  );
  return { width, height: contentionHeight(width, count), sides, perDot };
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function layoutSide(input: SideInput, box: Box & { perDot: number }): ContentionSide {
  const { system, title, when, isNow, sessions, isUnderWay } = input;
  const { perDot, ...place } = box;
  // The rate of one moment, which differs from that of the whole point.
  const figure =
    sessions !== null
      ? `${formatRate(sessions.dequeuePerSec)} ${isNow ? 'now' : 'then'}`
      : isUnderWay
        ? 'not yet measured'
        : 'not measured';
  const headWidth = title.length * titleLetterPx + figureGapPx + figure.length * figureLetterPx;
  const figureIsBelow = headWidth > place.width;
  const common = { system, title, figure, figureIsBelow, when, isNow, ...place };
  if (sessions === null) return { ...common, gate: null, counter: null, lanes: [], dots: [] };
  const hasOneGate = system !== 'sharded';
  const groups = hasOneGate
    ? [{ id: 'all', sessions: summed(sessions.instances) }]
    : sessions.instances.map((each) => ({ id: String(each.instance), sessions: each }));
  const fileWidth = Math.min(110, Math.max(56, place.width * 0.17));
  const fileX = place.x + place.width - fileWidth;
  const top = place.y + headPx;
  const bottom = place.y + place.height - footPx;
  const laneHeight = (bottom - top) / Math.max(1, groups.length);
  const perLane = Math.round(sessions.sessions / Math.max(1, groups.length) / perDot);
  const gateWidth = Math.min(
    gateShareMax * place.width,
    Math.max(gateWidthMin, Math.ceil(perLane / rowsIn(laneHeight - 3)) * dotPx + 4),
  );
  const gateX = fileX - gateWidth - 10;
  const lanes = groups.map(
    (group, index): Lane => ({
      id: group.id,
      x: gateX,
      y: top + index * laneHeight + 1.5,
      width: gateWidth,
      height: laneHeight - 3,
      fileX,
      fileWidth,
      fileLabel: hasOneGate ? 'one file' : `file ${group.id}`,
      waiting: group.sessions.concurrency,
      committing: group.sessions.commit,
      flows: sessions.dequeuePerSec > 0,
    }),
  );
  const dots = lanes.flatMap((lane, index) =>
    placeDots(groups[index]!.sessions, {
      lane,
      left: place.x + 2,
      total: sessions.sessions / lanes.length,
      perDot,
    }),
  );
  const waiting = lanes.reduce((sum, lane) => sum + lane.waiting, 0);
  const committing = lanes.reduce((sum, lane) => sum + lane.committing, 0);
  return {
    ...common,
    lanes,
    dots,
    gate: {
      x: gateX + gateWidth,
      y: top - 4,
      label: hasOneGate && input.gate !== 'each other' ? input.gate.replace(/^the /, '') : 'commit',
    },
    counter: {
      x: gateX + gateWidth,
      y: place.y + place.height - 3,
      ...(waiting >= committing && waiting >= 0.5
        ? { value: String(Math.round(waiting)), label: `wait for ${input.gate}` }
        : {
            value: String(Math.round(committing)),
            label: lanes.length > 1 ? `commit, ${plural(lanes.length, 'file')} at once` : 'commit',
          }),
    },
  };
}

const rowsIn = (height: number): number => Math.max(1, Math.floor(height / dotPx));

function summed(instances: readonly InstanceSessions[]): Omit<InstanceSessions, 'instance'> {
  const sum = (read: (each: InstanceSessions) => number) =>
    instances.reduce((total, each) => total + read(each), 0);
  return {
    cores: sum(({ cores }) => cores),
    commit: sum(({ commit }) => commit),
    concurrency: sum(({ concurrency }) => concurrency),
    configuration: sum(({ configuration }) => configuration),
    network: sum(({ network }) => network),
  };
}

/** Dots keep their ids from the gate backwards, so that a further waiter is a dot that moves up to the gate. */
function placeDots(
  sessions: Omit<InstanceSessions, 'instance'>,
  options: { lane: Lane; left: number; total: number; perDot: number },
): Dot[] {
  const { lane, left, perDot } = options;
  const total = Math.round(options.total / perDot);
  let free = total;
  const take = (count: number): number => {
    const taken = Math.min(free, Math.round(count / perDot));
    free -= taken;
    return taken;
  };
  const committing = take(sessions.commit);
  const waiting = take(sessions.concurrency);
  const paused = take(sessions.configuration + sessions.network);
  const working = take(sessions.cores);
  const rows = rowsIn(lane.height);
  // Dots without enough room are drawn closer together.
  const columnPx = (count: number, room: number) =>
    Math.min(dotPx, room / Math.max(1, Math.ceil(count / rows)));
  const startY = lane.y + (lane.height - rows * dotPx) / 2 + dotPx / 2;
  const at = (index: number, fromX: number, step: number) => ({
    x: fromX + Math.floor(index / rows) * step,
    y: startY + (index % rows) * dotPx,
  });
  // From the middle to the left, so that they are seen together with the gate.
  const middle = left + (lane.x - left) / 2;
  const away = {
    fromX: middle - dotPx / 2,
    step: -columnPx(paused + working + free, (lane.x - left) / 2),
  };
  const roles: { role: DotRole; count: number; fromX: number; step: number }[] = [
    {
      role: 'committing',
      count: committing,
      fromX: lane.x + dotPx / 2 + 1,
      step: columnPx(committing, lane.width - 4),
    },
    { role: 'waiting', count: waiting, fromX: lane.x - dotPx, step: -columnPx(waiting, (lane.x - left) / 2) },
    { role: 'paused', count: paused, ...away },
    { role: 'working', count: working, ...away },
    { role: 'elsewhere', count: free, ...away },
  ];
  const dots: Dot[] = [];
  let atLeft = 0;
  for (const { role, count, fromX, step } of roles)
    for (let index = 0; index < count; index++) {
      const place = role === 'committing' || role === 'waiting' ? index : atLeft++;
      dots.push({ id: `${lane.id}/${dots.length}`, role, ...at(place, fromX, step) });
    }
  return dots;
}
