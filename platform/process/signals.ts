import { isatty } from 'node:tty'
import { formatDuration } from '../../lib/text/units.ts'
import type { Log } from './log.ts'

export interface SignalActions {
  /** Marks the process as not ready. */
  readonly leave?: () => void
  /** Milliseconds between {@link leave} and {@link stop}. @default 0 */
  readonly delayMs?: () => number
  /** Finishes requests in flight. The process ends when the promise resolves. */
  readonly stop: () => Promise<void>
  /** Reloads configuration and certificates. */
  readonly reload: () => void
  /** Name used in log messages. @default 'gateway' */
  readonly name?: string
}

/**
 * npm forwards a Ctrl-C that the terminal has already sent to all processes. A SIGINT within this
 * time does not count as a second signal.
 */
const ECHO_MS = 500
const STDIN = 0

/**
 * Handles signals. SIGTERM and SIGINT drain the process; a second one exits immediately with status
 * 1. SIGHUP reloads, or drains if the terminal was closed.
 */
export function handleProcessSignals(actions: SignalActions, log: Log): void {
  const { leave, delayMs = () => 0, stop, reload, name = 'gateway' } = actions
  let stoppedMs: number | undefined
  const onStop = (signal: NodeJS.Signals): void => {
    const nowMs = performance.now()
    if (stoppedMs !== undefined) {
      if (signal === 'SIGINT' && nowMs - stoppedMs < ECHO_MS) return
      log.warn(`${signal} received again: exiting immediately`)
      process.exit(1)
    }
    stoppedMs = nowMs
    // Read before leave(), after which the delay is 0.
    const waitMs = delayMs()
    leave?.()
    if (waitMs === 0) return finish(signal)
    log.info(
      `${signal}: not ready, accepting requests for another ${formatDuration(waitMs)}; send again to exit immediately`,
    )
    setTimeout(finish, waitMs, signal)
  }
  const finish = (signal: NodeJS.Signals): void => {
    // Logged after stop(), because the log line guarantees that the port is closed.
    const stopped = stop()
    log.info(`${signal}: draining; send again to exit immediately`)
    endAfter(
      stopped.then(() => log.info(`${name} stopped`)),
      log,
    )
  }
  const hadTerminal = isatty(STDIN)
  // Runs after the current tick, so that connections that arrived before the signal are accepted.
  process.on('SIGTERM', (signal) => setImmediate(onStop, signal))
  process.on('SIGINT', (signal) => setImmediate(onStop, signal))
  process.on('SIGHUP', () => {
    if (hadTerminal && !isatty(STDIN)) onStop('SIGHUP')
    else reload()
  })
}

/** Exits when `work` has settled, with status 0, or 1 after a failure. */
export function endAfter(work: Promise<void>, log: Log): void {
  work.then(
    () => process.exit(0),
    (error) => {
      log.fatal({ err: error }, 'shutdown failed')
      process.exit(1)
    },
  )
}

/**
 * Logs errors outside requests, such as in a plugin's timer, and continues: exiting would abort all
 * other requests.
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

/** Logs process warnings, which Node.js would write to standard error as text. */
export function logWarnings(log: Log): void {
  process.removeAllListeners('warning')
  process.on('warning', (warning) => log.warn({ name: warning.name }, warning.message))
}
