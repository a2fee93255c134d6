export interface RetentionClockOptions {
  /** Time last saved by an earlier process, Unix time in milliseconds; undefined if none. */
  readonly savedMs?: number | undefined
  /** Wall clock, Unix time in milliseconds. @default Date.now */
  readonly wallMs?: () => number
  /** Monotonic clock in milliseconds. @default performance.now */
  readonly steadyMs?: () => number
  /**
   * Called once per forward jump. Gaps of less than a day before startup are not reported, because
   * servers are sometimes stopped.
   */
  readonly onJump: (error: Error) => void
}

/** Deviation that NTP, drift and short pauses of the machine can explain. */
const MAX_STEP_MS = 2 * 60_000
/**
 * A clock that stays ahead for this long is considered correct: the machine slept, the server was
 * stopped, or the clock was set.
 */
const CONFIRM_MS = 60 * 60_000
const DAY_MS = 24 * 60 * 60_000

/**
 * Returns the Unix time for irreversible work. If the wall clock is further ahead than the elapsed
 * time explains (a resumed VM, a wrong RTC or NTP server), it returns the time without the jump for
 * an hour. The same applies to the gap between the last save and startup, which only the wall clock
 * measures.
 */
export function createRetentionClock(options: RetentionClockOptions): () => number {
  const { savedMs, wallMs = () => Date.now(), steadyMs = () => performance.now(), onJump } = options
  const startMs = wallMs()
  const gapMs = Math.max(0, startMs - (savedMs ?? startMs))
  /** Last trusted difference between the wall clock and the monotonic clock. */
  let offsetMs = startMs - gapMs - steadyMs()
  /** Jump that is not trusted yet. */
  let ahead = { sinceMs: steadyMs(), jumpMs: gapMs }
  if (gapMs > DAY_MS) onJump(toGapError(gapMs))

  return () => {
    const steady = steadyMs()
    const wall = wallMs()
    const jumpMs = wall - steady - offsetMs
    if (jumpMs > MAX_STEP_MS) {
      if (jumpMs > ahead.jumpMs + MAX_STEP_MS) {
        ahead = { sinceMs: steady, jumpMs }
        onJump(toJumpError(jumpMs))
      }
      ahead.jumpMs = Math.min(ahead.jumpMs, jumpMs)
      if (steady - ahead.sinceMs < CONFIRM_MS) return steady + offsetMs
    }
    offsetMs = wall - steady
    ahead.jumpMs = 0
    return wall
  }
}

function toJumpError(jumpMs: number): Error {
  return new Error(
    `the clock of this machine jumped ahead by ${toSeconds(jumpMs)} s: retention ignores the jump unless it lasts for an hour; check the time and NTP`,
  )
}

function toGapError(gapMs: number): Error {
  return new Error(
    `the clock of this machine is ${toSeconds(gapMs)} s ahead of the last run of the server: retention ignores the difference for an hour; if the server was not stopped that long, check the time and NTP`,
  )
}

function toSeconds(ms: number): number {
  return Math.round(ms / 1000)
}
