/** A connection for server-sent events that reconnects when it breaks, and reports that to `ServerContact`. */
import { type ContactSource, serverContact } from './server-contact.ts';

/** The browser does not retry a connection that the server refused, so this does. */
const reconnectMs = 2_000;

export interface EventConnectionOptions<Event> {
  url: string;
  types: readonly string[];
  onEvent(event: Event): void;
  /** Called when the server refuses the connection, of which it gives no reason. Returns whether to ask again after a while. */
  onRefused(): boolean;
}

export class EventConnection<Event> {
  readonly #options: EventConnectionOptions<Event>;
  readonly #contact: ContactSource = serverContact.source();
  #source: EventSource | null = null;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(options: EventConnectionOptions<Event>) {
    this.#options = options;
    this.#connect();
  }

  #connect(): void {
    const { url, types, onEvent, onRefused } = this.#options;
    const source = new EventSource(url);
    this.#source = source;
    for (const type of types) {
      source.addEventListener(type, (message) => {
        this.#contact.heard();
        onEvent(JSON.parse((message as MessageEvent<string>).data) as Event);
      });
    }
    source.addEventListener('open', () => this.#contact.heard());
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return this.#contact.missed();
      if (onRefused()) {
        this.#contact.missed();
        this.#retry = setTimeout(() => this.#connect(), reconnectMs);
      } else this.close();
    });
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#source?.close();
    this.#source = null;
    this.#contact.close();
  }
}
