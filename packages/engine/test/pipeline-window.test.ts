/** The size of a fair pipeline depends on how fast its consumer takes messages. */
import { describe, expect, it } from 'vitest';
import { limits } from '../src/api/limits.ts';
import { PipelineWindow } from '../src/model/pipeline-window.ts';

function openWindow(messagesMaximum: number, fair = true) {
  let nowMs = 0;
  const clock = { epochMs: () => nowMs, monotonicMs: () => nowMs };
  const window = new PipelineWindow({ messagesMaximum, fair, clock });
  /** Sends as many messages as the window allows; the consumer takes them in so many milliseconds. */
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
  it('doubles while its messages are taken within the target time, up to the maximum', () => {
    const { takeRound } = openWindow(100);
    const fast = Array.from({ length: 6 }, () => takeRound(limits.pipelineTargetMs / 2));
    expect(fast).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('halves when they take more than twice the target time, and stays the same in between', () => {
    const { takeRound } = openWindow(40);
    for (let i = 0; i < 3; i += 1) takeRound(1);
    const slow = Array.from({ length: 4 }, () => takeRound(limits.pipelineTargetMs * 3));
    expect(slow).toEqual([40, 20, 10, 10]);
    takeRound(1);
    expect([1, 2].map(() => takeRound(limits.pipelineTargetMs * 1.5))).toEqual([20, 20]);
  });

  it('is the maximum from the start if the pipeline is not fair or the maximum is small', () => {
    expect(openWindow(5_000, false).window.room).toBe(5_000);
    expect(openWindow(3).window.room).toBe(3);
  });

  it('closes at its limit of bytes, until the messages sent so far are taken', () => {
    const { window } = openWindow(10);
    window.onSent(2, limits.pipelineBytesMax);
    expect(window.room).toBe(0);
    window.onTaken(1);
    expect(window.room).toBe(0);
    window.onTaken(1);
    expect(window.room).toBe(10);
  });

  it('does not count time in which there was nothing to take', () => {
    const { window, takeRound } = openWindow(100);
    window.onSent(1, 1);
    window.onTaken(1);
    for (let i = 0; i < 9; i += 1) {
      window.onSent(1, 1); // A single message now and then is taken at once.
      window.onTaken(1);
    }
    expect(takeRound(1)).toBe(10);
  });
});
