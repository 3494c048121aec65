/** Headers of every response. They enforce that the dashboard loads nothing from other hosts and runs no inline script. */
import type { FastifyReply } from 'fastify';

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The page exports charts as images: an SVG in a data URL, drawn onto a canvas.
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export function setSecurityHeaders(reply: FastifyReply): void {
  reply.headers({
    'content-security-policy': contentSecurityPolicy,
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    // Metrics change every second. The dashboard's files set their own header.
    'cache-control': 'no-store',
  });
}
