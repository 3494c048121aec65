/** Progress line and report of a torture test. */
import { faultCount, type TortureState } from './run-torture.ts';

const number = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 0 });

export function tortureLine(state: TortureState, kills: number): string {
  const done = `${number(state.kills)}/${number(kills)} kills`;
  const work = `${number(state.enqueued)} enqueued, ${number(state.consumed)} consumed`;
  return `${number(state.elapsedMs / 1_000)} s  ${done}  ${work}  ${number(faultCount(state))} faults`;
}

export function tortureReport(state: TortureState): string {
  const { violations, failed } = state;
  const rows: [string, string][] = [
    ...Object.entries(state.killsByPhase)
      .sort(([, a], [, b]) => b - a)
      .map(([phase, count]) => [`kills: ${phase}`, number(count)] as [string, string]),
    ['kills in total', number(state.kills)],
    ['inspections of the folder', number(state.checks)],
    ['transactions acknowledged', number(state.commits)],
    ['messages enqueued', number(state.enqueued)],
    ['messages consumed', number(state.consumed)],
    ['illegal histories', number(violations.length)],
    ['processes that failed', number(failed.length)],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const table = rows.map(([name, value]) => `  ${name.padEnd(width)}  ${value.padStart(10)}`);
  const verdict = faultCount(state) === 0 ? 'No acknowledged message was lost or duplicated.' : 'FAULTS';
  const summary = `${verdict} Seed ${state.seed}, ${number(state.elapsedMs / 1_000)} s.`;
  return ['', ...table, '', ...violations, ...failed, summary].join('\n');
}
