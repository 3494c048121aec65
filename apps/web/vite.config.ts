import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { firstLoad } from './first-load.ts';
import { precompress } from './precompress.ts';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), firstLoad(), precompress()],
  build: {
    target: 'es2023',
    // Assets are files, never inlined: the server sends a content policy without data: for scripts and styles.
    assetsInlineLimit: 0,
    rolldownOptions: {
      // Schemas of the contract that no page reads are left out: making one has no effect, nor has the contract's `nullable`.
      // Helpers of one file say so where they are defined.
      treeshake: {
        manualPureFunctions: ['Type', 'nullable'],
        propertyReadSideEffects: false,
        moduleSideEffects: [{ test: /node_modules\/typebox\//, sideEffects: false }],
      },
      // Libraries of every page change seldom: a file of their own stays in the browser's cache when the dashboard changes.
      // Those of some pages have theirs.
      output: {
        codeSplitting: {
          groups: [
            {
              name: 'text-editor',
              test: /node_modules\/(@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname)\//,
              priority: 2,
            },
            {
              name: 'libraries',
              test: /node_modules\/(react|react-dom|scheduler|use-sync-external-store|d3-\w+|@tanstack\/(react-query|query-core|react-router|router-core|history|store|react-store))\//,
              priority: 1,
            },
          ],
        },
      },
    },
  },
  // For work on the dashboard itself: `vite apps/web` beside a running server.
  server: { proxy: { '/api': 'http://127.0.0.1:7070' } },
});
