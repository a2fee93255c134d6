/** Micro-benchmarks of a module, in a file with the module's name. */
export interface Micro {
  /** Benchmarks by title; each call is one operation. */
  readonly benches: Readonly<Record<string, () => unknown>>
  /** Budgets by title: maximum median in nanoseconds per operation. */
  readonly budgetNs?: Readonly<Record<string, number>>
  /** Releases resources. */
  readonly close?: () => Promise<void> | void
}
