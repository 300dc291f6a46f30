export interface Counts {
  readonly created: number;
  readonly updated: number;
  readonly unchanged: number;
}
