// Runs before the first paint, so that a chosen theme does not flash the other one. The page's own code changes it later.
try {
  const theme = localStorage.getItem('shardlab-theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // Storage is off: the system's preference stands.
}
