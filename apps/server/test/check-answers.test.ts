import { ErrorBody, Id } from '@shardlab/contract';
import fastify from 'fastify';
import Type from 'typebox';
import { expect, it } from 'vitest';
import { takeDifferences } from './check-answers.ts';

it('the check finds an undocumented status, a wrong content type, an unknown field and a missing one', async () => {
  const app = fastify();
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  const response = { 200: Id, 204: Type.Null(), 404: ErrorBody };
  const answers: [url: string, status: number, body: unknown, type?: string][] = [
    ['/right', 200, { id: 'a' }],
    ['/nothing', 204, null],
    ['/undocumented', 201, { id: 'a' }],
    ['/more', 200, { id: 'a', name: 'b' }],
    ['/less', 404, { code: 'A', message: 'b' }],
    ['/text', 200, 'a', 'text/plain'],
  ];
  for (const [url, status, body, type = 'application/json'] of answers) {
    app.get(url, { schema: { response } }, async (_request, reply) =>
      reply
        .code(status as 200)
        .type(type)
        .send(body as never),
    );
  }
  for (const [url] of answers) await app.inject({ url });
  expect(takeDifferences().map((line) => line.replace(/ in \{.*/, ''))).toEqual([
    'GET /undocumented answers 201: the status is not documented',
    'GET /more answers 200: data must NOT have additional properties',
    "GET /less answers 404: data must have required property 'retryable'",
    'GET /text answers 200: the content type "text/plain" is not documented',
  ]);
});
