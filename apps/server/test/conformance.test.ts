/** A part of `npm run conformance`: a request or two for each operation. */
import { describe, expect, it } from 'vitest';
import { installSchemathesis } from './conformance/install-schemathesis.ts';
import { runConformance } from './conformance/run-conformance.ts';

const installed = installSchemathesis({ msMax: 60_000 });
const reason = 'missing' in installed ? ` (skipped: ${installed.missing})` : '';

describe.skipIf('missing' in installed)(`the server${reason}`, () => {
  it('answers generated requests as the description of the API says', async () => {
    const { program } = installed as { program: string };
    const { ok, output, cases } = await runConformance({
      program,
      seed: 1,
      phases: ['fuzzing'],
      casesPerOperation: 1,
      msMax: 200_000,
    });
    expect(ok, output).toBe(true);
    expect(cases).toBeGreaterThan(50);
  }, 240_000);
});
