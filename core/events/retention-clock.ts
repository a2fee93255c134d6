export interface RetentionClockOptions {
  /** Wall clock, Unix time in milliseconds. @default Date.now */
  readonly wallMs?: () => number
  /** Milliseconds that only grow. @default performance.now */
  readonly steadyMs?: () => number
  /** Called once for each jump ahead. */
  readonly onJump: (error: Error) => void
}

/** Steps that NTP, drift and short pauses of the machine explain. */
const MAX_STEP_MS = 2 * 60_000
/** A clock that stays ahead for so long is right: the machine slept, or the clock was set. */
const CONFIRM_MS = 60 * 60_000

/**
 * Unix time for work that cannot be undone. While the wall clock is further ahead than the time that has passed explains (a resumed
 * VM, a wrong RTC or NTP server), returns the time without the jump, for an hour.
 */
export function createRetentionClock(options: RetentionClockOptions): () => number {
  const { wallMs = () => Date.now(), steadyMs = () => performance.now(), onJump } = options
  /** Wall clock less steady clock, as last trusted. */
  let offsetMs = wallMs() - steadyMs()
  let aheadSinceMs: number | undefined

  return () => {
    const steady = steadyMs()
    const wall = wallMs()
    const jumpMs = wall - steady - offsetMs
    if (jumpMs > MAX_STEP_MS) {
      if (aheadSinceMs === undefined) onJump(toJumpError(jumpMs))
      aheadSinceMs ??= steady
      if (steady - aheadSinceMs < CONFIRM_MS) return steady + offsetMs
    }
    offsetMs = wall - steady
    aheadSinceMs = undefined
    return wall
  }
}

function toJumpError(jumpMs: number): Error {
  const seconds = Math.round(jumpMs / 1000)
  return new Error(
    `the clock of this machine jumped ahead by ${seconds} s: events are aged without the jump unless it lasts for an hour; check the time and NTP`,
  )
}
