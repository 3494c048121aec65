/**
 * Executes runs one at a time, because two measurements must not share the machine, and each in its own thread, so that it does
 * not delay the queues. A run's rows are written as its events arrive. Clients follow it through its channel, which exists until
 * the run has ended. The largest run has megabytes of JSON, so those that have ended are sent as they are stored, and exported
 * point by point.
 */
import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type {
  ErrorBody,
  Point,
  RecordedRunList,
  Run,
  RunEvent,
  RunLabels,
  RunList,
  Scale,
  Scenario,
  Tick,
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
import { type Follower, RunChannel } from './run-channel.ts';
import type { RunFiles, RunFormat } from './run-files.ts';
import type { RunJournals } from './run-journals.ts';

export interface RunServiceOptions {
  hidePaths: HidePaths;
  store: RunStore;
  recorded: RecordedRuns;
  files: RunFiles;
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
  async resume(id: string): Promise<Run> {
    const points: Point[] = [];
    for (const point of this.#store.points(id)) {
      points.push(point);
      await nextTurn(); // a server shares its thread with its queues
    }
    const { scenario, scale, createdAtMs, startedAtMs, claims, error } = this.head(id);
    if (this.#channels.has(id) || error?.code !== 'RUN_INTERRUPTED' || !this.#options.journals.has(id))
      throw new ServerError('RUN_NOT_RESUMABLE', { details: { id } });
    this.#assertRoom();
    const { studies } = this.#options;
    assertSystemsAvailable(scenario, scale, { studies, ignoreInstallable: true });
    const run = { ...newRun({ id, scenario, scale, createdAtMs, studies }), startedAtMs, points, claims };
    const channel = this.#channelOf(run);
    channel.ticks.restore(Array.from(this.#store.ticks(id), ({ number, body }) => ({ number, json: body })));
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

  /** A run without its points. Throws `RUN_NOT_FOUND`. */
  head(id: string): Run {
    const run = this.#channels.get(id)?.run;
    return run === undefined ? (this.#recorded.head(id) ?? this.#store.head(id)) : { ...run, points: [] };
  }

  /** The text of a run, in pieces; `stored`: as JSON without white space or ticks. Throws `RUN_NOT_FOUND`, `RUN_DAMAGED`. */
  write(id: string, format: RunFormat): AsyncGenerator<string> {
    const source = this.#recorded.has(id) ? this.#recorded : this.#store;
    return this.#options.files.write(format, {
      head: { ...this.head(id), points: [] },
      pointsJson: () => source.pointsJson(id),
      ticksJson: () => this.#ticksJson(id),
      onDamage: (number, damage) => this.#store.tellPoint(id, number, damage),
    });
  }

  /** The ticks that are kept of a run, as JSON. */
  async #ticksJson(id: string): Promise<string> {
    const channel = this.#channels.get(id);
    if (channel !== undefined) return channel.ticks.json;
    return (await this.#recorded.ticksJson(id)) ?? this.#store.ticksJson(id);
  }

  list(options: RunListOptions): Promise<RunList> {
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
    this.#channels.get(id)?.end();
    this.#channels.delete(id);
    this.#store.remove(id);
    this.#options.journals.remove(id);
  }

  #assertOwnAndEnded(id: string): void {
    if (!this.#exists(id)) this.head(id); // throws
    if (this.#recorded.has(id)) throw new ServerError('RUN_RECORDED', { details: { id } });
    // Its last status comes a moment before its end.
    const status = this.#channels.get(id)?.run.status;
    if (status === 'queued' || status === 'running') throw new ServerError('RUN_ACTIVE', { details: { id } });
  }

  /** Sets a user's name, note and baseline mark of a run that has ended. Throws `RUN_NOT_FOUND`, `RUN_ACTIVE`, `RUN_RECORDED`. */
  label(id: string, labels: RunLabels): RunLabels {
    this.#assertOwnAndEnded(id);
    this.#store.label(id, labels);
    return labels;
  }

  /**
   * Adds a run that was exported elsewhere, under its id or, if that is taken, a new one. Its verdicts are kept with it and do
   * not count as this machine's. As many of its ticks are kept as for a run of this server. `body` is given away. Rejects with what
   * `RunFiles.read` rejects with.
   */
  async import(body: Uint8Array, contentType: string): Promise<string> {
    const read = await this.#options.files.read(body, contentType);
    const { id: given } = read.head;
    const isFree = isId(given) && !this.#store.has(given) && !this.#recorded.has(given);
    const id = isFree ? given : randomUUID();
    this.#store.import({ ...read, head: { ...read.head, id } });
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
    const lastTick = channel.ticks.kept.at(-1);
    const last = lastTick === undefined ? undefined : (JSON.parse(lastTick.json) as Tick);
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
    if (this.#channels.get(run.id) !== channel) return; // deleted between its last status and its end
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
    const { keepAs, thinTo } = channel.ticks.add(body);
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
