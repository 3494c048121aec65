import type { Hardware, MeasuredWorkload } from '@shardlab/contract';
import { agreementAim } from '@shardlab/model';
import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo, useState } from 'react';
import { measuredWorkloadsQuery } from '../../api/queries.ts';
import { createScoreChart } from '../../charts/score-chart.ts';
import { systemColor, systemsIn, themeColor } from '../../charts/visual-encoding.ts';
import { formatAxisCount, plural } from '../../model/format.ts';
import {
  errorInWords,
  type FigureScore,
  percent,
  type ScoredWorkload,
  scoreInWords,
  scorePoints,
  scoresOf,
  scoreTable,
  workloadInWords,
} from '../../model/prediction-score.ts';
import { simulatedProvenance, utcMinute } from '../../model/provenance.ts';
import { systemInWords } from '../../model/system-words.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Legend } from '../../parts/legend-marks.tsx';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';
import { useChartHint } from '../../parts/use-chart-hint.ts';
import { useScores } from './use-scores.ts';

/** The model's predictions for every workload that this machine has measured, beside the measurements. */
export function PredictionScore({ machine, isHere }: { machine: Hardware; isHere: boolean }) {
  const measured = useQuery(measuredWorkloadsQuery);
  return (
    <section className="section" aria-labelledby="score">
      <h2 id="score">Score of the predictions</h2>
      {measured.error === null ? null : <ErrorNotice error={measured.error} />}
      {measured.data === undefined ? null : (
        <Score machine={machine} isHere={isHere} workloads={measured.data.workloads} />
      )}
    </section>
  );
}

function Score(props: { machine: Hardware; isHere: boolean; workloads: readonly MeasuredWorkload[] }) {
  const { machine, isHere, workloads } = props;
  const scored = useScores(machine, workloads);
  const scores = useMemo(() => scoresOf(scored), [scored]);
  const [rates] = scores;
  if (workloads.length === 0)
    return (
      <p className="empty">
        No finished run of this machine has a workload that the model can repeat. Run any scenario of sharded
        and unsharded queues, such as First look.
      </p>
    );
  const disturbed = workloads.filter((workload) => workload.disturbed).length;
  return (
    <>
      <p role="status">
        {scored.length < workloads.length
          ? `Predicting ${plural(workloads.length, 'workload')} that this machine has measured: ${scored.length} so far.`
          : rates === undefined
            ? ''
            : scoreInWords(rates)}
      </p>
      <p className="small muted">
        The workloads of the newest runs on this machine, each as it was measured last. The costs come from
        other workloads, so no prediction contains the measurement that it is compared with.
        {isHere ? '' : ` They are those of ${machine.title}: the errors show how the machines differ.`}
        {disturbed === 0
          ? ''
          : ` ${disturbed} of ${workloads.length} were measured while other work used the machine (hollow).`}
      </p>
      <div className="split split-even">
        <ScoreChart machine={machine} scored={scored} />
        <ScoreTable scores={scores} />
      </div>
    </>
  );
}

function ScoreChart({ machine, scored }: { machine: Hardware; scored: readonly ScoredWorkload[] }) {
  const [cursor, setCursor] = useState<string | null>(null);
  const { box, width } = useWidth();
  const points = useMemo(() => scorePoints(scored), [scored]);
  const create = useCallback((svg: SVGSVGElement) => createScoreChart(svg, { onCursor: setCursor }), []);
  const height = Math.round(Math.min(340, Math.max(240, width * 0.8)));
  const data = useMemo(
    () => ({
      width: Math.max(width, 240),
      height,
      points,
      aim: agreementAim,
      formatAxis: formatAxisCount,
      cursor,
    }),
    [width, height, points, cursor],
  );
  const { element } = useChart(create, data);
  const pointing = useChartHint(
    'Point at a mark, or use the arrow keys, to see its workload.',
    'Touch a mark to see its workload.',
  );
  const index = points.findIndex(({ key }) => key === cursor);
  const words = points[index]?.words ?? pointing;
  const onKey = (key: string): boolean => {
    const last = points.length - 1;
    if (key === 'Escape') setCursor(null);
    else if (key === 'ArrowRight') setCursor(points[Math.min(last, index + 1)]?.key ?? null);
    else if (key === 'ArrowLeft') setCursor(points[index < 0 ? last : Math.max(0, index - 1)]?.key ?? null);
    else if (key === 'Home') setCursor(points[0]?.key ?? null);
    else if (key === 'End') setCursor(points[last]?.key ?? null);
    else return false;
    return true;
  };
  const legend = systemsIn(points).map((system) => ({
    label: systemInWords(system),
    color: systemColor(system),
  }));
  const newestMs = Math.max(0, ...scored.map(({ workload }) => workload.endedAtMs));
  return (
    <ChartFrame
      title="Predicted over measured dequeue rate"
      unit={`on the line: as predicted; band: within ${agreementAim * 100} %`}
      fileName="prediction-score"
      table={() => scoreTable(scored)}
      svg={element}
      box={box}
      height={height}
      saved={{
        legend: [
          ...legend,
          { label: `within ${agreementAim * 100} %`, color: themeColor.well },
          { label: 'as predicted', color: themeColor.strong, mark: { dash: null } },
        ],
        provenance: simulatedProvenance(machine, {
          settings: '',
          measured: `the newest runs on the server at ${window.location.host}, until ${utcMinute(newestMs)}.`,
          nowMs: Date.now(),
        }),
      }}
      legend={<Legend items={legend} />}
      readout={words}
      spoken={words}
      cursor={{ now: Math.max(0, index), max: Math.max(1, points.length - 1), onKey }}
    />
  );
}

function ScoreTable({ scores }: { scores: readonly FigureScore[] }) {
  return (
    <ScrollX label="Score by figure" framed>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Figure</th>
            <th scope="col" className="number">
              Within {agreementAim * 100} %
            </th>
            <th scope="col" className="number">
              Median error
            </th>
            <th scope="col">Worst</th>
          </tr>
        </thead>
        <tbody>
          {scores.map(({ title, within, of, medianError, worst }) => (
            <tr key={title}>
              <th scope="row">{title}</th>
              <td className="number">
                {within} of {of}
              </td>
              <td className="number">{percent(medianError)}</td>
              <td className="score-worst">
                <b>{errorInWords(worst.error)}</b>{' '}
                <span className="small muted">
                  {workloadInWords(worst.workload)}: predicted {worst.predicted}, measured {worst.measured}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollX>
  );
}
