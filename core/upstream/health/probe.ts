/** Checks a node over a persistent connection. */
export interface Probe {
  /** @param onResult called once with the reason of a failure, or an empty text on success. */
  readonly check: (onResult: (reason: string) => void) => void
  readonly close: () => void
}
