import { csvLine } from '@shardlab/contract';
import { describe, expect, it } from 'vitest';

describe('a line of CSV', () => {
  it('quotes what RFC 4180 requires, and nothing else', () => {
    expect(csvLine(['a', null, 1.5, '', 'b, c', 'say "hi"', 'two\nlines', 'ä ö'])).toBe(
      'a,,1.5,,"b, c","say ""hi""","two\nlines",ä ö\r\n',
    );
  });

  it.each([
    '=1+1',
    '+1+1',
    '-1+1',
    '@SUM(A1)',
    '\t=1',
    '\r=1',
    '\n=1',
    '-',
    '+5',
    '＝1+1',
    '=HYPERLINK("http://x","y")',
  ])('guards %j against running as a formula', (text) => {
    expect(csvLine([text]).replaceAll('"', '')).toMatch(/^'/);
  });

  it('keeps numbers and lists of them as they are, negative ones too', () => {
    const cells = [-1, -0.5, 1e300, -2e-9, '-1', '-0.25 0.5 -1e-7', '3'];
    expect(csvLine(cells)).toBe('-1,-0.5,1e+300,-2e-9,-1,-0.25 0.5 -1e-7,3\r\n');
  });
});
