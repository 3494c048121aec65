/**
 * Executes runs one at a time, because two measurements must not share the machine, and each in its own thread, so that it does
 * not delay the queues. A run's rows are written as its events arrive. Clients follow it through its channel, which exists until
 * the run has ended. The largest run has megabytes of JSON, so those that have ended are sent as they are stored, and exported
 * point by point.
 */
import { randomUUID } from 'node:crypto';
import type {
  ErrorBody,
  ExportedRun,
  RecordedRunList,
  Run,
  RunEvent,
  RunLabels,
  RunList,
  Scale,
  Scenario,
} from '@shardlab/contract';
import {
  assertSystemsAvailable,
  LabError,
  newRun,
  type StudyRegistry,
  startRunInThread,
} from '@shardlab/lab';
import { ServerError, toBody } from '../errors.ts';
import { mapError } from '../http/map-error.ts';
import type { HidePaths } from '../http/private-paths.ts';
import { limits } from '../limits.ts';
import type { RunListOptions } from '../store/run-list.ts';
import { interrupted, type RunStore } from '../store/run-store.ts';
import type { ClaimHistory } from './claim-history.ts';
import { endEventId, frameOf } from './event-log.ts';
import type { RecordedRuns } from './recorded-runs.ts';
import { type Follower, RunChannel, tickBounds } from './run-channel.ts';
import type { Points, RunToExport } from './run-export.ts';
import type { RunJournals } from './run-journals.ts';
import { TickHistory } from './tick-history.ts';

export interface RunServiceOptions {
  hidePaths: HidePaths;
  store: RunStore;
  recorded: RecordedRuns;
  /** Folder for the scratch folders of trials. */
  scratchDir: string;
  now: () => number;
  /** Journals of measured trials, for resuming interrupted runs. */
  journals: RunJournals;
  /** The studies whose scenarios may be run. */
  studies: StudyRegistry;
  /** Stores the verdicts of runs. */
  history: Pick<ClaimHistory, 'keep'>;
  /** Receives the reason why a run could not be recorded. */
  onFault: (error: unknown) => void;
  /** Receives the reason why a run failed, with the paths that its readers do not see. */
  onFailed: (id: string, error: ErrorBody) => void;
}

/** Between the last tick before an interruption and the time from which a resumed run counts, milliseconds. */
const resumedAfterMs = 250;

export class RunService {
  readonly #store: RunStore;
  readonly #recorded: RecordedRuns;
  readonly #options: RunServiceOptions;
  /** Runs that have not ended, in execution order; the first may be active. */
  readonly #channels = new Map<string, RunChannel>();
  #active: { id: string; abort: AbortController; ended: Promise<void> } | undefined;
  #closing = false;

  constructor(options: RunServiceOptions) {
    this.#store = options.store;
    this.#recorded = options.recorded;
    this.#options = options;
    // The queues are served without a history that cannot be read.
    this.#attempt(() => this.#store.endInterrupted());
    this.#attempt(() => options.journals.sweep((id) => this.#store.has(id)));
    this.#attempt(() => {
      for (const run of this.#store.queued()) this.#channels.set(run.id, this.#channelOf(run));
    });
    this.#startNext();
  }

  /** Queues a run. Throws `RUN_QUEUE_FULL`, `SERVER_CLOSING`, `SYSTEM_UNAVAILABLE`. */
  start(scenario: Scenario, scale: Scale): Run {
    this.#assertRoom();
    const { studies, now } = this.#options;
    assertSystemsAvailable(scenario, scale, { studies, ignoreInstallable: true });
    const run = newRun({ id: randomUUID(), scenario, scale, createdAtMs: now(), studies });
    this.#store.add(run);
    this.#channels.set(run.id, this.#channelOf(run));
    this.#startNext();
    return run;
  }

  /**
   * Queues a run again that was interrupted by the end of a server. Measured trials are not repeated, and its time continues
   * after its last tick. Throws `RUN_NOT_FOUND`, `RUN_DAMAGED`, `RUN_NOT_RESUMABLE`, `RUN_QUEUE_FULL`, `SERVER_CLOSING`, `SYSTEM_UNAVAILABLE`.
   */
  resume(id: string): Run {
    const { scenario, scale, createdAtMs, startedAtMs, claims, error } = this.head(id);
    if (this.#channels.has(id) || error?.code !== 'RUN_INTERRUPTED' || !this.#options.journals.has(id))
      throw new ServerError('RUN_NOT_RESUMABLE', { details: { id } });
    this.#assertRoom();
    const { studies } = this.#options;
    assertSystemsAvailable(scenario, scale, { studies, ignoreInstallable: true });
    const points = [...this.#store.points(id)];
    const run = { ...newRun({ id, scenario, scale, createdAtMs, studies }), startedAtMs, points, claims };
    const channel = this.#channelOf(run);
    channel.ticks.restore(
      Array.from(this.#store.ticks(id), ({ number, tick, body }) => ({ number, tick, bytes: body.length })),
    );
    this.#store.update(run);
    this.#channels.set(id, channel);
    this.#startNext();
    return run;
  }

  #channelOf(run: Run): RunChannel {
    return new RunChannel(run, this.#options.now());
  }

  #assertRoom(): void {
    if (this.#closing) throw new ServerError('SERVER_CLOSING');
    const waiting = this.#channels.size - (this.#active === undefined ? 0 : 1);
    if (waiting >= limits.runsWaitingMax) {
      throw new ServerError('RUN_QUEUE_FULL', {
        message: `Too many runs are waiting (limit ${limits.runsWaitingMax}); cancel one or try again later`,
        details: { waiting, max: limits.runsWaitingMax },
      });
    }
  }

  /** A run as JSON. Rejects with `RUN_NOT_FOUND`. */
  async json(id: string): Promise<string> {
    const run = this.#channels.get(id)?.run;
    if (run !== undefined) return JSON.stringify(run);
    return (await this.#recorded.json(id))?.run ?? this.#store.json(id);
  }

  /** A run without its points. Throws `RUN_NOT_FOUND`. */
  head(id: string): Run {
    const run = this.#channels.get(id)?.run;
    return run === undefined ? (this.#recorded.head(id) ?? this.#store.head(id)) : { ...run, points: [] };
  }

  /** A run for a file. Throws `RUN_NOT_FOUND`, `RUN_DAMAGED`. */
  export(id: string): RunToExport {
    const damaged: string[] = [];
    return {
      head: this.head(id),
      points: () => {
        damaged.length = 0;
        return this.#points(id, damaged);
      },
      damaged,
      ticks: () => this.#ticksJson(id),
    };
  }

  /** The points of a run, each read when it is requested. Those that cannot be read are named in `damaged`. */
  #points(id: string, damaged: string[]): Points {
    if (this.#recorded.has(id)) return this.#recorded.points(id);
    return this.#channels.get(id)?.run.points ?? this.#store.points(id, damaged);
  }

  /** The ticks that are kept of a run, as JSON. */
  async #ticksJson(id: string): Promise<string> {
    const channel = this.#channels.get(id);
    if (channel !== undefined) return JSON.stringify(channel.ticks.ticks);
    return (await this.#recorded.ticksJson(id)) ?? this.#store.ticksJson(id);
  }

  list(options: RunListOptions): RunList {
    return this.#store.list(options);
  }

  /** The runs that come with the lab. */
  listRecorded(): RecordedRunList {
    return { runs: this.#recorded.list() };
  }

  /**
   * A waiting run is cancelled when this returns, the active run soon after; its finished points are kept.
   * Throws `RUN_NOT_FOUND`, `RUN_NOT_ACTIVE`.
   */
  cancel(id: string): Run {
    const channel = this.#channels.get(id);
    if (channel === undefined) {
      const { status } = this.head(id);
      throw new LabError('RUN_NOT_ACTIVE', { details: { id, status } });
    }
    if (this.#active?.id === id) this.#active.abort.abort();
    else this.#cancelWaiting(channel);
    return channel.run;
  }

  /** Deletes a run that has ended, also one that cannot be read. Throws `RUN_NOT_FOUND`, `RUN_ACTIVE`, `RUN_RECORDED`. */
  remove(id: string): void {
    this.#assertOwnAndEnded(id);
    this.#store.remove(id);
    this.#options.journals.remove(id);
  }

  #assertOwnAndEnded(id: string): void {
    if (!this.#exists(id)) this.head(id); // throws
    if (this.#recorded.has(id)) throw new ServerError('RUN_RECORDED', { details: { id } });
    if (this.#channels.has(id)) throw new ServerError('RUN_ACTIVE', { details: { id } });
  }

  /** Sets a user's name, note and baseline mark of a run that has ended. Throws `RUN_NOT_FOUND`, `RUN_ACTIVE`, `RUN_RECORDED`. */
  label(id: string, labels: RunLabels): RunLabels {
    this.#assertOwnAndEnded(id);
    this.#store.label(id, labels);
    return labels;
  }

  /**
   * Adds a run that was exported elsewhere, under its id or, if that is taken, a new one. Its verdicts are kept with it and do
   * not count as this machine's. As many of its ticks are kept as for a run of this server. Throws `RUN_ACTIVE` if it had not
   * ended when it was exported.
   */
  import({ ticks = [], ...run }: ExportedRun): string {
    if (!['done', 'failed', 'cancelled'].includes(run.status))
      throw new ServerError('RUN_ACTIVE', { details: { id: run.id.slice(0, 64), status: run.status } });
    const isFree = isId(run.id) && !this.#store.has(run.id) && !this.#recorded.has(run.id);
    const id = isFree ? run.id : randomUUID();
    const history = new TickHistory(tickBounds);
    for (const tick of ticks.toSorted((a, b) => a.atMs - b.atMs))
      history.add(tick, JSON.stringify(tick).length);
    this.#store.import({ ...run, id }, history.ticks);
    return id;
  }

  /** Streams a run that has not ended to a client, see `RunChannel.follow`. Throws `RUN_NOT_FOUND` for any other. */
  follow(id: string, follower: Follower, lastEventId: number | null): () => void {
    const channel = this.#channels.get(id);
    if (channel === undefined) throw new LabError('RUN_NOT_FOUND', { details: { id } });
    return channel.follow(follower, lastEventId);
  }

  /** The whole stream of a run that has ended: a snapshot and an `end` event. Rejects with `RUN_NOT_FOUND`. */
  async endedStream(id: string): Promise<string> {
    const recorded = await this.#recorded.json(id);
    const { run, ticks } = recorded ?? {
      run: await this.#store.json(id),
      ticks: await this.#store.ticksJson(id),
    };
    return frameOf('snapshot', { run, ticks }, 0) + frameOf('end', {}, endEventId);
  }

  /** Runs that have not ended, waiting ones included. */
  get underWay(): number {
    return this.#channels.size;
  }

  hasEnded(id: string): boolean {
    this.head(id);
    return !this.#channels.has(id);
  }

  #exists(id: string): boolean {
    return this.#channels.has(id) || this.#recorded.has(id) || this.#store.has(id);
  }

  /** Cancels the active run, and resolves when it is in the history. Waiting runs go on with the next server. */
  async close(): Promise<void> {
    this.#closing = true;
    this.#active?.abort.abort();
    await this.#active?.ended;
  }

  #startNext(): void {
    if (this.#active !== undefined || this.#closing) return;
    const [channel] = this.#channels.values();
    if (channel === undefined) return;
    const abort = new AbortController();
    const ended = this.#execute(channel, abort.signal).finally(() => {
      this.#active = undefined;
      this.#startNext();
    });
    this.#active = { id: channel.run.id, abort, ended };
  }

  async #execute(channel: RunChannel, signal: AbortSignal): Promise<void> {
    const { id, scenario, scale, createdAtMs } = channel.run;
    const last = channel.ticks.ticks.at(-1);
    try {
      const run = await startRunInThread({
        id,
        scenario,
        scale,
        createdAtMs,
        studies: this.#options.studies,
        signal,
        dataDir: this.#options.scratchDir,
        journalPath: this.#options.journals.path(id),
        elapsedMs: last === undefined ? 0 : last.atMs + resumedAfterMs,
        watched: () => channel.watched,
        onEvent: (event, run) => this.#record(channel, event, run),
      });
      if (run.status === 'done') await this.#appendVerdicts(run);
    } catch (error) {
      // The lab reports its own failures as events, so an error here means that events could not be recorded.
      this.#options.onFault(error);
      this.#fail(channel, error);
    } finally {
      if (!this.#closing) this.#removeJournal(id);
    }
  }

  #removeJournal(id: string): void {
    this.#attempt(() => this.#options.journals.remove(id)); // if the file stays, the next run is started all the same
  }

  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  async #appendVerdicts(run: Run): Promise<void> {
    try {
      await this.#options.history.keep(run);
    } catch (error) {
      this.#options.onFault(error); // the run itself is in the history, with its verdicts
    }
  }

  #fail(channel: RunChannel, error: unknown): void {
    const { run } = channel;
    channel.run = {
      ...run,
      status: 'failed',
      endedAtMs: this.#options.now(),
      error: this.#options.hidePaths(mapError(error).body),
    };
    this.#channels.delete(run.id);
    channel.end();
    try {
      this.#store.update(channel.run);
    } catch {
      // The disk that refused the events may refuse this too. The next start then marks the run as interrupted.
    }
  }

  #record(channel: RunChannel, event: RunEvent, run: Run): void {
    if (run.status === 'cancelled' && this.#closing) run = { ...run, error: toBody(interrupted()) };
    if (event.type === 'status' && event.error !== undefined) {
      this.#options.onFailed(run.id, event.error);
      event = { ...event, error: this.#options.hidePaths(event.error) };
    }
    run = { ...run, error: this.#options.hidePaths(run.error) };
    channel.run = run;
    switch (event.type) {
      case 'tick':
        this.#recordTick(channel, event);
        break;
      case 'point':
        this.#store.savePoint(run.id, event.point, run.points.length);
        this.#store.update(run);
        break;
      default:
        this.#store.update(run);
    }
    if (event.type === 'end') {
      this.#channels.delete(run.id);
      channel.end();
    } else channel.publish(event);
  }

  #recordTick(channel: RunChannel, { tick }: Extract<RunEvent, { type: 'tick' }>): void {
    const body = JSON.stringify(tick);
    const { keepAs, thinTo } = channel.ticks.add(tick, body.length);
    if (keepAs !== null) this.#store.saveTick(channel.run.id, keepAs, body);
    if (thinTo !== null) this.#store.thinTicks(channel.run.id, thinTo);
  }

  #cancelWaiting(channel: RunChannel): void {
    const { run } = channel;
    channel.run = {
      ...run,
      status: 'cancelled',
      endedAtMs: this.#options.now(),
      progress: { ...run.progress, etaMs: null },
    };
    this.#store.update(channel.run);
    this.#channels.delete(run.id);
    channel.publish({ type: 'status', status: 'cancelled' });
    channel.end();
  }
}

/** Whether the text has the form of this server's run ids. */
const isId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
