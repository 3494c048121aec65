import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { retryDelay, retryWhileUnreachable } from './api/queries.ts';
import { router } from './router.tsx';
import './styles/index.css';

const queryClient = new QueryClient({
  // networkMode: the server runs on this machine, so it is reachable even while the browser is offline.
  defaultOptions: {
    queries: { retry: retryWhileUnreachable, retryDelay, networkMode: 'always', staleTime: 1_000 },
    mutations: { networkMode: 'always' },
  },
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
