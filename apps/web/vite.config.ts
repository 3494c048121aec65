import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    // Assets are files, never inlined: the server sends a content policy without data: for scripts and styles.
    assetsInlineLimit: 0,
    rolldownOptions: {
      // Libraries change seldom: a file of their own stays in the browser's cache when the dashboard changes.
      // The text editor has one too, which only the page that shows it loads.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'text-editor',
              test: /node_modules\/(@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname)\//,
              priority: 2,
            },
            { name: 'libraries', test: /node_modules/, priority: 1 },
          ],
        },
      },
    },
  },
  // For work on the dashboard itself: `vite apps/web` beside a running server.
  server: { proxy: { '/api': 'http://127.0.0.1:7070' } },
});
