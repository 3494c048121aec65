/** Wait events of the load generator and its clients; those of the queues are the engine's. */
import { registerWaitEvent, waitingForMessages } from '@shardlab/engine';

/** An event of the engine, which clients of other systems are in too. */
export { waitingForMessages };

export const flowControl = registerWaitEvent({
  name: 'flow control',
  class: 'configuration',
  standsFor: null,
  about: "an enqueuer of the lab pauses, because its instance's backlog exceeds the scenario's bound",
});

export const clientRoundTrip = registerWaitEvent({
  name: 'client round trip',
  class: 'network',
  standsFor: 'SQL*Net message from client',
  about: 'an injected delay before each call of a session',
  emulated: true,
  isIdle: true,
});

export const otherBranch = registerWaitEvent({
  name: 'other branch',
  class: 'idle',
  standsFor: null,
  about:
    'a session of the lab waits for the other branch of its transaction, or, once its own work is done, for the other sessions',
});

export const waitingForWork = registerWaitEvent({
  name: 'waiting for work',
  class: 'idle',
  standsFor: 'SQL*Net message from client',
  about:
    'a session of the lab that has nothing to do: its program works with another of its sessions, or its next transaction is not due',
});

export const retryPause = registerWaitEvent({
  name: 'retry pause',
  class: 'idle',
  standsFor: null,
  about: 'a session of the lab, before it repeats a transaction that a failover or a conversion undid',
});

export const serverCall = registerWaitEvent({
  name: 'server call',
  class: 'network',
  standsFor: null,
  about:
    'a call to a server: of a remote session, or of the client of another system; from sending until its program continues',
});

export const libraryCall = registerWaitEvent({
  name: 'library call',
  class: 'commit',
  standsFor: null,
  about:
    "a call of another system's library that does its work on the caller's thread: CPU and writes, which it does not tell apart",
});
