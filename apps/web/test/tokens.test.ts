/** The palette: text is readable in both themes, and colour-blind people can tell the two systems apart. */
import { expect, test } from 'vitest';
import { resolveTokens, themeValue } from '../src/charts/svg-document.ts';
import { designTokens } from './fixtures/svg-page.ts';

const tokens = designTokens();
const themes = ['light', 'dark'] as const;
const color = (name: string, theme: 'light' | 'dark') => themeValue(tokens.get(name) ?? '', theme);

type Rgb = [number, number, number];

function linear(hex: string): Rgb {
  expect(hex).toMatch(/^#[0-9a-f]{6}$/);
  return [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as Rgb;
}

/** The relative luminance of a colour, as WCAG 2.2 defines it. */
const luminance = ([red, green, blue]: Rgb) => 0.2126 * red + 0.7152 * green + 0.0722 * blue;

function contrast(a: string, b: string): number {
  const [high, low] = [luminance(linear(a)), luminance(linear(b))].sort((x, y) => y - x) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const textTokens = [
  '--ink',
  '--ink-2',
  '--ink-3',
  '--accent',
  '--bad',
  '--sharded',
  '--unsharded',
  '--grouped',
  '--unsharded-once',
  '--grouped-once',
  '--line-olive',
  '--line-magenta',
  '--holds',
  '--finding',
];

test.each(themes)('text has a contrast of at least 4.5 on every background, %s', (theme) => {
  for (const name of textTokens)
    for (const background of ['--page', '--surface', '--well'])
      expect(
        contrast(color(name, theme), color(background, theme)),
        `${name} on ${background}`,
      ).toBeGreaterThanOrEqual(4.5);
  expect(contrast(color('--on-accent', theme), color('--accent', theme))).toBeGreaterThanOrEqual(4.5);
});

test.each(themes)('areas of wait classes stand out from the background, %s', (theme) => {
  for (const name of tokens.keys())
    if (name.startsWith('--wait-'))
      expect(contrast(color(name, theme), color('--surface', theme)), name).toBeGreaterThanOrEqual(2.2);
});

/** Simulated colour vision of dichromats, after Viénot, Brettel and Mollon (1999), from linear RGB to linear RGB. */
const eyes: Record<string, (rgb: Rgb) => Rgb> = {
  protanope: ([r, g, b]) => [0.1121 * r + 0.8853 * g - 0.0005 * b, 0.1127 * r + 0.8897 * g, 0.0045 * r + b],
  deuteranope: ([r, g, b]) => [
    0.2927 * r + 0.7054 * g - 0.0003 * b,
    0.2934 * r + 0.7089 * g,
    -0.02098 * r + 0.02559 * g + b,
  ],
};

test.each(
  themes.flatMap((theme) =>
    [
      ['--sharded', '--unsharded'],
      ['--sharded', '--grouped'],
      ['--unsharded', '--grouped'],
    ].map(([one, other]) => [one!, other!, theme] as const),
  ),
)('%s and %s differ to colour-blind eyes, %s', (one, other, theme) => {
  for (const see of Object.values(eyes)) {
    const [a, b] = [see(linear(color(one, theme))), see(linear(color(other, theme)))];
    const distance = Math.hypot(...a.map((value, index) => value - b[index]!));
    expect(distance).toBeGreaterThan(0.25);
  }
});

test('a theme token is replaced by its value in the theme, other values are kept', () => {
  expect(themeValue('light-dark(#fff, #000)', 'dark')).toBe('#000');
  expect(themeValue(' 8px ', 'dark')).toBe('8px');
  expect(resolveTokens('fill="var(--a)" stroke="none"', () => '#123456')).toBe(
    'fill="#123456" stroke="none"',
  );
});
