import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { LoadResult } from '../../cli/load/run-load.ts'
import { OTHER_CORES, toPinned } from '../http/servers/processes.ts'
import { toNodeCommand } from '../rivals/rival.ts'

/** An open-loop load generator. */
export interface Load {
  /** Stops the load and resolves with the results. */
  readonly stop: () => Promise<LoadResult>
}

/** Maximum number of concurrent requests. */
export const CONNECTIONS = 32

/** Starts loading `url` from a separate process (open-loop.ts). */
export function startLoad(url: string, rate: number): Load {
  const flags = ['--rate', String(rate), '--connections', String(CONNECTIONS)]
  const command = toNodeCommand(
    'http/load/open-loop',
    url,
    ...flags,
    '--duration',
    '1h',
    '-o',
    'json',
  )
  const [program, ...args] = toPinned(command, OTHER_CORES)
  const child = spawn(program!, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output.err += text
  })
  const onExit = (): boolean => child.kill('SIGKILL')
  process.once('exit', onExit)
  const closed = once(child, 'close').finally(() => process.off('exit', onExit))
  return {
    async stop() {
      child.kill('SIGINT')
      await closed
      if (output.out === '') throw new Error(`the load generator failed: ${output.err}`)
      return JSON.parse(output.out) as LoadResult
    },
  }
}

/**
 * Counts requests without a response or with a status of 400 or above, by outcome. Excludes requests that were
 * scheduled when the load was stopped.
 */
export function listFailures({ statuses, failures }: LoadResult): Record<string, number> {
  const all = { ...statuses, ...failures }
  return Object.fromEntries(
    Object.entries(all).filter(([kind, count]) => count > 0 && !(Number(kind) < 400)),
  )
}
