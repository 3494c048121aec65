import type { ReactNode } from 'react';
import { Dialog as AriaDialog } from 'react-aria-components/Dialog';
import { Heading } from 'react-aria-components/Heading';
import { Modal, ModalOverlay } from 'react-aria-components/Modal';

/** A modal question above the page. Escape closes it, and the focus returns to where it was. Its content exists while it is open. */
export function Dialog(props: { title: string; isOpen: boolean; onClose(): void; children: ReactNode }) {
  const { title, isOpen, onClose, children } = props;
  return (
    <ModalOverlay
      className="dialog-overlay"
      isOpen={isOpen}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
    >
      <Modal className="dialog">
        <AriaDialog className="dialog-body">
          <Heading slot="title" level={2}>
            {title}
          </Heading>
          {children}
        </AriaDialog>
      </Modal>
    </ModalOverlay>
  );
}
