import type { ReactNode } from 'react';
import { Tab as AriaTab, Tabs as AriaTabs, TabList, TabPanel } from 'react-aria-components/Tabs';

export interface Tab<Id extends string> {
  id: Id;
  label: string;
  content(): ReactNode;
}

/** Tabs after the ARIA pattern: one stop in the tab order, arrow keys to move, and a panel that is labelled by its tab. */
export function Tabs<Id extends string>(props: {
  label: string;
  tabs: readonly Tab<Id>[];
  selected: Id;
  onSelect(id: Id): void;
}) {
  const { label, tabs, selected, onSelect } = props;
  return (
    <AriaTabs selectedKey={selected} onSelectionChange={(id) => onSelect(id as Id)}>
      <TabList className="tabs" aria-label={label}>
        {tabs.map((tab) => (
          <AriaTab key={tab.id} id={tab.id} className="tab">
            {tab.label}
          </AriaTab>
        ))}
      </TabList>
      <TabPanel id={selected}>{tabs.find(({ id }) => id === selected)?.content()}</TabPanel>
    </AriaTabs>
  );
}
