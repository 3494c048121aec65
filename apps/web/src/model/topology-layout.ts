/**
 * Where the parts of a topology lie: instances holding shards holding partitions, with messages flowing in from the
 * left and out to the right. Units are CSS pixels of the drawing; its height follows from its content.
 */
import type { Implementation, InstanceSample, Tick } from '@shardlab/contract';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PartitionCell extends Box {
  partition: number;
  state: string;
  /** Shares of the cell's width, from its left end: consumed, then waiting; the rest is free. */
  drained: number;
  waiting: number;
}

export interface ShardRow extends Box {
  label: string;
  backlog: number;
  cells: PartitionCell[];
  /** Partitions that found no room in the row. */
  hidden: number;
}

export interface Flow {
  id: string;
  kind: 'enqueue' | 'dequeue';
  x1: number;
  y1: number;
  x2: number;
  y2: number;
  perSec: number;
  /** Stroke width. */
  width: number;
  /** Pixels a second that the dashes move. */
  speed: number;
}

export interface InstanceCard extends Box {
  instance: number;
  cpu: number;
  /** Share of the CPU bar, against the cores of the machine. */
  cpuShare: number;
  /** Width of a full CPU bar; 0 where the card has no room for one. */
  cpuBar: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  shards: ShardRow[];
  flows: Flow[];
}

export interface SharedTable extends Box {
  backlog: number;
  /** Backlog against the bound of the workload, 0 to 1. */
  share: number;
  links: { x: number; y1: number; y2: number; width: number }[];
}

export interface TopologyLayout {
  width: number;
  height: number;
  implementation: Implementation;
  cards: InstanceCard[];
  /** The one table that all instances of an unsharded queue open; null for a sharded one. */
  table: SharedTable | null;
}

export interface TopologyOptions {
  width: number;
  /** Cores of the machine: a full CPU bar. */
  cores: number;
  /** The rate that the widest flow stands for, messages per second over one instance. */
  rateMax: number;
  /** Messages that an unsharded queue may hold before its enqueuers pause. */
  backlogMax: number;
}

const gap = 12;
const pad = 12;
const head = 34;
const rowHeight = 34;
/** A row of flows only: an instance of an unsharded queue holds nothing itself. */
const bareRowHeight = 18;
const cellHeight = 16;
/** Narrowest and widest drawing of a partition. */
const cellWidth = 40;
const cellWidthMax = 200;
const cellGap = 4;
const cardWidthMin = { sharded: 226, unsharded: 160 };
const columnsMax = 4;
const tableHeight = 46;
const linkHeight = 26;
const flowWidthMax = 7;

/** Room for the flow at each side of a card: wide cards show more of it. */
const laneWidthOf = (cardWidth: number): number => Math.min(150, Math.max(56, cardWidth * 0.2));

export function layoutTopology(tick: Tick, options: TopologyOptions): TopologyLayout {
  const { width } = options;
  const narrowest = cardWidthMin[tick.implementation];
  const sharded = tick.implementation === 'sharded';
  const count = tick.instances.length;
  const columnsRoom = Math.max(1, Math.min(count, columnsMax, Math.floor((width + gap) / (narrowest + gap))));
  // As many rows as that takes, filled evenly: four instances stand as two and two, not as three and one.
  const columns = Math.ceil(count / Math.max(1, Math.ceil(count / columnsRoom)));
  const cardWidth = (width - gap * (columns - 1)) / Math.max(1, columns);
  const rows = Math.max(1, ...tick.instances.map((sample) => (sharded ? sample.shards.length : 1)));
  const cardHeight = head + (sharded ? rows * rowHeight : bareRowHeight) + 26;
  const cards = tick.instances.map((sample, index) => {
    const x = (index % columns) * (cardWidth + gap);
    const y = Math.floor(index / columns) * (cardHeight + gap);
    return placeCard({ x, y, width: cardWidth, height: cardHeight }, { sample, sharded, options });
  });
  const bottom = Math.ceil(count / columns) * (cardHeight + gap) - gap;
  const table = sharded ? null : placeTable(tick, { cards, columns, bottom, options });
  const height = table === null ? bottom : table.y + table.height;
  return { width, height: Math.max(height, 0), implementation: tick.implementation, cards, table };
}

function placeCard(
  box: Box,
  { sample, sharded, options }: { sample: InstanceSample; sharded: boolean; options: TopologyOptions },
): InstanceCard {
  const { enqueuePerSec, dequeuePerSec, cpu, instance } = sample;
  const laneWidth = laneWidthOf(box.width);
  const left = box.x + pad + laneWidth;
  const inner = box.width - 2 * (pad + laneWidth);
  const shards = sharded
    ? sample.shards.map((shard, index) => {
        const y = box.y + head + index * rowHeight;
        return placeShard({ x: left, y, width: inner, height: rowHeight }, shard);
      })
    : [];
  const ends = shards.length > 0 ? shards : [{ y: box.y + head, height: bareRowHeight }];
  const perSec = { enqueue: enqueuePerSec / ends.length, dequeue: dequeuePerSec / ends.length };
  const flows = ends.flatMap((row, index) => {
    const y = row.y + row.height - cellHeight / 2;
    const common = { y1: y, y2: y };
    const right = box.x + box.width - pad;
    return [
      flow(`${instance}/${index}/in`, 'enqueue', perSec.enqueue, options.rateMax, {
        ...common,
        x1: box.x + pad,
        x2: left - 6,
      }),
      flow(`${instance}/${index}/out`, 'dequeue', perSec.dequeue, options.rateMax, {
        ...common,
        x1: right - laneWidth + 6,
        x2: right,
      }),
    ];
  });
  const cpuShare = Math.min(1, cpu / Math.max(1, options.cores));
  const cpuBar = box.width >= 220 ? 56 : 0;
  return { ...box, instance, cpu, cpuShare, cpuBar, enqueuePerSec, dequeuePerSec, shards, flows };
}

function flow(
  id: string,
  kind: Flow['kind'],
  perSec: number,
  rateMax: number,
  line: Pick<Flow, 'x1' | 'y1' | 'x2' | 'y2'>,
): Flow {
  return { id, kind, perSec, ...line, width: flowWidth(perSec, rateMax), speed: flowSpeed(perSec) };
}

/** The area of a flow grows with its rate, so its width with the root; at least a hairline where anything moves. */
export function flowWidth(perSec: number, rateMax: number): number {
  if (perSec <= 0) return 1;
  return Math.max(1.5, flowWidthMax * Math.sqrt(Math.min(1, perSec / Math.max(rateMax, 1))));
}

/** From a crawl at 1/s to 60 pixels a second at 100,000/s, in steps of decades: faster could not be followed. */
export function flowSpeed(perSec: number): number {
  return perSec < 1 ? 0 : 10 + 10 * Math.min(5, Math.log10(perSec));
}

function placeShard(box: Box, shard: InstanceSample['shards'][number]): ShardRow {
  const room = Math.max(1, Math.floor((box.width + cellGap) / (cellWidth + cellGap)));
  // The newest partitions are the ones that move; older ones are named by their number only.
  const shown = shard.partitions.slice(-room);
  const width = Math.min(cellWidthMax, (box.width + cellGap) / Math.max(1, shown.length) - cellGap);
  const cells = shown.map((partition, index) => {
    const drained = partition.fill * partition.drained;
    return {
      x: box.x + index * (width + cellGap),
      y: box.y + rowHeight - cellHeight,
      width,
      height: cellHeight,
      partition: partition.partition,
      state: partition.state,
      drained,
      waiting: Math.max(0, partition.fill - drained),
    };
  });
  const hidden = shard.partitions.length - shown.length;
  return { ...box, label: `shard ${shard.shard}`, backlog: shard.backlog, cells, hidden };
}

function placeTable(
  tick: Tick,
  place: { cards: InstanceCard[]; columns: number; bottom: number; options: TopologyOptions },
): SharedTable {
  const { cards, columns, bottom, options } = place;
  const y = bottom + linkHeight;
  // Every instance reports the whole file, each at its own moment: the newest figure is as good as any.
  const backlog = Math.max(0, ...tick.instances.map((sample) => sample.shards[0]?.backlog ?? 0));
  const share = Math.min(1, backlog / Math.max(1, options.backlogMax));
  const links = cards.map((card, index) => ({
    x: card.x + card.width / 2,
    y1: card.y + card.height,
    // A card above another is linked through it: the line of the lower one carries on.
    y2: cards[index + columns]?.y ?? y,
    width: flowWidth(card.enqueuePerSec + card.dequeuePerSec, 2 * options.rateMax),
  }));
  return { x: 0, y, width: options.width, height: tableHeight, backlog, share, links };
}
