/** How many messages a fair pipeline holds, from how fast its consumer takes them. */
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { PipelineWindow } from '../src/model/pipeline-window.ts';

function openWindow(messagesMaximum: number, fair = true) {
  let nowMs = 0;
  const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs };
  const window = new PipelineWindow({ messagesMaximum, fair, clock });
  /** The consumer takes all that may be sent, in so many milliseconds. */
  const takeRound = (ms: number) => {
    const messages = window.room;
    window.onSent(messages, 1);
    nowMs += ms;
    window.onTaken(messages);
    return messages;
  };
  return { window, takeRound };
}

describe('the window of a pipeline', () => {
  it('doubles while a whole one is taken in less than the target, up to the maximum', () => {
    const { takeRound } = openWindow(100);
    const fast = Array.from({ length: 6 }, () => takeRound(limits.pipelineTargetMs / 2));
    expect(fast).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('halves when that takes more than twice as long, and stays in between', () => {
    const { takeRound } = openWindow(40);
    for (let i = 0; i < 3; i += 1) takeRound(1);
    const slow = Array.from({ length: 4 }, () => takeRound(limits.pipelineTargetMs * 3));
    expect(slow).toEqual([40, 20, 10, 10]);
    takeRound(1);
    expect([1, 2].map(() => takeRound(limits.pipelineTargetMs * 1.5))).toEqual([20, 20]);
  });

  it('is the maximum from the start if it is not to be fair, or the maximum is small', () => {
    expect(openWindow(5_000, false).window.room).toBe(5_000);
    expect(openWindow(3).window.room).toBe(3);
  });

  it('closes at its bytes, until what was sent with them is taken', () => {
    const { window } = openWindow(10);
    window.onSent(2, limits.pipelineBytesMax);
    expect(window.room).toBe(0);
    window.onTaken(1);
    expect(window.room).toBe(0);
    window.onTaken(1);
    expect(window.room).toBe(10);
  });

  it('does not count the time in which there was nothing to take', () => {
    const { window, takeRound } = openWindow(100);
    window.onSent(1, 1);
    window.onTaken(1);
    for (let i = 0; i < 9; i += 1) {
      window.onSent(1, 1); // one message now and then, taken at once
      window.onTaken(1);
    }
    expect(takeRound(1)).toBe(10);
  });
});
