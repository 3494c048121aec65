/** Headers of every answer. The dashboard loads nothing from elsewhere and runs no inline script; this holds it to that. */
import type { FastifyReply } from 'fastify';

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // Pictures of charts are made in the page: an SVG as data, drawn to a canvas.
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
    // Figures change by the second; the dashboard's files set their own.
    'cache-control': 'no-store',
  });
}
