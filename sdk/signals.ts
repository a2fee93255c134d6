import type { PluginLog } from '../core/plugin/define.ts'

/** An object with a graceful shutdown. */
interface Stoppable {
  readonly stop: () => Promise<void>
  readonly log: PluginLog
}

/** npm forwards the Ctrl-C that the terminal has already sent, so a SIGINT this soon after the first is ignored. */
const ECHO_MS = 500

/** Main task of a process. */
export interface Runnable extends Stoppable {
  /** Returns the address. */
  readonly start: () => Promise<string>
}

const running: Stoppable[] = []
let stoppedMs: number | undefined

/**
 * Runs the main task of a process, with a graceful shutdown as in {@link handleSignals}. If it
 * cannot start, the reason is logged and the process exits with status 1.
 */
export async function runProcess(runnable: Runnable): Promise<string> {
  handleSignals(runnable)
  try {
    return await runnable.start()
  } catch (error) {
    // Programming errors are logged with their stack, failures of the environment without.
    const details = error instanceof TypeError ? { err: error } : {}
    runnable.log.error(details, error instanceof Error ? error.message : String(error))
    return process.exit(1)
  }
}

/**
 * Shuts the process down gracefully on SIGTERM and SIGINT. Exits with status 0 when everything registered with this
 * function has stopped, or 1 if stopping failed. A second signal exits immediately with status 1. So does an uncaught
 * exception, which is logged, unless the program has its own listener.
 */
export function handleSignals(stoppable: Stoppable): void {
  if (running.push(stoppable) > 1) return
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  if (process.listenerCount('uncaughtException') === 0) process.on('uncaughtException', onUncaught)
}

function onUncaught(error: unknown): void {
  running[0]!.log.error({ err: error }, 'uncaught exception, exiting')
  process.exit(1)
}

function onSignal(signal: NodeJS.Signals): void {
  const nowMs = performance.now()
  if (stoppedMs !== undefined) {
    if (signal === 'SIGINT' && nowMs - stoppedMs < ECHO_MS) return
    for (const { log } of running) log.warn({ signal }, 'second signal, exiting immediately')
    process.exit(1)
  }
  stoppedMs = nowMs
  void end(signal)
}

async function end(signal: NodeJS.Signals): Promise<void> {
  let status = 0
  const stopping = running.map(async ({ stop, log }) => {
    log.info({ signal }, 'finishing calls in flight; send the signal again to exit immediately')
    try {
      await stop()
    } catch (error) {
      status = 1
      log.error({ err: error }, 'graceful shutdown failed')
    }
  })
  await Promise.all(stopping)
  process.exit(status)
}
