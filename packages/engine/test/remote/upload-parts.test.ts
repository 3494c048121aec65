/** Parts of a payload between the socket and the upload: they are in order, few at a time, and no waiting call is left behind. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../src/api/limits.ts';
import { UploadParts } from '../../src/server/upload-parts.ts';
import { code } from './serving.ts';

const part = (text: string) => Buffer.from(text);

describe('parts of an upload', () => {
  it('are read completely and in order, and never more than the maximum are buffered', async () => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.nat(12), async (scheduler, count) => {
        const parts = new UploadParts();
        let heldMost = 0;
        const sent = Array.from({ length: count }, (_, index) => `part ${index}`);
        const send = async () => {
          await parts.whenStarted;
          const unanswered: Promise<void>[] = [];
          for (const each of sent) {
            if (unanswered.length === limits.uploadPartsMax) await unanswered.shift();
            await scheduler.schedule(Promise.resolve());
            unanswered.push(parts.push(part(each)));
            heldMost = Math.max(heldMost, parts.bufferedParts);
          }
          await Promise.all(unanswered);
          parts.end();
        };
        const taken: string[] = [];
        const take = async () => {
          for await (const each of parts) {
            taken.push(each.toString());
            await scheduler.schedule(Promise.resolve());
          }
        };
        await scheduler.waitFor(Promise.all([send(), take()]));
        expect(taken).toEqual(sent);
        expect(heldMost).toBeLessThanOrEqual(limits.uploadPartsMax);
        expect(parts.bufferedParts).toBe(0);
      }),
    );
  });

  it('are refused past the maximum without an answer, after the end, and if empty or too large', async () => {
    const parts = new UploadParts();
    for (let i = 0; i < limits.uploadPartsMax; i += 1) parts.push(part('a')).catch(() => undefined);
    await expect(parts.push(part('one too many'))).rejects.toThrow(code('PROTOCOL_INVALID'));
    for (const wrong of [Buffer.alloc(0), Buffer.alloc(limits.chunkBytes + 1)]) {
      await expect(new UploadParts().push(wrong)).rejects.toThrow(code('PROTOCOL_INVALID'));
    }
    const ended = new UploadParts();
    ended.end();
    await expect(ended.push(part('late'))).rejects.toThrow(code('PROTOCOL_INVALID'));
  });

  it('that are pending or arrive later are answered with the error of a failed upload', async () => {
    const parts = new UploadParts();
    const pieces = parts[Symbol.asyncIterator]();
    const given = parts.push(part('given'));
    await pieces.next();
    const waiting = parts.push(part('waiting'));
    parts.fail(new Error('disk'));
    parts.fail(new Error('a second one'));
    for (const each of [given, waiting, parts.push(part('later')), pieces.next()]) {
      await expect(each).rejects.toThrow('disk');
    }
    expect(parts.bufferedParts).toBe(0);
  });

  it('reject a waiting caller when the upload fails, whether or not it had begun', async () => {
    const parts = new UploadParts();
    const next = parts[Symbol.asyncIterator]().next();
    parts.fail(new Error('given up'));
    await expect(next).rejects.toThrow('given up');
    await parts.whenStarted; // The upload has begun.
    const refused = new UploadParts();
    refused.fail(new Error('too many'));
    await expect(refused.whenStarted).rejects.toThrow('too many');
  });
});
