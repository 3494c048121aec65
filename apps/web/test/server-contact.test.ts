import { describe, expect, it } from 'vitest';
import { ServerContact } from '../src/api/server-contact.ts';

function contactAt(startMs: number) {
  let nowMs = startMs;
  const contact = new ServerContact(() => nowMs);
  const changes: (number | null)[] = [];
  contact.subscribe(() => changes.push(contact.lostSinceMs()));
  const at = (ms: number) => {
    nowMs = ms;
  };
  return { contact, changes, at };
}

describe('contact with the server', () => {
  it('counts as lost since the last answer, not since the first failed call', () => {
    const { contact, changes, at } = contactAt(100);
    const calls = contact.source();
    at(200);
    calls.heard();
    at(3_200);
    calls.missed();
    expect(contact.lostSinceMs()).toBe(200);
    at(5_200);
    calls.missed();
    expect(contact.lostSinceMs(), 'still').toBe(200);
    calls.heard();
    expect(changes).toEqual([200, null]);
  });

  it('is lost until every source with a failed call has had an answer again, or has ended', () => {
    const { contact, at } = contactAt(0);
    const [calls, run, cluster] = [contact.source(), contact.source(), contact.source()];
    at(1_000);
    calls.heard();
    run.missed();
    cluster.missed();
    at(2_000);
    calls.heard();
    run.heard();
    expect(contact.lostSinceMs()).toBe(1_000);
    cluster.close();
    expect(contact.lostSinceMs()).toBeNull();
  });

  it('counts as lost since the page was opened if there was no answer yet', () => {
    const { contact } = contactAt(50);
    contact.source().missed();
    expect(contact.lostSinceMs()).toBe(50);
  });
});
