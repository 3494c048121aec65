import { type KeyboardEvent, type ReactNode, useId } from 'react';

export interface Tab<Id extends string> {
  id: Id;
  label: string;
  content(): ReactNode;
}

/**
 * Tabs after the ARIA pattern: one stop in the tab order, arrow keys to move, and a panel that is labelled by its tab.
 */
export function Tabs<Id extends string>(props: {
  label: string;
  tabs: readonly Tab<Id>[];
  selected: Id;
  onSelect(id: Id): void;
}) {
  const { tabs, selected, onSelect } = props;
  const base = useId();
  const index = tabs.findIndex((tab) => tab.id === selected);
  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowRight: index + 1,
      ArrowLeft: index - 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const target = steps[event.key];
    const next = target === undefined ? undefined : tabs[(target + tabs.length) % tabs.length];
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next.id);
    document.getElementById(`${base}-${next.id}`)?.focus();
  };
  return (
    <div>
      <div className="tabs" role="tablist" aria-label={props.label} onKeyDown={onKeyDown}>
        {tabs.map((tab) => (
          <button
            key={tab.id}
            id={`${base}-${tab.id}`}
            type="button"
            role="tab"
            className="tab"
            aria-selected={tab.id === selected}
            aria-controls={`${base}-panel`}
            tabIndex={tab.id === selected ? 0 : -1}
            onClick={() => onSelect(tab.id)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      <div id={`${base}-panel`} role="tabpanel" aria-labelledby={`${base}-${selected}`}>
        {tabs[index]?.content()}
      </div>
    </div>
  );
}
