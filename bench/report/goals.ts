/** A measured figure with its goal. */
export interface Goal {
  /** Description with unit, such as `lmdb (os), reads/s`. */
  readonly label: string
  readonly value: number
  /** @default no bound */
  readonly atLeast?: number
  /** @default no bound */
  readonly atMost?: number
}

/** Compares figures with their goals, one line per figure. NaN misses every goal. */
export function compareGoals(goals: readonly Goal[]): {
  readonly lines: readonly string[]
  readonly passed: boolean
} {
  let passed = true
  const lines = goals.map(
    ({ label, value, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }) => {
      const isWithinLimit = value >= atLeast && value <= atMost
      if (!isWithinLimit) passed = false
      const bound = Number.isFinite(atLeast) ? `at least ${atLeast}` : `at most ${atMost}`
      return `${isWithinLimit ? 'ok  ' : 'FAIL'} ${label}: ${value}, ${bound}`
    },
  )
  return { lines, passed }
}

/** Prints figures with their goals, and sets exit status 1 if a goal is missed. */
export function guardGoals(goals: readonly Goal[]): void {
  const { lines, passed } = compareGoals(goals)
  process.stdout.write(`\n${lines.join('\n')}\n`)
  if (!passed) process.exitCode = 1
}
