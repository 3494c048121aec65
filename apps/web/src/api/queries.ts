/** The queries and mutations of the pages. Query keys are defined only here, so that a mutation can invalidate them. */
import {
  type Browsed,
  type BrowserSession,
  type CalibrationAnswer,
  type ClaimLedger,
  type Cluster,
  type Conversion,
  type ConversionAnswer,
  type Convert,
  type CreateQueue,
  type Dequeue,
  type Dequeued,
  type Enqueued,
  type HardwareList,
  type HistoryRange,
  type Id,
  type Kill,
  type LessonList,
  type LoadAnswer,
  type MachineState,
  type MeasuredWorkloadList,
  type MessageState,
  type MessageTrace,
  type NewMessage,
  parseKeepingPayloads,
  type QueueHistories,
  type QueueHistory,
  type QueueInfo,
  type QueueList,
  type QueueStats,
  type RecordedRunList,
  type Redrive,
  type Redriven,
  type Run,
  type RunCancelled,
  type RunLabels,
  type RunList,
  type RunListQuery,
  type Scale,
  type Scenario,
  type ScenarioEntry,
  type ScenarioList,
  type ScenarioValidation,
  type ServiceList,
  type StartLoad,
  type StoreInfo,
  type StudyList,
  type Subscribe,
  type SubscriberInfo,
  type SubscriberList,
  stringifyWithTexts,
  type TracedMessages,
  type WaitRegistry,
} from '@shardlab/contract';
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { OpenApi } from '../model/api-reference.ts';
import { call, ServerUnreachable } from './client.ts';

/** While the server is unreachable, every query is retried at this interval. */
const unreachableRetryMs = 2_000;

export const retryWhileUnreachable = (failures: number, error: Error): boolean =>
  error instanceof ServerUnreachable || (failures < 1 && !('status' in error));
export const retryDelay = (): number => unreachableRetryMs;

const path = (id: string) => encodeURIComponent(id);

/** A query string of what is given. */
function paramsOf(options: object): URLSearchParams {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

/** Asked once a minute, so that a page which only listens to events notices the end of its session. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: ({ signal }) => call<BrowserSession>('GET', '/api/session', { signal }),
  refetchInterval: 60_000,
});
export const logIn = (key: string) => call<BrowserSession>('POST', '/api/session', { body: { key } });
export const logOut = () => call<undefined>('DELETE', '/api/session');

export const scenariosQuery = queryOptions({
  queryKey: ['scenarios'],
  queryFn: ({ signal }) => call<ScenarioList>('GET', '/api/scenarios', { signal }),
});

export const scenarioQuery = (id: string) =>
  queryOptions({
    queryKey: ['scenarios', id],
    queryFn: ({ signal }) => call<ScenarioEntry>('GET', `/api/scenarios/${path(id)}`, { signal }),
  });

/** Never out of date: the lessons come with the server's code. */
export const lessonsQuery = queryOptions({
  queryKey: ['lessons'],
  queryFn: ({ signal }) => call<LessonList>('GET', '/api/lessons', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** Never out of date: the programs are part of the server's code. */
export const scenarioSchemaQuery = queryOptions({
  queryKey: ['scenario-schema'],
  queryFn: ({ signal }) => call<Record<string, unknown>>('GET', '/api/scenario-schema', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** How often lists of runs are read again: cheap, and the only way to notice a run that was started elsewhere. */
const runsPollMs = 3_000;

/** Far longer than a server under load takes for a list. */
const answerMsMax = 10_000;

/** The newest runs. Every page queries them, so that each notices a server that is gone or hangs. */
export const runsQuery = (limit: number) =>
  queryOptions({
    queryKey: ['runs', 'list', limit],
    queryFn: ({ signal }) =>
      call<RunList>('GET', `/api/runs?limit=${limit}`, { signal, withinMs: answerMsMax }),
    refetchInterval: runsPollMs,
  });

/** Runs in an order and with filters, page by page. */
export const runPagesQuery = (query: Omit<RunListQuery, 'after'>) =>
  infiniteQueryOptions({
    queryKey: ['runs', 'list', 'pages', query],
    queryFn: ({ signal, pageParam }) =>
      call<RunList>('GET', `/api/runs?${paramsOf({ ...query, after: pageParam })}`, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: runsPollMs,
  });

/** The newest runs of one scenario. Its key is that of lists, so that the start or end of a run refreshes it. */
export const runsOfScenarioQuery = (scenario: string) =>
  queryOptions({
    queryKey: ['runs', 'list', 'of', scenario],
    queryFn: ({ signal }) =>
      call<RunList>('GET', `/api/runs?limit=50&scenario=${path(scenario)}`, { signal }),
  });

/** Never out of date: the recorded runs come with the server's code. */
export const recordedRunsQuery = queryOptions({
  queryKey: ['runs', 'recorded'],
  queryFn: ({ signal }) => call<RecordedRunList>('GET', '/api/runs/recorded', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ['runs', 'one', id],
    queryFn: ({ signal }) => call<Run>('GET', `/api/runs/${path(id)}`, { signal }),
  });

/** Never out of date: the studies are part of the server's code. */
export const studiesQuery = queryOptions({
  queryKey: ['studies'],
  queryFn: ({ signal }) => call<StudyList>('GET', '/api/studies', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const waitsQuery = queryOptions({
  queryKey: ['waits'],
  queryFn: ({ signal }) => call<WaitRegistry>('GET', '/api/waits', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

export const claimsQuery = queryOptions({
  queryKey: ['claims'],
  queryFn: ({ signal }) => call<ClaimLedger>('GET', '/api/claims', { signal }),
});

export const hardwareQuery = queryOptions({
  queryKey: ['hardware'],
  queryFn: ({ signal }) => call<HardwareList>('GET', '/api/hardware', { signal }),
});

/** How often the page asks how far a calibration is. */
const calibrationPollMs = 400;

export const calibrationQuery = queryOptions({
  queryKey: ['calibration'],
  queryFn: ({ signal }) => call<CalibrationAnswer>('GET', '/api/calibration', { signal }),
  refetchInterval: ({ state }) => (state.data?.calibration?.state === 'running' ? calibrationPollMs : false),
});

/** Refreshed when a run ends, as `claimsQuery` is: by the pill of runs, which every page has. Its key is that of runs for those that are deleted. */
export const measuredWorkloadsQuery = queryOptions({
  queryKey: ['runs', 'measured-workloads'],
  queryFn: ({ signal }) => call<MeasuredWorkloadList>('GET', '/api/measured-workloads', { signal }),
});

/** Never out of date: the routes are part of the server's code. */
export const openApiQuery = queryOptions({
  queryKey: ['openapi'],
  queryFn: ({ signal }) => call<OpenApi>('GET', '/openapi.json', { signal }),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A server keeps its store as long as it runs. */
export const storeQuery = queryOptions({
  queryKey: ['store'],
  queryFn: ({ signal }) => call<StoreInfo>('GET', '/api/store', { signal }),
});

/** Asked for as often as the cluster's processes come and go. */
export const servicesQuery = queryOptions({
  queryKey: ['services'],
  queryFn: ({ signal }) => call<ServiceList>('GET', '/api/services', { signal }),
  refetchInterval: 1_000,
});

export const queuesQuery = queryOptions({
  queryKey: ['queues'],
  queryFn: ({ signal }) => call<QueueList>('GET', '/api/queues', { signal }),
  refetchInterval: 1_500,
});

export const queueStatsQuery = (queue: string) =>
  queryOptions({
    queryKey: ['queues', queue, 'stats'],
    queryFn: ({ signal }) => call<QueueStats>('GET', `/api/queues/${path(queue)}/stats`, { signal }),
    refetchInterval: 1_000,
  });

/** How often a page polls the history: as often as the server samples the shortest one. */
const historyPollMs = 2_000;

export const queueHistoryQuery = (queue: string, range: HistoryRange) =>
  queryOptions({
    queryKey: ['queues', queue, 'history', range],
    queryFn: ({ signal }) =>
      call<QueueHistory>('GET', `/api/queues/${path(queue)}/history?range=${range}`, { signal }),
    refetchInterval: historyPollMs,
  });

/** The last ten minutes of all queues. */
export const queueHistoriesQuery = queryOptions({
  queryKey: ['queues', 'histories'],
  queryFn: ({ signal }) => call<QueueHistories>('GET', '/api/queue-histories?range=10m', { signal }),
  refetchInterval: historyPollMs,
});

export interface BrowseOptions {
  limit: number;
  subscriber: string | undefined;
  /** Only messages with this correlation id. */
  correlationId: string | undefined;
  state: MessageState | undefined;
  /** The `next` of the page before. */
  after: string | undefined;
}

export const browseQuery = (queue: string, options: BrowseOptions) =>
  queryOptions({
    queryKey: ['queues', queue, 'messages', options],
    queryFn: ({ signal }) => {
      const url = `/api/queues/${path(queue)}/messages?${paramsOf(options)}`;
      return call<Browsed>('GET', url, { signal, parse: parseKeepingPayloads });
    },
    // A search without an index reads the whole backlog, so it is not repeated.
    refetchInterval: options.correlationId === undefined ? 2_000 : false,
  });

export const messageTraceQuery = (queue: string, id: string) =>
  queryOptions({
    queryKey: ['queues', queue, 'traces', id],
    queryFn: ({ signal }) =>
      call<MessageTrace>('GET', `/api/queues/${path(queue)}/messages/${path(id)}/trace`, { signal }),
    refetchInterval: 2_000,
  });

export const tracedMessagesQuery = (queue: string) =>
  queryOptions({
    queryKey: ['queues', queue, 'traces'],
    queryFn: ({ signal }) =>
      call<TracedMessages>('GET', `/api/queues/${path(queue)}/traces?limit=20`, { signal }),
    refetchInterval: 2_000,
  });

export const subscribersQuery = (topic: string) =>
  queryOptions({
    queryKey: ['queues', topic, 'subscribers'],
    queryFn: ({ signal }) =>
      call<SubscriberList>('GET', `/api/queues/${path(topic)}/subscribers`, { signal }),
    refetchInterval: 1_500,
  });

/** Polled often during a conversion. A sharded queue is asked once, for the record of its conversion. */
export const conversionQuery = ({ name, kind }: QueueInfo) =>
  queryOptions({
    queryKey: ['queues', name, 'conversion'],
    queryFn: ({ signal }) =>
      call<ConversionAnswer>('GET', `/api/queues/${path(name)}/conversion`, { signal }),
    refetchInterval: ({ state }) => {
      const conversion = state.data?.conversion ?? null;
      if (conversion === null) return kind === 'unsharded' ? 1_500 : false;
      return conversion.stage === 'done' ? false : 500;
    },
  });

/** Takes a quarter of a second, in which the server watches its machine. */
export const readMachine = () => call<MachineState>('GET', '/api/machine');
export const startRun = (scenario: string | Scenario, scale: Scale) =>
  call<Id>('POST', '/api/runs', { body: { scenario, scale } });
export const startCalibration = () => call<CalibrationAnswer>('POST', '/api/calibration');
export const cancelCalibration = () => call<CalibrationAnswer>('DELETE', '/api/calibration');
export const cancelRun = (id: string) => call<RunCancelled>('POST', `/api/runs/${path(id)}/cancel`);
export const resumeRun = (id: string) => call<Id>('POST', `/api/runs/${path(id)}/resume`);
export const deleteRun = (id: string) => call<undefined>('DELETE', `/api/runs/${path(id)}`);
export const labelRun = (id: string, labels: RunLabels) =>
  call<RunLabels>('PUT', `/api/runs/${path(id)}/labels`, { body: labels });
/** `text`: an exported run, as JSON. */
export const importRun = (text: string) => call<Id>('POST', '/api/runs/import', { text });
export const uploadScenario = (text: string) => call<Id>('POST', '/api/scenarios', { text });
export const validateScenario = (text: string, scale: Scale, signal: AbortSignal) =>
  call<ScenarioValidation>('POST', `/api/scenarios/validate?scale=${scale}`, { text, signal });
export const deleteScenario = (id: string) => call<undefined>('DELETE', `/api/scenarios/${path(id)}`);
export const exportHref = (id: string, format: 'json' | 'csv') =>
  `/api/runs/${path(id)}/export?format=${format}`;

export const createQueue = (queue: CreateQueue) => call<QueueInfo>('POST', '/api/queues', { body: queue });
export const dropQueue = (queue: string, { withExceptions }: { withExceptions: boolean }) =>
  call<undefined>('DELETE', `/api/queues/${path(queue)}?withExceptions=${withExceptions}`);
export const startConversion = (queue: string, options: Convert) =>
  call<Conversion>('POST', `/api/queues/${path(queue)}/conversion`, { body: options });
export const cancelConversion = (queue: string) =>
  call<QueueInfo>('DELETE', `/api/queues/${path(queue)}/conversion`);
export const setQueueEnabled = (
  queue: string,
  action: 'start' | 'stop',
  operations: { enqueue?: boolean; dequeue?: boolean },
) => call<QueueInfo>('POST', `/api/queues/${path(queue)}/${action}`, { body: operations });
export const enqueue = (queue: string, messages: NewMessage[]) =>
  call<Enqueued>('POST', `/api/queues/${path(queue)}/messages`, {
    text: `{"messages":[${messages.map(stringifyWithTexts).join(',')}]}`,
  });
export const dequeue = (queue: string, options: Dequeue) =>
  call<Dequeued>('POST', `/api/queues/${path(queue)}/dequeue`, {
    body: options,
    parse: parseKeepingPayloads,
  });
export const traceNext = (queue: string, next: number) =>
  call<undefined>('POST', `/api/queues/${path(queue)}/traces`, { body: { next } });
export const ackOrNack = (queue: string, action: 'ack' | 'nack', receipts: string[]) =>
  call<undefined>('POST', `/api/queues/${path(queue)}/${action}`, { body: { receipts } });
export const redrive = (queue: string, options: Redrive) =>
  call<Redriven>('POST', `/api/queues/${path(queue)}/redrive`, { body: options });
export const subscribe = (topic: string, subscriber: Subscribe) =>
  call<SubscriberInfo>('POST', `/api/queues/${path(topic)}/subscribers`, { body: subscriber });
export const unsubscribe = (topic: string, subscriber: string) =>
  call<undefined>('DELETE', `/api/queues/${path(topic)}/subscribers/${path(subscriber)}`);

export const resizeCluster = (instances: number) =>
  call<Cluster>('PUT', '/api/cluster/topology', { body: { instances } });
export const signalInstance = (instance: number, signal: NonNullable<Kill['signal']>) =>
  call<Cluster>('POST', `/api/cluster/instances/${instance}/kill`, { body: { signal } });
export const stopInstance = (instance: number) =>
  call<Cluster>('POST', `/api/cluster/instances/${instance}/stop`);
export const startInstance = (instance: number) =>
  call<Cluster>('POST', `/api/cluster/instances/${instance}/start`);
export const startLoad = (options: StartLoad) =>
  call<LoadAnswer>('POST', '/api/cluster/load', { body: options });
export const stopLoad = () => call<LoadAnswer>('DELETE', '/api/cluster/load');
