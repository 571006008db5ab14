/** What fills the page. */
export interface View {
  title: string;
  element: HTMLElement;
  /** Called when another view takes its place. */
  close(): void;
}
