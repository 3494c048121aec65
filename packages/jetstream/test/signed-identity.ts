/** An operator, an account and a user, each with a key pair and signed by the previous one, like those that `nsc` creates. */
import { createHash } from 'node:crypto';
import { createAccount, createOperator, createUser, type KeyPair } from '@nats-io/nkeys';

export interface SignedIdentity {
  /** Configuration lines of a server that trusts the operator. */
  configuration: string;
  /** Content of the user's `.creds` file. */
  credentials: string;
}

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

function sign(issuer: KeyPair, subject: KeyPair, name: string, nats: Record<string, unknown>): string {
  const claims = { iat: 1_700_000_000, iss: issuer.getPublicKey(), name, sub: subject.getPublicKey(), nats };
  const jti = createHash('sha256').update(JSON.stringify(claims)).digest('hex');
  const signed = `${encode({ typ: 'JWT', alg: 'ed25519-nkey' })}.${encode({ jti, ...claims })}`;
  const signature = Buffer.from(issuer.sign(new TextEncoder().encode(signed))).toString('base64url');
  return `${signed}.${signature}`;
}

export function signedIdentity(): SignedIdentity {
  const [operator, system, account, user] = [
    createOperator(),
    createAccount(),
    createAccount(),
    createUser(),
  ];
  const unlimited = { subs: -1, conn: -1, leaf: -1, imports: -1, exports: -1, data: -1, payload: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const operatorToken = sign(operator, operator, 'operator', { type: 'operator', version: 2 });
  // JetStream does not start without a system account, which cannot use it itself.
  const systemToken = sign(operator, system, 'system', {
    type: 'account',
    version: 2,
    limits: { ...unlimited, wildcards: true },
  });
  const accountToken = sign(operator, account, 'account', {
    type: 'account',
    version: 2,
    limits: { ...unlimited, wildcards: true, ...storage },
  });
  const userToken = sign(account, user, 'user', {
    type: 'user',
    version: 2,
    subs: -1,
    data: -1,
    payload: -1,
    pub: {},
    sub: {},
  });
  const seed = new TextDecoder().decode(user.getSeed());
  return {
    configuration: [
      `operator: ${operatorToken}`,
      `system_account: ${system.getPublicKey()}`,
      'resolver: MEMORY',
      'resolver_preload {',
      `  ${system.getPublicKey()}: ${systemToken}`,
      `  ${account.getPublicKey()}: ${accountToken}`,
      '}',
    ].join('\n'),
    credentials: [
      '-----BEGIN NATS USER JWT-----',
      userToken,
      '------END NATS USER JWT------',
      '-----BEGIN USER NKEY SEED-----',
      seed,
      '------END USER NKEY SEED------',
      '',
    ].join('\n'),
  };
}
