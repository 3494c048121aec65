/** What every chart module offers: made once on an SVG element, then given data until it is destroyed. */
export interface Chart<Data> {
  /** Draws the data, changing only what differs. */
  update(data: Data): void;
  /** Removes everything drawn and every listener and timer. */
  destroy(): void;
}

/** Size of the drawing in CSS pixels; one unit of the SVG's user space is one CSS pixel. */
export interface Size {
  width: number;
  height: number;
}

export interface Margin {
  top: number;
  right: number;
  bottom: number;
  left: number;
}
