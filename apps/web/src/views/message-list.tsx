import type { MessageOut } from '@shardlab/contract';
import { plural } from '../model/format.ts';

const shownChars = 400;

/** Messages with their payloads, long ones cut. */
export function MessageList({ messages, label }: { messages: readonly MessageOut[]; label: string }) {
  return (
    <ul className="message-list" aria-label={label}>
      {messages.map((message) => (
        <li key={message.id} className="message">
          <code>{payloadText(message)}</code>
          <span className="small muted">
            {message.id}, enqueued {new Date(message.enqueuedAtMs).toLocaleTimeString('en-GB')}
            {message.deliveryCount > 0 ? `, handed out ${plural(message.deliveryCount, 'time')}` : ''}
            {message.state === 'held' ? ', held' : ''}
          </span>
        </li>
      ))}
    </ul>
  );
}

function payloadText({ payload, payloadBase64 }: MessageOut): string {
  const text = payloadBase64 === undefined ? (JSON.stringify(payload) ?? '') : `base64 ${payloadBase64}`;
  return text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;
}
