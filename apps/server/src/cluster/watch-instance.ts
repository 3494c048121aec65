/** Watches the instance inside the server's own process, which no other process can replace if it fails or hangs. */
import type { Instance, QueueError } from '@shardlab/engine';

const checkMs = 250;

/**
 * Calls back once when the instance has stopped serving: its storage failed, another process claimed it, or its writer thread has
 * not answered for too long. Returns a function that ends the watch.
 */
export function watchInstance(
  instance: Pick<Instance, 'unhealthyReason'>,
  onUnrecoverable: (error: QueueError) => void,
): () => void {
  let lastCheckMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // This process stood still: the answer of the writer may be here, behind this timer in the event loop.
    const isLate = nowMs - lastCheckMs > 2 * checkMs;
    lastCheckMs = nowMs;
    const reason = isLate ? undefined : instance.unhealthyReason();
    if (reason === undefined) return;
    clearInterval(timer);
    if (reason.code !== 'INSTANCE_CLOSED') onUnrecoverable(reason);
  }, checkMs);
  timer.unref();
  return () => clearInterval(timer);
}
