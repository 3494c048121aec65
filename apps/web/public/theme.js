// Applies the stored theme before the first paint, so that the other theme does not flash. The page changes it later.
try {
  const theme = localStorage.getItem('shardlab-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is disabled: the preference of the system applies.
}
