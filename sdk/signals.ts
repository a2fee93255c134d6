import type { PluginLog } from '../core/plugin/define.ts'

/** What is to end in order. */
interface Stoppable {
  readonly stop: () => Promise<void>
  readonly log: PluginLog
}

/** npm passes on the Ctrl-C that the terminal has sent to everyone already: a SIGINT this soon is no second one. */
const ECHO_MS = 500

/** What a process is for. */
export interface Runnable extends Stoppable {
  /** Returns where it is reached. */
  readonly start: () => Promise<string>
}

const running: Stoppable[] = []
let stoppedMs: number | undefined

/**
 * Starts what this process is for. It ends in order, as {@link handleSignals} says; when it cannot start, the log says why in a
 * line, and the process ends with status 1.
 */
export async function runProcess(runnable: Runnable): Promise<string> {
  handleSignals(runnable)
  try {
    return await runnable.start()
  } catch (error) {
    // With a stack where the program is wrong, not what is around it.
    const details = error instanceof TypeError ? { err: error } : {}
    runnable.log.error(details, error instanceof Error ? error.message : String(error))
    return process.exit(1)
  }
}

/**
 * Ends this process in order at SIGTERM and SIGINT: status 0 once everything that was given to this function has
 * stopped, 1 when some of it failed to; at a second signal at once, with status 1. So does an exception nobody caught,
 * unless the program has a listener for those: with a line in the log.
 */
export function handleSignals(stoppable: Stoppable): void {
  if (running.push(stoppable) > 1) return
  process.on('SIGTERM', onSignal)
  process.on('SIGINT', onSignal)
  if (process.listenerCount('uncaughtException') === 0) process.on('uncaughtException', onUncaught)
}

function onUncaught(error: unknown): void {
  running[0]!.log.error({ err: error }, 'an exception nobody caught: the process ends')
  process.exit(1)
}

function onSignal(signal: NodeJS.Signals): void {
  const nowMs = performance.now()
  if (stoppedMs !== undefined) {
    if (signal === 'SIGINT' && nowMs - stoppedMs < ECHO_MS) return
    for (const { log } of running) log.warn({ signal }, 'a second signal: ending at once')
    process.exit(1)
  }
  stoppedMs = nowMs
  void end(signal)
}

async function end(signal: NodeJS.Signals): Promise<void> {
  let status = 0
  const stopping = running.map(async ({ stop, log }) => {
    log.info({ signal }, 'finishing running calls, once more to end at once')
    try {
      await stop()
    } catch (error) {
      status = 1
      log.error({ err: error }, 'could not end in order')
    }
  })
  await Promise.all(stopping)
  process.exit(status)
}
