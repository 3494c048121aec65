/** The interface of every chart module: created once on an SVG element, updated with new data, then destroyed. */
export interface Chart<Data> {
  /** Draws the data, changing only the elements that differ. */
  update(data: Data): void;
  /** Removes the drawing and all listeners and timers. */
  destroy(): void;
}

/** Size of the drawing in CSS pixels; one unit of the SVG's user space is one CSS pixel. */
export interface Size {
  width: number;
  height: number;
}
