/** Shows progress: on a terminal as one line that is rewritten, otherwise as one line per trial. */
import type { Progress, Tick } from '@shardlab/contract';
import { durationInWords } from './duration.ts';

const barWidth = 24;

export function progressBar(progress: Progress): string {
  const share = progress.total === 0 ? 1 : progress.done / progress.total;
  const filled = Math.round(share * barWidth);
  const eta = progress.etaMs === null ? '' : `  about ${durationInWords(progress.etaMs)} left`;
  const again = progress.measuredAgain === undefined ? '' : ` + ${progress.measuredAgain} again`;
  return `[${'█'.repeat(filled)}${'·'.repeat(barWidth - filled)}] ${progress.done}/${progress.total}${again}${eta}`;
}

export class ProgressLine {
  readonly #out: NodeJS.WriteStream;
  #progress: Progress | null = null;
  #rate = '';

  constructor(out: NodeJS.WriteStream) {
    this.#out = out;
  }

  progress(progress: Progress): void {
    this.#progress = progress;
    this.#rate = '';
    if (this.#out.isTTY) this.#draw();
    else if (progress.current !== undefined)
      this.#out.write(`${progressBar(progress)}  ${progress.current}\n`);
  }

  tick(tick: Tick): void {
    const rate = tick.instances.reduce((sum, instance) => sum + instance.dequeuePerSec, 0);
    this.#rate = `  ${rate.toLocaleString('en-US')} dequeues/s`;
    if (this.#out.isTTY) this.#draw();
  }

  /** Erases the line so that other output can be written. */
  clear(): void {
    if (this.#out.isTTY) this.#out.write('\r\x1b[2K');
  }

  #draw(): void {
    if (this.#progress === null) return;
    const current = this.#progress.current === undefined ? '' : `  ${this.#progress.current}`;
    const line = `${progressBar(this.#progress)}${current}${this.#rate}`;
    this.#out.write(`\r\x1b[2K${line.slice(0, Math.max(20, (this.#out.columns || 80) - 1))}`);
  }
}
