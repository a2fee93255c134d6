/** A figure that was measured, and what it has to be. */
export interface Goal {
  /** With the unit: `lmdb (os), reads/s`. */
  readonly what: string
  readonly value: number
  /** @default no bound */
  readonly atLeast?: number
  /** @default no bound */
  readonly atMost?: number
}

/** Holds figures against their goals, a line each. What was not measured has missed its goal. */
export function compareGoals(goals: readonly Goal[]): {
  readonly lines: readonly string[]
  readonly passed: boolean
} {
  let passed = true
  const lines = goals.map(
    ({ what, value, atLeast = Number.NEGATIVE_INFINITY, atMost = Number.POSITIVE_INFINITY }) => {
      const isFine = value >= atLeast && value <= atMost
      if (!isFine) passed = false
      const bound = Number.isFinite(atLeast) ? `at least ${atLeast}` : `at most ${atMost}`
      return `${isFine ? 'ok  ' : 'FAIL'} ${what}: ${value}, ${bound}`
    },
  )
  return { lines, passed }
}

/** Prints how figures stand to their goals, and has the program end with status 1 when one is missed. */
export function guardGoals(goals: readonly Goal[]): void {
  const { lines, passed } = compareGoals(goals)
  process.stdout.write(`\n${lines.join('\n')}\n`)
  if (!passed) process.exitCode = 1
}
