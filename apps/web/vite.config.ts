import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  build: {
    target: 'es2023',
    // Assets are files, never inlined: the server sends a content policy without data: for scripts and styles.
    assetsInlineLimit: 0,
  },
  // For work on the dashboard itself: `vite apps/web` beside a running server.
  server: { proxy: { '/api': 'http://127.0.0.1:7070' } },
});
