import { useState } from 'react';

const themes = ['system', 'light', 'dark'] as const;
type Theme = (typeof themes)[number];
const storageKey = 'shardlab-theme';

function storedTheme(): Theme {
  const { theme } = document.documentElement.dataset;
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  try {
    if (theme === 'system') localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, theme);
  } catch {
    // Storage is disabled: the choice lasts until the page is closed.
  }
}

/**
 * Cycles through system, light and dark. The browser stores the choice; `public/theme.js` applies it before the first
 * paint.
 */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length]!;
  return (
    <button
      type="button"
      className="button button-quiet"
      aria-label={`Theme: ${theme}. Switch to ${next}`}
      onClick={() => {
        applyTheme(next);
        setTheme(next);
      }}
    >
      <svg width="14" height="14" viewBox="0 0 14 14" aria-hidden="true">
        <circle cx="7" cy="7" r="5.75" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M7 1.25a5.75 5.75 0 0 1 0 11.5z" fill="currentColor" />
      </svg>
      {theme[0]!.toUpperCase() + theme.slice(1)}
    </button>
  );
}
