import type { MessageEvent } from '@shardlab/contract';
import { formatMs, formatTimeOfDay } from '../model/format.ts';
import { type LifeStep, lifeSteps } from '../model/message-life.ts';

/** The recorded events of a message in order, with times, places and what it waited for in between. */
export function LifeEvents(props: {
  events: readonly MessageEvent[];
  /** Times of day, or times since the first event. */
  times: 'of day' | 'since the first';
}) {
  const { events, times } = props;
  if (events.length === 0) return null;
  return (
    <ol className="life" aria-label="Events, oldest first">
      {lifeSteps(events).map((step, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: events are only ever added behind the others
        <Step key={index} step={step} times={times} />
      ))}
    </ol>
  );
}

function Step({ step, times }: { step: LifeStep; times: 'of day' | 'since the first' }) {
  const { event, sinceMs, afterMs, meanwhile, sentence, place, tone } = step;
  return (
    <li className="life-step" data-tone={tone}>
      <p className="life-time">
        <time dateTime={new Date(event.atMs).toISOString()}>
          {times === 'of day' ? formatTimeOfDay(event.atMs) : sinceMs > 0 ? formatMs(sinceMs) : '0'}
        </time>
        <span className="small muted">
          {afterMs === undefined ? '' : afterMs > 0 ? `+ ${formatMs(afterMs)}` : 'at once'}
        </span>
      </p>
      <div>
        <p>{sentence}</p>
        {place === undefined && meanwhile === undefined ? null : (
          <p className="small muted">
            {meanwhile === undefined ? '' : `Waited for ${meanwhile}. `}
            {place === undefined ? '' : `${place.charAt(0).toUpperCase()}${place.slice(1)}.`}
          </p>
        )}
      </div>
    </li>
  );
}
