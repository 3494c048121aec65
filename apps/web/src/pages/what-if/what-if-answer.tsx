import type { ReactNode } from 'react';
import { systemColor } from '../../charts/visual-encoding.ts';
import { plural } from '../../model/format.ts';
import type { Metric } from '../../model/point-metrics.ts';
import { systemInWords } from '../../model/system-words.ts';
import { changeInWords, type SystemAnswer } from '../../model/what-if-answer.ts';
import { type Limit, limitNames, removals } from '../../model/what-if-limits.ts';
import { Swatch } from '../../parts/legend-marks.tsx';
import type { Simulation } from './use-simulation.ts';

export interface WhatIfAnswerProps {
  answers: readonly SystemAnswer[];
  metric: Metric;
  stage: Simulation['stage'];
  /** The previous position in words; empty for none. */
  since: string;
  /** The number of threads that is answered for; null for each system's best. */
  threads: number | null;
  /** Called to answer for the best. */
  onBestThreads(): void;
  without: readonly Limit[];
  onRemove(limit: Limit, isRemoved: boolean): void;
  /** The machine to which the costs belong. */
  machine: ReactNode;
}

const stages: Readonly<Record<Simulation['stage'], string>> = {
  waiting: 'simulating…',
  coarse: 'coarse, simulating…',
  refining: 'refining…',
  done: 'simulated',
};

/** The model's answer in words, which stay in view while the sliders move. */
export function WhatIfAnswer(props: WhatIfAnswerProps) {
  const { answers, metric, stage, since, threads, onBestThreads, without, onRemove, machine } = props;
  return (
    <section className="panel what-if-answer" aria-label="Answer of the model">
      <div className="what-if-systems">
        {answers.map((answer) => (
          <SystemWords key={answer.system} {...{ answer, metric, without, onRemove }} />
        ))}
      </div>
      <div className="what-if-basis small">
        {machine}
        <p className="muted">
          <span role="status">{stages[stage]}</span>
          {since === '' ? null : <span data-since="">; changes are against: {since}</span>}
        </p>
        {threads === null ? null : (
          <p>
            Answers for {plural(threads, 'thread')}.{' '}
            <button type="button" className="link-button" onClick={onBestThreads}>
              Answer for the best number
            </button>
          </p>
        )}
        {without.length === 0 ? null : (
          <ul className="row" aria-label="Removed bottlenecks">
            {without.map((limit) => (
              <li key={limit}>
                <button type="button" className="button button-small" onClick={() => onRemove(limit, false)}>
                  Put back {limitNames[limit]}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
    </section>
  );
}

function SystemWords(props: {
  answer: SystemAnswer;
  metric: Metric;
  without: readonly Limit[];
  onRemove(limit: Limit, isRemoved: boolean): void;
}) {
  const { answer, metric, without, onRemove } = props;
  const { system, threads, value, change, limit, words } = answer;
  return (
    <div className="what-if-system">
      <p>
        <Swatch color={systemColor(system)} /> <b>{systemInWords(system)}</b>{' '}
        <span className="what-if-value">{metric.format(value)}</span>{' '}
        <span className="small muted">at {plural(threads, 'thread')}</span>{' '}
        {change === null ? null : <span data-change="">{changeInWords(change)}</span>}
      </p>
      <p className="small">
        Limited by {words}.{' '}
        {limit === null || without.includes(limit) ? null : (
          <button
            type="button"
            className="link-button"
            title={removals[limit]}
            onClick={() => onRemove(limit, true)}
          >
            Remove this bottleneck
          </button>
        )}
      </p>
    </div>
  );
}
