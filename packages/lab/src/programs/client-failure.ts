/** Ends a client process with its trial, and reports its failures to the trial. */

export interface ClientFailure {
  type: 'failed';
  message: string;
  code: string | undefined;
  stack: string | undefined;
}

export function sendToTrial<Message extends { type: string }>(message: Message | ClientFailure): void {
  if (process.connected) process.send!(message);
}

export function failTrial(error: unknown): void {
  const { message, code, stack } = error as Error & { code?: unknown };
  sendToTrial({
    type: 'failed',
    message: message ?? String(error),
    code: typeof code === 'string' ? code : undefined,
    stack,
  });
}

/** Call it once at the start of the process: every later failure is reported. */
export function bindToTrial(): void {
  process.on('disconnect', () => process.exit(0));
  process.on('SIGINT', () => {});
  process.on('uncaughtException', failTrial);
  process.on('unhandledRejection', failTrial);
}
