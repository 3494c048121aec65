import { expect, it } from 'vitest';
import { presenterZoom } from '../src/model/presenter-zoom.ts';

it('enlarges the board until it fills the screen in one direction, and never shrinks it', () => {
  expect(presenterZoom(2_120, 2_000)).toBe(2);
  expect(presenterZoom(5_000, 1_300)).toBe(2);
  expect(presenterZoom(390, 844)).toBe(1);
});
