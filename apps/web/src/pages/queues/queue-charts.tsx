import type { HistoryRange, QueueStats } from '@shardlab/contract';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { queueHistoryQuery } from '../../api/queries.ts';
import {
  formatCount,
  formatDuration,
  formatMs,
  formatRate,
  formatTimeOfDay,
  formatValue,
  plural,
} from '../../model/format.ts';
import { liveProvenance } from '../../model/provenance.ts';
import {
  depthMarks,
  gapCount,
  historyRanges,
  lagMarks,
  latencyMarks,
  type PlacedSample,
  placeSamples,
  queueRange,
  queueTable,
  rateMarks,
} from '../../model/queue-history.ts';
import { Choice } from '../../parts/choice.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { SampleChart } from '../../parts/sample-chart.tsx';

/** Rates, depth, latency and lag of a queue, as far back as the server has sampled them. */
export function QueueCharts({ queue, kind }: Pick<QueueStats, 'queue' | 'kind'>) {
  const [range, setRange] = useState<HistoryRange>('10m');
  const history = useQuery(queueHistoryQuery(queue, range));
  return (
    <div className="section">
      <Choice<HistoryRange> label="Last" value={range} options={historyRanges} onChange={setRange} />
      <QueryResult query={history} name="the history of the queue">
        {({ samples, everyMs }) =>
          samples.length === 0 ? (
            <p className="empty">
              No samples yet: one is taken every {formatDuration(everyMs)} while the server runs.
            </p>
          ) : (
            <Charts queue={queue} kind={kind} samples={samples} everyMs={everyMs} />
          )
        }
      </QueryResult>
    </div>
  );
}

interface ChartsProps extends Pick<QueueStats, 'queue' | 'kind'> {
  samples: Parameters<typeof placeSamples>[0];
  everyMs: number;
}

function Charts({ queue, kind, samples: read, everyMs }: ChartsProps) {
  const samples = useMemo(() => placeSamples(read), [read]);
  const range = useMemo(() => queueRange(samples), [samples]);
  const rates = useMemo(() => rateMarks(samples, kind), [samples, kind]);
  const depth = useMemo(() => depthMarks(samples, kind), [samples, kind]);
  const latency = useMemo(() => latencyMarks(samples, kind), [samples, kind]);
  const lag = useMemo(() => lagMarks(samples, kind), [samples, kind]);
  const provenance = liveProvenance(`queue ${queue}`, {
    host: window.location.host,
    atMs: samples.at(-1)?.timeMs ?? 0,
  });
  const startMs = read[0]?.sinceMs ?? 0;
  const timeOf = ({ timeMs }: PlacedSample) =>
    formatTimeOfDay(timeMs, everyMs < 60_000 ? 'second' : 'minute');
  const common = { samples, range, startMs, system: kind, provenance, table: () => queueTable(samples) };
  const every = `every ${formatDuration(everyMs)}`;
  const gaps = gapCount(samples);
  return (
    <>
      {gaps === 0 ? null : (
        <p className="small muted">
          {plural(gaps, 'gap')} in the lines: the server was not running then, or had no answer. Latency also
          has no line where nothing was delivered.
        </p>
      )}
      <SampleChart
        {...common}
        title="Enqueue and dequeue rate"
        unit={`messages per second, averaged over ${formatDuration(everyMs)}`}
        fileName={`queue-${queue}-rates`}
        marks={rates}
        lines={{ primary: 'dequeued', secondary: 'enqueued' }}
        readout={(sample) => (
          <>
            {timeOf(sample)} enqueued <b>{formatRate(sample.enqueuePerSec)}</b>, dequeued{' '}
            <b>{formatRate(sample.dequeuePerSec)}</b>
          </>
        )}
        spoken={(sample) =>
          `${timeOf(sample)}: enqueued ${formatRate(sample.enqueuePerSec)}, dequeued ${formatRate(sample.dequeuePerSec)}, ${plural(sample.depth, 'message')} in the queue`
        }
      />
      <SampleChart
        {...common}
        title="Depth"
        unit={`messages committed and not consumed, read ${every}`}
        fileName={`queue-${queue}-depth`}
        marks={depth}
        lines={{ primary: 'depth' }}
        readout={(sample) => (
          <>
            {timeOf(sample)} <b>{formatCount(sample.depth)}</b>
          </>
        )}
        spoken={(sample) => `${timeOf(sample)}: ${plural(sample.depth, 'message')} in the queue`}
      />
      <SampleChart
        {...common}
        title="Latency"
        unit={`milliseconds from the enqueue of a message to its first delivery, over ${formatDuration(everyMs)}; of the first message of each dequeue call, a sample of the calls at high rates`}
        fileName={`queue-${queue}-latency`}
        formatAxis={formatValue}
        marks={latency}
        noValues="No delivery was measured"
        lines={{ primary: 'median', secondary: '99th percentile' }}
        readout={(sample) => (
          <>
            {timeOf(sample)} <b>{latencyInWords(sample)}</b>
          </>
        )}
        spoken={(sample) => `${timeOf(sample)}: ${latencyInWords(sample)}`}
      />
      <SampleChart
        {...common}
        title="Lag"
        unit={`seconds: age of the oldest ready message in a cache, read ${every}`}
        fileName={`queue-${queue}-lag`}
        formatAxis={formatValue}
        marks={lag}
        noValues="The lag is not known"
        lines={{ primary: 'lag' }}
        readout={(sample) => (
          <>
            {timeOf(sample)} <b>{lagInWords(sample)}</b>
          </>
        )}
        spoken={(sample) => `${timeOf(sample)}: lag ${lagInWords(sample)}`}
      />
    </>
  );
}

const lagInWords = ({ lagMs }: PlacedSample): string =>
  lagMs === null ? 'not known' : lagMs === 0 ? '0 ms' : formatMs(lagMs);

/** Enqueue times are whole milliseconds. */
const msInWords = (ms: number): string => (ms <= 1 ? '1 ms or less' : formatMs(ms));

const latencyInWords = ({ latencyMs }: PlacedSample): string =>
  latencyMs === null
    ? 'no delivery was measured'
    : `median ${msInWords(latencyMs.p50)}, 99th percentile ${msInWords(latencyMs.p99)}`;
