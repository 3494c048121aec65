import { Dialog } from './dialog.tsx';

/** Asks before something is measured on a machine that is busy with something else. */
export function BusyDialog(props: {
  isOpen: boolean;
  onClose(): void;
  /** The other load on the machine, in sentences. */
  reasons: readonly string[];
  /** The consequence for a measurement. */
  consequence: string;
  /** Label of the button that continues: "Run anyway". */
  continueLabel: string;
  onContinue(): void;
}) {
  const { isOpen, onClose, reasons, consequence, continueLabel, onContinue } = props;
  return (
    <Dialog title="The machine is busy" isOpen={isOpen} onClose={onClose}>
      {reasons.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      <p>{consequence}</p>
      <div className="row">
        <button
          type="button"
          className="button"
          onClick={() => {
            onClose();
            onContinue();
          }}
        >
          {continueLabel}
        </button>
        <button type="button" className="button button-ink" onClick={onClose}>
          Not now
        </button>
      </div>
    </Dialog>
  );
}

/** Before a run; open while there are reasons. */
export function BusyQuestion(props: { reasons: readonly string[]; onContinue(): void; onClose(): void }) {
  return (
    <BusyDialog
      {...props}
      isOpen={props.reasons.length > 0}
      consequence="A run would measure that too. Its figures would be lower, and marked as disturbed."
      continueLabel="Run anyway"
    />
  );
}
