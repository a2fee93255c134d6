import { isatty } from 'node:tty'
import { formatDuration } from '../../lib/text/units.ts'
import type { Log } from './log.ts'

export interface SignalActions {
  /** Tells whoever sends requests that the process is about to end. @default nobody is told */
  readonly leave?: () => void
  /** Milliseconds from then to {@link stop}. @default 0 */
  readonly delayMs?: () => number
  /** Finishes what is running. The process ends when it resolves. */
  readonly stop: () => Promise<void>
  /** Reads configuration and certificates again. */
  readonly reload: () => void
  /** What runs, for the log. @default 'gateway' */
  readonly what?: string
}

/** npm passes on the Ctrl-C that the terminal has sent to everyone already: a SIGINT this soon is no second one. */
const ECHO_MS = 500
const STDIN = 0

/**
 * Makes this process obey its operator: SIGTERM and SIGINT drain it, a second one ends it
 * at once with status 1, SIGHUP reloads it, unless its terminal was closed.
 */
export function handleSignals(actions: SignalActions, log: Log): void {
  const { leave, delayMs = () => 0, stop, reload, what = 'gateway' } = actions
  let stoppedMs: number | undefined
  const onStop = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now()
    if (stoppedMs !== undefined) {
      if (signal === 'SIGINT' && nowMs - stoppedMs < ECHO_MS) return
      log.warn(`${signal} again: ending at once`)
      process.exit(1)
    }
    stoppedMs = nowMs
    // Asked first: one that leaves is not ready any more.
    const waitMs = delayMs()
    leave?.()
    if (waitMs === 0) return finish(signal)
    log.info(
      `${signal}: not ready any more, new requests are taken for another ${formatDuration(waitMs)}; once more to end at once`,
    )
    setTimeout(finish, waitMs, signal)
  }
  const finish = (signal: NodeJS.Signals): void => {
    // Said when it is true: whoever reads the line may rely on the port being closed.
    const stopped = stop()
    log.info(`${signal}: finishing running requests, once more to end at once`)
    endAfter(
      stopped.then(() => log.info(`${what} stopped`)),
      log,
    )
  }
  const hadTerminal = isatty(STDIN)
  // Behind the turn in which it came: the connections that were there before it are accepted by then.
  process.on('SIGTERM', (signal) => setImmediate(onStop, signal))
  process.on('SIGINT', (signal) => setImmediate(onStop, signal))
  process.on('SIGHUP', () => {
    if (hadTerminal && !isatty(STDIN)) onStop('SIGHUP')
    else reload()
  })
}

/** Ends the process when `work` is done: status 0, or 1 when it failed. */
export function endAfter(work: Promise<void>, log: Log): void {
  work.then(
    () => process.exit(0),
    (error) => {
      log.fatal({ err: error }, 'could not end in order')
      process.exit(1)
    },
  )
}

/**
 * Keeps serving when something throws outside of any request, such as a timer of a plugin:
 * ending the process would end every other request too.
 */
export function logUncaughtExceptions(log: Log): void {
  process.on('uncaughtException', (error) => log.error({ err: error }, 'uncaught exception'))
  process.on('unhandledRejection', (reason) => {
    log.error(
      { err: reason instanceof Error ? reason : new Error(String(reason)) },
      'unhandled rejection',
    )
  })
}

/** Has what the process warns of in the log, in place of the lines of text that Node.js writes to standard error. */
export function logWarnings(log: Log): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ name: warning.name }, warning.message))
}
