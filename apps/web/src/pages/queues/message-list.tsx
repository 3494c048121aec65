import { JsonText, type MessageOut, type QueueInfo } from '@shardlab/contract';
import { Link } from '@tanstack/react-router';
import { formatBytes, plural } from '../../model/format.ts';
import { whyWaiting } from '../../model/why-waiting.ts';

/** Longer payloads are cut. */
const charsMax = 400;

export interface MessageListProps {
  messages: readonly MessageOut[];
  label: string;
  /** If given, each message says why it is still in this queue. */
  queue?: QueueInfo;
  /** The queue that they are in, if their lives are traced: each id is a link to its own. */
  traced?: string | undefined;
}

/** Messages with their payloads and properties. */
export function MessageList({ messages, label, queue, traced }: MessageListProps) {
  return (
    <ul className="message-list" aria-label={label}>
      {messages.map((message) => (
        <li key={message.id} className="message">
          <div className="message-head">
            <code>{payloadText(message)}</code>
            <MessageBadges message={message} />
          </div>
          {queue === undefined ? null : <p className="small">{whyWaiting(message, queue, Date.now())}</p>}
          <p className="small muted">
            {traced === undefined ? (
              message.id
            ) : (
              <Link
                to="/queues"
                search={{ queue: traced, tab: 'trace', message: message.id }}
                aria-label={`The life of message ${message.id}`}
              >
                {message.id}
              </Link>
            )}
            , enqueued {new Date(message.enqueuedAtMs).toLocaleTimeString('en-GB')}
            {message.deliveryCount > 0
              ? `, delivered ${message.deliveryCount === 1 ? 'once' : plural(message.deliveryCount, 'time')}`
              : ''}
            {message.correlationId === undefined ? '' : `, correlation id ${message.correlationId}`}
            {message.recipients === undefined ? '' : `, for ${message.recipients.join(', ')}`}
          </p>
        </li>
      ))}
    </ul>
  );
}

const states = {
  ready: { label: 'Ready', tone: 'good' },
  held: { label: 'Held', tone: 'live' },
  delayed: { label: 'Delayed', tone: 'finding' },
  processed: { label: 'Processed', tone: 'good' },
} as const;

function MessageBadges({ message: { state, priority } }: { message: MessageOut }) {
  if (state === undefined && priority === undefined) return null;
  return (
    <span className="row message-marks">
      {priority === undefined ? null : <span className="tag">priority {priority}</span>}
      {state === undefined ? null : (
        <span className="badge" data-tone={states[state].tone}>
          {states[state].label}
        </span>
      )}
    </span>
  );
}

function payloadText({ payload, payloadBase64, streamedBytes }: MessageOut): string {
  if (streamedBytes !== undefined) return `${formatBytes(streamedBytes)}, streamed`;
  const text = payload instanceof JsonText ? payload.text : `base64 ${payloadBase64}`;
  return text.length > charsMax ? `${text.slice(0, charsMax)}…` : text;
}
