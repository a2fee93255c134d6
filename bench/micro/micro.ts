/** The micro-benchmarks of one module, in a file of the module's name. */
export interface Micro {
  /** By title; each call is one operation. */
  readonly benches: Readonly<Record<string, () => unknown>>
  /** Nanoseconds an operation may take, median, by title. */
  readonly budgetNs?: Readonly<Record<string, number>>
  /** Releases what the benches hold. */
  readonly close?: () => Promise<void> | void
}
