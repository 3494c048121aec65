/** The keys of the pages: components register those that they handle, and `?` lists those that work now. */
import { createContext, type ReactNode, useContext, useEffect, useState, useSyncExternalStore } from 'react';
import { Dialog } from './dialog.tsx';

export interface KeyBinding {
  /** Names as in `KeyboardEvent.key`. */
  keys: readonly string[];
  /** The effect: "Next trial". */
  label: string;
  onKey(key: string): void;
}

class KeyRegistry {
  readonly #listeners = new Set<() => void>();
  #groups: readonly (readonly KeyBinding[])[] = [];

  readonly get = (): readonly (readonly KeyBinding[])[] => this.#groups;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  add(group: readonly KeyBinding[]): () => void {
    this.#set([...this.#groups, group]);
    return () => this.#set(this.#groups.filter((each) => each !== group));
  }

  /** Returns whether a binding handled the key; the latest binding comes first. */
  press(key: string): boolean {
    const binding = this.#groups
      .flat()
      .reverse()
      .find(({ keys }) => keys.includes(key));
    binding?.onKey(key);
    return binding !== undefined;
  }

  #set(groups: readonly (readonly KeyBinding[])[]): void {
    this.#groups = groups;
    for (const listener of this.#listeners) listener();
  }
}

const Registry = createContext<KeyRegistry | null>(null);

/** Handles keys while the component is shown. `bindings` must be memoized. */
export function useKeys(bindings: readonly KeyBinding[]): void {
  const registry = useContext(Registry);
  useEffect(() => registry?.add(bindings), [registry, bindings]);
}

/** Typed text is not for the page, nor are keys that a control or an open dialog has handled. */
function isForPage(event: KeyboardEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return false;
  if (document.querySelector('[role=dialog], [role=menu]') !== null) return false;
  const { target } = event;
  return !(target instanceof Element && target.closest('input, textarea, select, [contenteditable=true]'));
}

/** Listens for the keys of all components within, and lists them when `?` is pressed. */
export function KeysProvider({ children }: { children: ReactNode }) {
  const [registry] = useState(() => new KeyRegistry());
  const [isListed, setListed] = useState(false);
  const [help] = useState<readonly KeyBinding[]>(() => [
    { keys: ['?'], label: 'List the keys', onKey: () => setListed(true) },
  ]);
  useEffect(() => registry.add(help), [registry, help]);
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (isForPage(event) && registry.press(event.key)) event.preventDefault();
    };
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [registry]);
  return (
    <Registry value={registry}>
      {children}
      <KeysDialog registry={registry} isOpen={isListed} onClose={() => setListed(false)} />
    </Registry>
  );
}

/** The keys that charts, tabs and dialogs handle themselves, wherever they are. */
const everywhere: readonly Pick<KeyBinding, 'keys' | 'label'>[] = [
  { keys: ['Tab'], label: 'To the next control' },
  { keys: ['ArrowLeft', 'ArrowRight'], label: 'In a chart, the strip of trials or tabs: one step' },
  { keys: ['PageUp', 'PageDown'], label: 'In a chart over time: ten steps' },
  { keys: ['Home', 'End'], label: 'In a chart or tabs: to an end' },
  { keys: ['Enter'], label: 'In a chart: choose the point' },
  { keys: ['Escape'], label: 'Remove the cursor, close a menu or a dialog' },
];

const caps: Readonly<Record<string, string>> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  PageUp: 'Page Up',
  PageDown: 'Page Down',
  ' ': 'Space',
  Escape: 'Esc',
};

function KeysDialog(props: { registry: KeyRegistry; isOpen: boolean; onClose(): void }) {
  const { registry, isOpen, onClose } = props;
  const groups = useSyncExternalStore(registry.subscribe, registry.get);
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
      <dl className="keys">
        {[...groups.flat(), ...everywhere].map(({ keys, label }) => (
          <div key={label}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{caps[key] ?? key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <div className="row">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
