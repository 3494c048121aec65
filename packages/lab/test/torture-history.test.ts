/** What the torture test records: payloads that name their message, and the histories of its processes. */
import { monotonicNs, Recorder } from '@shardlab/history';
import { describe, expect, it } from 'vitest';
import { FolderHistory } from '../src/torture/processes/folder-history.ts';
import { parseMoment } from '../src/torture/processes/history-pipe.ts';
import { itemPayload, readItem } from '../src/torture/workloads/item.ts';

describe('a payload', () => {
  it('names its item, and none if a byte of it changed', () => {
    const payload = Buffer.from(itemPayload('s.0', 40));
    expect(readItem(payload)).toBe('s.0');
    for (let at = 0; at < payload.length; at += 1) {
      const damaged = Buffer.from(payload);
      damaged[at] = damaged[at]! ^ 1;
      expect(readItem(damaged)).toBeUndefined();
    }
  });
});

describe('the history of a folder', () => {
  /** The record of a process that was killed after it enqueued two messages and received one of them. */
  function killedProcess() {
    const historyLines: string[] = [];
    const recorder = new Recorder({ process: 'a', write: (line) => historyLines.push(line.trimEnd()) });
    const enqueues = ['s.0', 's.1'].map((message) => ({ queue: 'q', message, stream: 's' }));
    recorder.begin({ type: 'transaction', session: 's', enqueues, consumes: [] }).end('ok');
    recorder
      .begin({ type: 'delivery', queue: 'q', max: 1, messages: [] })
      .end('ok', { messages: [{ message: 's.0' }] });
    return { historyLines, endedAtNs: monotonicNs(), failureText: undefined };
  }

  it('is legal if all messages are found after a kill, and counts what is new since the last inspection', async () => {
    const history = new FolderHistory();
    history.addProcess(killedProcess(), 'a');
    await history.inspect(async () => [{ queue: 'q', messages: [{ message: 's.0' }, { message: 's.1' }] }]);
    expect(history.takeTotals()).toEqual({
      commits: 1,
      enqueued: 2,
      consumed: 0,
      violations: [],
      failed: [],
    });
    expect(history.takeTotals()).toMatchObject({ commits: 0, enqueued: 0 });
  });

  it('is illegal if a message is lost or a payload is unreadable', async () => {
    const history = new FolderHistory();
    history.addProcess(killedProcess(), 'a');
    history.recordUnreadable('q', '100.3');
    await history.inspect(async () => [{ queue: 'q', messages: [{ message: 's.1' }] }]);
    const { violations } = history.takeTotals();
    expect(violations).toHaveLength(1);
    expect(violations[0]).toContain('ILLEGAL: damage 1, loss 1');
  });

  it('reports the error of a process once', () => {
    const history = new FolderHistory();
    history.addProcess({ ...killedProcess(), failureText: 'broken' }, 'a');
    expect(history.takeTotals().failed).toEqual(['broken']);
    expect(history.takeTotals().failed).toEqual([]);
  });
});

it('distinguishes lines about a process from lines of its history', () => {
  expect(parseMoment('{"moment":"failed","text":"why"}')).toEqual({ moment: 'failed', text: 'why' });
  expect(parseMoment('{"id":"a.1","type":"lease"}')).toBeUndefined();
});
