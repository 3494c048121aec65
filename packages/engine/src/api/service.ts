/** Singleton services: objects that are active in one process of a cluster at a time. */
import type { Session } from './session.ts';

/** A value as JSON has it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/**
 * A service as an application writes it. It is active where its instance is hosted: in the instance's own process, or in the
 * one that has taken the instance over. The process before is dead or has deactivated it by then.
 */
export interface SingletonService {
  /** Called when this process gets the service. If it throws or takes over 10 s the service has failed and is tried again. */
  activate(context: ServiceContext): void | Promise<void>;
  /**
   * Called once after `activate` was called, when the service leaves this process in order or has failed. It gets 3 s, with the
   * call that is under way; then its sessions are closed, so that what the service still does can write nothing. A killed process
   * calls nothing.
   */
  deactivate(): void | Promise<void>;
  /**
   * Calls for clients in any process, by name. One call runs at a time, in the order of arrival; a call that throws changes
   * nothing for the next. An argument or result has at most 256 KiB of JSON.
   */
  readonly calls?: Readonly<Record<string, ServiceCall>>;
}

export type ServiceCall = (argument: Json) => Json | undefined | Promise<Json | undefined>;

/** The function that a service's module exports under this name. */
export type CreateService = (options: Json) => SingletonService;

/** `State` is the JSON that the service itself writes with `ServiceSession.writeState`. */
export interface ServiceContext<State extends Json = Json> {
  readonly name: string;
  readonly instance: number;
  /** The epoch of the instance: nothing can be written under an earlier one. */
  readonly epoch: number;
  /** Aborted when the service is about to be deactivated, or its instance has ended. */
  readonly signal: AbortSignal;
  /** The service's state as of its last commit, in any process; undefined before the first. */
  readonly state: State | undefined;
  /** A session of the instance, in this process. It is the service's to close. */
  openSession(): ServiceSession;
  /** Epoch ms of the wall clock. */
  nowMs(): number;
  /** Resolves after `ms` milliseconds, or when `signal` is aborted. */
  pause(ms: number): Promise<void>;
  /** For a service that cannot continue: it is deactivated, and activated again after a pause of 0.1 s that doubles up to 5 s. */
  fail(error: unknown): void;
}

export interface ServiceSession extends Session {
  /**
   * Stages the service's state, at most 256 KiB of JSON: it replaces the previous state when the session commits, together with
   * the messages of the transaction. Throws `SERVICE_STATE_TOO_LARGE`, `OPTIONS_INVALID`; the commit of a process that no longer
   * hosts the instance is refused with `INSTANCE_FENCED`.
   */
  writeState(state: Json): void;
}

/** The definition of a service in a cluster. Every process must get the same. */
export interface ServiceSpec {
  /** 1 to 100 letters, digits, `.`, `_` and `-`; unique in the cluster. */
  name: string;
  /**
   * The preferred instance, default 1: the service is active in its own process while that runs, and goes with the instance
   * to the process that takes it over. Its state is in the instance's file.
   */
  preferred?: number;
  /** `timer`, `folder-poller`, or the path or file URL of a module that exports `createService` (`CreateService`). */
  module: string;
  /** Passed to `createService`. */
  options?: Json;
}

export type ServiceStatus = 'activating' | 'active' | 'deactivating' | 'failed' | 'inactive';

export interface ServiceInfo {
  name: string;
  /** Its preferred instance, which reports it. */
  preferred: number;
  status: ServiceStatus;
  /** Epoch of the instance's opening. */
  epoch: number;
  /** The process, and the instance that it belongs to. */
  holder: { pid: number; instance: number };
  /** Since when the service is active, epoch ms; null while it is not. */
  sinceMs: number | null;
  /** Names of its calls. */
  calls: string[];
  /** Why it was deactivated last, if it failed. */
  failure: { code: string; message: string } | null;
  /** Its last 100 activations, oldest first, in all processes. */
  history: ServiceTenure[];
}

/** One activation of a service. */
export interface ServiceTenure {
  /** From 1. */
  number: number;
  epoch: number;
  pid: number;
  /** The instance that the process belongs to. */
  host: number;
  /** Epoch ms. */
  activatedAtMs: number;
  /** Epoch ms; null while it lasts, and if its process was killed. */
  deactivatedAtMs: number | null;
}
