import { Button } from 'react-aria-components/Button';
import { Menu, MenuItem, MenuTrigger } from 'react-aria-components/Menu';
import { Popover } from 'react-aria-components/Popover';

export interface SaveItem {
  label: string;
  save(): void;
}

/** The files as which something can be saved. */
export function SaveMenu({ title, items }: { title: string; items: readonly SaveItem[] }) {
  return (
    <MenuTrigger>
      <Button className="button button-quiet" aria-label={`Save: ${title}`}>
        Save
      </Button>
      <Popover className="menu-items" placement="bottom end" offset={4}>
        <Menu aria-label={`Save: ${title}`}>
          {items.map(({ label, save }) => (
            <MenuItem key={label} className="menu-item" onAction={save}>
              {label}
            </MenuItem>
          ))}
        </Menu>
      </Popover>
    </MenuTrigger>
  );
}
