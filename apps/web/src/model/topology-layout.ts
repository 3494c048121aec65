/**
 * The layout of the topology chart: cards for instances, with rows for their shards and cells for their partitions.
 * Messages flow in from the left and out to the right. All lengths are CSS pixels; the height follows from the content.
 */
import type { InstanceSample, Tick } from '@shardlab/contract';

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

export interface PartitionCell extends Box {
  partition: number;
  state: string;
  /** Shares of the cell's width from the left: first consumed, then waiting messages; the rest is free. */
  drained: number;
  waiting: number;
}

export interface ShardRow extends Box {
  label: string;
  /** Waiting messages; null before anything is measured. */
  backlog: number | null;
  cells: PartitionCell[];
  /** Number of partitions that do not fit into the row. */
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
  /** Speed of the dashes, pixels per second. */
  speed: number;
}

export interface InstanceCard extends Box {
  instance: number;
  cpu: number;
  /** Filled share of the CPU bar: cores kept busy ÷ cores of the machine. */
  cpuShare: number;
  /** Width of the whole CPU bar; 0 if the card is too narrow for one. */
  cpuBar: number;
  enqueuePerSec: number;
  dequeuePerSec: number;
  /** Texts shown instead of the rates and the CPU, before anything is measured. */
  words?: { cpu: string; in: string; out: string };
  shards: ShardRow[];
  flows: Flow[];
}

export interface SharedTable extends Box {
  backlog: number;
  /** Backlog ÷ the limit of the workload, 0 to 1. */
  share: number;
  links: { x: number; y1: number; y2: number; width: number }[];
}

export interface TopologyLayout {
  width: number;
  height: number;
  system: string;
  cards: InstanceCard[];
  /** The table that all instances of an unsharded queue share; null for a sharded queue. */
  table: SharedTable | null;
}

export interface TopologyOptions {
  width: number;
  /** Cores of the machine; a full CPU bar stands for all of them. */
  cores: number;
  /** The rate at which a flow has its full width: messages per second of one instance. */
  rateMax: number;
  /** Backlog at which the enqueuers of the workload pause. */
  backlogMax: number;
}

const gap = 12;
const pad = 12;
const headHeight = 34;
const rowHeight = 34;
/** Height of a row with flows only: an instance of an unsharded queue has no shards. */
const flowRowHeight = 18;
const cellHeight = 16;
/** Least and greatest width of a partition. */
const cellWidthMin = 40;
const cellWidthMax = 200;
const cellGap = 4;
/** An instance with shards shows their partitions. */
const cardWidthMinOf = (hasShards: boolean) => (hasShards ? 226 : 160);
const columnsMax = 4;
const tableHeight = 46;
const linkHeight = 26;
const flowWidthMax = 7;

/** Width for the flow at each end of a card; more in wide cards. */
const flowAreaWidthOf = (cardWidth: number): number => Math.min(150, Math.max(56, cardWidth * 0.2));

export function layoutTopology(tick: Tick, options: TopologyOptions): TopologyLayout {
  const { width } = options;
  const sharded = tick.system === 'sharded';
  const narrowest = cardWidthMinOf(sharded);
  const count = tick.instances.length;
  const columnsFitting = Math.max(
    1,
    Math.min(count, columnsMax, Math.floor((width + gap) / (narrowest + gap))),
  );
  // The least number of rows, filled evenly: four instances become two and two, not three and one.
  const columns = Math.ceil(count / Math.max(1, Math.ceil(count / columnsFitting)));
  const cardWidth = (width - gap * (columns - 1)) / Math.max(1, columns);
  const rows = Math.max(1, ...tick.instances.map((sample) => (sharded ? sample.shards.length : 1)));
  const cardHeight = headHeight + (sharded ? rows * rowHeight : flowRowHeight) + 26;
  const cards = tick.instances.map((sample, index) => {
    const x = (index % columns) * (cardWidth + gap);
    const y = Math.floor(index / columns) * (cardHeight + gap);
    return placeCard({ x, y, width: cardWidth, height: cardHeight }, { sample, sharded, options });
  });
  const bottom = Math.ceil(count / columns) * (cardHeight + gap) - gap;
  const table = sharded ? null : placeTable(tick, { cards, columns, bottom, options });
  const height = table === null ? bottom : table.y + table.height;
  return { width, height: Math.max(height, 0), system: tick.system, cards, table };
}

function placeCard(
  box: Box,
  { sample, sharded, options }: { sample: InstanceSample; sharded: boolean; options: TopologyOptions },
): InstanceCard {
  const { enqueuePerSec, dequeuePerSec, cpu, instance } = sample;
  const flowAreaWidth = flowAreaWidthOf(box.width);
  const left = box.x + pad + flowAreaWidth;
  const inner = box.width - 2 * (pad + flowAreaWidth);
  const shards = sharded
    ? sample.shards.map((shard, index) => {
        const y = box.y + headHeight + index * rowHeight;
        return placeShard({ x: left, y, width: inner, height: rowHeight }, shard);
      })
    : [];
  centre(shards, inner);
  const ends =
    shards.length > 0
      ? shards.map((row) => ({ ...row, from: row.x, to: endOf(row) }))
      : [{ y: box.y + headHeight, height: flowRowHeight, from: left, to: left + inner }];
  const perSec = { enqueue: enqueuePerSec / ends.length, dequeue: dequeuePerSec / ends.length };
  const flows = ends.flatMap((row, index) => {
    const y = row.y + row.height - cellHeight / 2;
    const common = { y1: y, y2: y };
    const right = box.x + box.width - pad;
    return [
      flow(`${instance}/${index}/in`, 'enqueue', perSec.enqueue, options.rateMax, {
        ...common,
        x1: box.x + pad,
        x2: row.from - 6,
      }),
      flow(`${instance}/${index}/out`, 'dequeue', perSec.dequeue, options.rateMax, {
        ...common,
        x1: row.to + 6,
        x2: right,
      }),
    ];
  });
  const cpuShare = Math.min(1, cpu / Math.max(1, options.cores));
  const cpuBar = box.width >= 220 ? 56 : 0;
  return { ...box, instance, cpu, cpuShare, cpuBar, enqueuePerSec, dequeuePerSec, shards, flows };
}

const endOf = ({ cells, x, width }: ShardRow): number => {
  const last = cells.at(-1);
  return last === undefined ? x + width : last.x + last.width;
};

/** Moves the rows of a card that its partitions do not fill to its middle, all by the same distance. */
function centre(rows: readonly ShardRow[], inner: number): void {
  const filled = rows.filter(({ cells }) => cells.length > 0);
  const byPx = (inner - Math.max(0, ...filled.map((row) => endOf(row) - row.x))) / 2;
  for (const row of filled) {
    row.x += byPx;
    for (const cell of row.cells) cell.x += byPx;
  }
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

/** Proportional to the square root of the rate; never thinner than a hairline while messages flow. */
export function flowWidth(perSec: number, rateMax: number): number {
  if (perSec <= 0) return 1;
  return Math.max(1.5, flowWidthMax * Math.sqrt(Math.min(1, perSec / Math.max(rateMax, 1))));
}

/** Pixels per second: 10 at 1 message/s, 10 more per decade, at most 60, since the eye cannot follow faster dashes. */
export function flowSpeed(perSec: number): number {
  return perSec < 1 ? 0 : 10 + 10 * Math.min(5, Math.log10(perSec));
}

function placeShard(box: Box, shard: InstanceSample['shards'][number]): ShardRow {
  const cellsFitting = Math.max(1, Math.floor((box.width + cellGap) / (cellWidthMin + cellGap)));
  // The newest partitions are the ones in use. Of the older ones only their number is shown.
  const shown = shard.partitions.slice(-cellsFitting);
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
  grid: { cards: InstanceCard[]; columns: number; bottom: number; options: TopologyOptions },
): SharedTable {
  const { cards, columns, bottom, options } = grid;
  const y = bottom + linkHeight;
  // Every instance reports the backlog of the whole table, each at a slightly different time. Take the highest.
  const backlog = Math.max(0, ...tick.instances.map((sample) => sample.shards[0]?.backlog ?? 0));
  const share = Math.min(1, backlog / Math.max(1, options.backlogMax));
  const links = cards.map((card, index) => ({
    x: card.x + card.width / 2,
    y1: card.y + card.height,
    // The line of a card ends at the card below it, whose own line continues to the table.
    y2: cards[index + columns]?.y ?? y,
    width: flowWidth(card.enqueuePerSec + card.dequeuePerSec, 2 * options.rateMax),
  }));
  return { x: 0, y, width: options.width, height: tableHeight, backlog, share, links };
}
