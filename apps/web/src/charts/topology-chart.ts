/** Instances with their shards and partitions, and the flow of messages. The fill of a partition shows its messages. */
import { type Selection, select } from 'd3-selection';
import { formatCores, formatCount, formatRate } from '../model/format.ts';
import type {
  Flow,
  InstanceCard,
  PartitionCell,
  ShardRow,
  SharedTable,
  TopologyLayout,
} from '../model/topology-layout.ts';
import { px } from './axes.ts';
import type { Chart } from './chart.ts';
import { createFlowMotion, type FlowMotion } from './flow-motion.ts';
import type { LegendItem } from './svg-document.ts';
import { fontFamily, systemColor, themeColor } from './visual-encoding.ts';

export interface TopologyChartOptions {
  /** The clock of the flow animation; left out for a still picture. */
  motion?: FlowMotion['clock'];
}

type Group<Datum = unknown> = Selection<SVGGElement, Datum, SVGElement | null, unknown>;

const dash = '12 6';

/** Legend of a topology, with the states of its partitions or its one table. */
export function topologyLegend(system: string): LegendItem[] {
  const color = systemColor(system);
  if (system !== 'sharded')
    return [{ label: 'backlog relative to the limit of the workload', color, opacity: 0.3 }];
  return [
    { label: 'waiting messages', color },
    { label: 'consumed messages', color, opacity: 0.25 },
    { label: 'free space of a partition', color: themeColor.well },
  ];
}

export function createTopologyChart(
  element: SVGSVGElement,
  options: TopologyChartOptions = {},
): Chart<TopologyLayout> {
  const svg = select(element).attr('font-family', fontFamily);
  const links = svg.append('g').attr('data-part', 'links');
  const cards = svg.append('g').attr('data-part', 'instances');
  const table = svg.append('g').attr('data-part', 'table');
  const motion = options.motion === undefined ? null : createFlowMotion(options.motion, dash);

  return {
    update(layout) {
      const { width, height } = layout;
      svg
        .attr('viewBox', `0 0 ${px(width)} ${px(height)}`)
        .attr('width', px(width))
        .attr('height', px(height));
      const color = systemColor(layout.system);
      const entries = cards
        .selectAll<SVGGElement, InstanceCard>('g[data-instance]')
        .data(layout.cards, (card) => String(card.instance))
        .join((enter) => enterCard(enter.append('g')));
      updateCards(entries, color);
      drawTable(table, layout.table, color);
      drawLinks(links, layout.table, color);
      motion?.animate(
        [...element.querySelectorAll<SVGElement>('[data-flow]')].map((line) => ({
          line,
          speed: Number(line.getAttribute('data-speed')),
        })),
      );
    },
    destroy() {
      motion?.stop();
      svg.selectAll('*').remove();
    },
  };
}

function text(group: Group<InstanceCard>, part: string, size = 11): void {
  group
    .append('text')
    .attr('data-text', part)
    .attr('font-size', size)
    .attr('font-variant-numeric', 'tabular-nums')
    .attr('fill', themeColor.muted);
}

function enterCard(card: Selection<SVGGElement, InstanceCard, SVGGElement, unknown>) {
  card.attr('data-instance', (d) => d.instance);
  card
    .append('rect')
    .attr('data-box', 'card')
    .attr('rx', 6)
    .attr('fill', themeColor.surface)
    .attr('stroke', themeColor.strong);
  card
    .append('rect')
    .attr('data-box', 'cpu-track')
    .attr('rx', 2)
    .attr('height', 4)
    .attr('fill', themeColor.line);
  card.append('rect').attr('data-box', 'cpu').attr('rx', 2).attr('height', 4).attr('fill', themeColor.text);
  text(card, 'name', 12);
  text(card, 'cpu');
  text(card, 'in');
  text(card, 'out');
  card.append('g').attr('data-part', 'flows');
  card.append('g').attr('data-part', 'shards');
  return card;
}

function updateCards(cards: Selection<SVGGElement, InstanceCard, SVGGElement, unknown>, color: string): void {
  const right = (card: InstanceCard) => card.x + card.width - 12;
  const foot = (card: InstanceCard) => px(card.y + card.height - 10);
  cards
    .select('[data-box=card]')
    .attr('x', (d) => px(d.x + 0.5))
    .attr('y', (d) => px(d.y + 0.5))
    .attr('width', (d) => px(d.width - 1))
    .attr('height', (d) => px(d.height - 1));
  cards
    .select('[data-box=cpu-track]')
    .attr('x', (d) => px(right(d) - d.cpuBar))
    .attr('y', (d) => px(d.y + 16))
    .attr('width', (d) => d.cpuBar);
  cards
    .select('[data-box=cpu]')
    .attr('x', (d) => px(right(d) - d.cpuBar))
    .attr('y', (d) => px(d.y + 16))
    .attr('width', (d) => px(d.cpuBar * d.cpuShare));
  cards
    .select('[data-text=name]')
    .attr('fill', themeColor.text)
    .attr('font-weight', 600)
    .attr('x', (d) => px(d.x + 12))
    .attr('y', (d) => px(d.y + 22))
    .text((d) => `Instance ${d.instance}`);
  cards
    .select('[data-text=cpu]')
    .attr('text-anchor', 'end')
    .attr('x', (d) => px(right(d) - (d.cpuBar > 0 ? d.cpuBar + 8 : 0)))
    .attr('y', (d) => px(d.y + 22))
    .text((d) => d.words?.cpu ?? formatCores(d.cpu));
  cards
    .select('[data-text=in]')
    .attr('x', (d) => px(d.x + 12))
    .attr('y', foot)
    .text((d) => d.words?.in ?? `in ${formatRate(d.enqueuePerSec)}`);
  cards
    .select('[data-text=out]')
    .attr('text-anchor', 'end')
    .attr('x', (d) => px(right(d)))
    .attr('y', foot)
    .text((d) => d.words?.out ?? `out ${formatRate(d.dequeuePerSec)}`);
  const flows = cards
    .select<SVGGElement>('[data-part=flows]')
    .selectAll<SVGLineElement, Flow>('line')
    .data(
      (d) => d.flows,
      (flow) => flow.id,
    )
    .join('line');
  drawFlows(flows, color);
  const shards = cards
    .select<SVGGElement>('[data-part=shards]')
    .selectAll<SVGGElement, ShardRow>('g[data-shard]')
    .data(
      (d) => d.shards,
      (row) => row.label,
    )
    .join((enter) => {
      const row = enter.append('g').attr('data-shard', (d) => d.label);
      row
        .append('text')
        .attr('font-size', 11)
        .attr('font-variant-numeric', 'tabular-nums')
        .attr('fill', themeColor.muted);
      return row;
    });
  drawShards(shards, color);
}

function drawFlows(flows: Selection<SVGLineElement, Flow, SVGGElement, InstanceCard>, color: string): void {
  flows
    .attr('data-flow', (d) => d.kind)
    .attr('data-speed', (d) => px(d.speed))
    .attr('stroke', (d) => (d.perSec > 0 ? color : themeColor.strong))
    .attr('stroke-opacity', (d) => (d.perSec > 0 ? 0.85 : 1))
    .attr('stroke-width', (d) => px(d.width))
    .attr('stroke-dasharray', dash)
    .attr('x1', (d) => px(d.x1))
    .attr('x2', (d) => px(d.x2))
    .attr('y1', (d) => px(d.y1))
    .attr('y2', (d) => px(d.y2));
}

/** "shard 100: 20 waiting" */
function shardText({ label, backlog, hidden }: ShardRow): string {
  const waiting = backlog === null ? '' : `: ${formatCount(backlog)} waiting`;
  return `${label}${waiting}${hidden > 0 ? `, ${hidden} older` : ''}`;
}

function drawShards(rows: Selection<SVGGElement, ShardRow, SVGGElement, InstanceCard>, color: string): void {
  rows
    .select('text')
    .attr('x', (d) => px(d.x))
    .attr('y', (d) => px(d.y + 11))
    .text(shardText);
  const cells = rows
    .selectAll<SVGGElement, PartitionCell>('g')
    .data(
      (d) => d.cells,
      (cell) => String(cell.partition),
    )
    .join((enter) => {
      const cell = enter.append('g').attr('data-partition', (d) => d.partition);
      cell.append('title');
      cell
        .append('rect')
        .attr('data-box', 'frame')
        .attr('rx', 2)
        .attr('fill', themeColor.well)
        .attr('stroke', themeColor.strong);
      cell.append('rect').attr('data-box', 'drained').attr('fill-opacity', 0.25);
      cell.append('rect').attr('data-box', 'waiting');
      return cell;
    });
  const box = (part: string) =>
    cells
      .select(`[data-box=${part}]`)
      .attr('y', (d) => px(d.y))
      .attr('height', (d) => d.height);
  cells
    .select('title')
    .text(
      (d) =>
        `Partition ${d.partition}, ${d.state}: ${Math.round((d.drained + d.waiting) * 100)} % filled, ${Math.round(d.waiting * 100)} % waiting`,
    );
  box('frame')
    .attr('x', (d) => px(d.x))
    .attr('width', (d) => px(d.width));
  box('drained')
    .attr('fill', color)
    .attr('x', (d) => px(d.x))
    .attr('width', (d) => px(d.width * d.drained));
  // At least a hairline: when consumers keep up, very few messages wait, and they must stay visible.
  box('waiting')
    .attr('fill', color)
    .attr('x', (d) => px(d.x + d.width * d.drained))
    .attr('width', (d) => px(d.waiting > 0 ? Math.max(1.5, d.width * d.waiting) : 0));
}

function drawTable(group: Group, table: SharedTable | null, color: string): void {
  const entries = group
    .selectAll<SVGGElement, SharedTable>('g')
    .data(table === null ? [] : [table])
    .join((enter) => {
      const entry = enter.append('g');
      entry
        .append('rect')
        .attr('data-box', 'frame')
        .attr('rx', 6)
        .attr('fill', themeColor.well)
        .attr('stroke', themeColor.strong);
      entry.append('rect').attr('data-box', 'backlog').attr('fill-opacity', 0.3);
      entry.append('text').attr('font-size', 12).attr('fill', themeColor.text);
      return entry;
    });
  entries
    .select('[data-box=frame]')
    .attr('x', (d) => px(d.x + 0.5))
    .attr('y', (d) => px(d.y + 0.5))
    .attr('width', (d) => px(d.width - 1))
    .attr('height', (d) => px(d.height - 1));
  entries
    .select('[data-box=backlog]')
    .attr('fill', color)
    .attr('x', (d) => px(d.x + 1))
    .attr('y', (d) => px(d.y + 1))
    .attr('rx', 5)
    .attr('width', (d) => px((d.width - 2) * d.share))
    .attr('height', (d) => px(d.height - 2));
  entries
    .select('text')
    .attr('x', (d) => px(d.x + 12))
    .attr('y', (d) => px(d.y + d.height / 2 + 4))
    .text((d) => `One table, one file: ${formatCount(d.backlog)} waiting`);
}

function drawLinks(group: Group, table: SharedTable | null, color: string): void {
  group
    .selectAll<SVGLineElement, SharedTable['links'][number]>('line')
    .data(table?.links ?? [])
    .join('line')
    .attr('stroke', color)
    .attr('stroke-opacity', 0.6)
    .attr('stroke-width', (d) => px(d.width))
    .attr('x1', (d) => px(d.x))
    .attr('x2', (d) => px(d.x))
    .attr('y1', (d) => px(d.y1))
    .attr('y2', (d) => px(d.y2));
}
