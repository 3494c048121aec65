/** Charts of which something can be pointed at and chosen. */
import { pointer, select } from 'd3-selection';

export interface PointerEvents {
  /** Called with what is under the pointer when it moves, and with null when it leaves. */
  onCursor(key: string | null): void;
  onSelect(key: string): void;
}

/** `keyAt` names what is at a place of the drawing, CSS pixels; null for nothing. Returns what ends it. */
export function followPointer(
  element: SVGSVGElement,
  keyAt: (x: number, y: number) => string | null,
  { onCursor, onSelect }: PointerEvents,
): () => void {
  const keyUnder = (event: PointerEvent) => keyAt(...pointer(event, element));
  const svg = select(element)
    .on('pointermove', (event: PointerEvent) => onCursor(keyUnder(event)))
    .on('pointerleave', () => onCursor(null))
    .on('click', (event: PointerEvent) => {
      const key = keyUnder(event);
      if (key !== null) onSelect(key);
    });
  return () => {
    svg.on('pointermove', null).on('pointerleave', null).on('click', null);
  };
}
